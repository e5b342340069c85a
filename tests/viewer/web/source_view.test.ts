import type {InstantState, SourceAnswer} from '../../../viewer/web/src/api/schema';
import {lineTotals, placesOf} from '../../../viewer/web/src/code/source_view';

const found = (path: string, line: number): SourceAnswer => ({found: true, path, line, text: ''});
const answers = new Map<number, SourceAnswer>([
  [1, found('a.cc', 10)], [2, found('a.cc', 20)], [3, {found: false, reason: 'none'}], [4, found('b.cc', 5)], [5, found('a.cc', 20)],
]);

describe('source view', () => {
  it('a CPU is in the innermost segment that has a file', () => {
    const open = (...hooks: number[]) => hooks.map((hook) => ({hook}));
    const state = {
      cpus: [{cpu: 0, thread: 7}, {cpu: 1, thread: 8}, {cpu: 2, thread: null}, {cpu: 3, thread: 9}],
      threads: [{thread: 7, open: open(1, 2, 3)}, {thread: 8, open: open(3)}, {thread: 9, open: open(1, 4)}],
    } as unknown as InstantState;
    expect(placesOf(state, answers, (thread) => thread * 10)).toEqual([
      {cpu: 0, process: 70, path: 'a.cc', line: 20}, {cpu: 3, process: 90, path: 'b.cc', line: 5},
    ]);
  });
  it('a line has the sums of its hooks', () => {
    const totals = new Map([1, 2, 3, 4, 5].map((hook) => [hook, {calls: hook, ownNs: 10 * hook}]));
    expect([...lineTotals('a.cc', totals, answers)]).toEqual([[10, {calls: 1, ownNs: 10}], [20, {calls: 7, ownNs: 70}]]);
    expect([...lineTotals('c.cc', totals, answers)]).toEqual([]);
  });
});
