import fc from 'fast-check';

import type {Family} from '../../../viewer/web/src/api/schema';
import {processTree} from '../../../viewer/web/src/replay/process_tree';

const family = (process: number, first: number, ...ancestors: number[]): Family =>
    ({process, first_ns: first, ended_ns: null, ancestors});
const shape = (rows: ReturnType<typeof processTree>) => rows.map(({process, depth}) => `${depth}:${process}`).join(' ');
// 0 forked 1 and 2, 1 forked 3.
const known = [family(0, 0), family(1, 50, 0), family(2, 40, 0), family(3, 60, 1, 0)];

describe('process tree', () => {
  it('shows who forked whom', () => {
    expect(shape(processTree(known, [3, 2, 1, 0], 16))).toBe('0:0 1:2 1:1 2:3');
  });
  it('has the heaviest first, then their parents where there is room', () => {
    expect(shape(processTree(known, [3, 2, 0], 2))).toBe('0:2 0:3');
    expect(shape(processTree(known, [3, 2], 3))).toBe('0:2 0:1 1:3');
    expect(shape(processTree(known, [3, 2], 4))).toBe('0:0 1:2 1:1 2:3');
    // Below the nearest that is there.
    expect(shape(processTree(known, [3, 0], 2))).toBe('0:0 1:3');
    expect(processTree(known, [3], 0)).toEqual([]);
  });
  it('has each process once and no more than there is room for', () => {
    // Each was forked by an earlier one, or by none.
    const forked = fc.array(fc.integer({min: -1, max: 11}), {maxLength: 12}).map((parents) => {
      const families: Family[] = [];
      parents.forEach((wanted, i) => {
        const parent = wanted < i ? families[wanted] : undefined;
        families.push(family(i, i, ...parent ? [parent.process, ...parent.ancestors] : []));
      });
      return families;
    });
    fc.assert(fc.property(forked, fc.integer({min: 0, max: 14}), (families, count) => {
      const rows = processTree(families, families.map(({process}) => process), count);
      expect(rows.length).toBe(Math.min(count, families.length));
      expect(new Set(rows.map((row) => row.process)).size).toBe(rows.length);
      if (count < families.length) return;
      for (const {process, depth} of rows) expect(depth).toBe(families[process]?.ancestors.length);
    }));
  });
});
