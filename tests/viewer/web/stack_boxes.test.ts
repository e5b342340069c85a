import fc from 'fast-check';

import {stackBoxes} from '../../../viewer/web/src/timeline/paint/stack_boxes';
import {STACK_ROWS} from '../../../viewer/web/src/timeline/rows/lane_parts';

const sample = (t: number, ...stack: number[]) => ({t, stack});

describe('sampled stacks in time', () => {
  it('neighbours with the same callers are one box; what all share is left out', () => {
    const boxes = stackBoxes([sample(0, 9, 1, 2), sample(10, 9, 1, 3), sample(20, 9, 4, 3), sample(30, 9, 4, 3)], 100);
    expect(boxes.map(({from, to, depth, name, samples}) => [from, to, depth, name, samples])).toEqual([
      [0, 20, 0, 1, 2], [0, 10, 1, 2, 1], [10, 20, 1, 3, 1], [20, 40, 0, 4, 2], [20, 40, 1, 3, 2],
    ]);
  });
  it('where no sample was taken nothing is drawn', () => {
    const boxes = stackBoxes([sample(0, 1), sample(10, 1), sample(20, 1), sample(500, 1)], 1000);
    expect(boxes.map(({from, to}) => [from, to])).toEqual([[0, 30], [500, 510]]);
  });
  it('at each sample the boxes are its stack, and no two of a depth overlap', () => {
    fc.assert(fc.property(
        fc.array(fc.tuple(fc.integer({min: 1, max: 50}), fc.array(fc.integer({min: 0, max: 3}), {minLength: 1, maxLength: 14})), {minLength: 2, maxLength: 40}),
        (steps) => {
          let t = 0;
          const samples = steps.map(([gap, stack]) => {
            t += gap;
            return sample(t, ...stack);
          });
          const boxes = stackBoxes(samples, t + 1);
          let left = 0;
          while (samples.every(({stack}) => stack.length > left + 1 && stack[left] === samples[0]?.stack[left])) ++left;
          for (const {t: at, stack} of samples) {
            const found = boxes.filter(({from, to}) => from <= at && at < to).sort((a, b) => a.depth - b.depth);
            expect(found.map(({name}) => name)).toEqual(stack.slice(left, left + STACK_ROWS));
            expect(found.map(({depth}) => depth)).toEqual(found.map((_, depth) => depth));
          }
        }));
  });
});
