import type {Aggregate, PathTotals} from '../../../viewer/web/src/api/schema';
import {indexCallTree} from '../../../viewer/web/src/tables/index_call_tree';

const path = (process: number, ...hooks: number[]): PathTotals =>
    ({process, path: hooks, calls: 2, wall_ns: {incl: 90, excl: 40}, on_cpu_ns: {incl: 30, excl: 25}});
const tree = (paths: PathTotals[], limit = 10) => indexCallTree(
    {paths, paths_total: paths.length, sums: {paths: {calls: 7, wall_ns: {excl: 80}, on_cpu_ns: {excl: 50}}}} as Aggregate, limit,
    (hook) => `hook${hook}`);

describe('call tree of the index', () => {
  it('says which rows have callees, also where the page ends', () => {
    const paths = [path(1, 5), path(1, 5, 6), path(1, 5, 6, 5), path(1, 5, 7), path(2, 5), path(2, 6)];
    expect(tree(paths).rows.map((row) => row.has_callees)).toEqual([true, true, false, false, false, false]);
    const cut = tree(paths, 2);
    expect(cut.rows.map((row) => row.has_callees)).toEqual([true, true]);
    expect(cut.total).toBe(6);
  });
  it('has the report\'s columns where the index has them', () => {
    const [row] = tree([path(1, 5, 6)]).rows;
    expect(row).toMatchObject({process: 1, path: ['hook5', 'hook6'], calls: 2, on_cpu_ns: {incl: 30, excl: 25}, off_cpu_ns: {incl: 60, excl: 15}, wait_ns: null});
    expect(row?.wall_ns).toMatchObject({incl: 90, excl: 40, p99: null});
    expect(tree([]).sums).toMatchObject({calls: 7, wall_ns: {excl: 80}, on_cpu_ns: {excl: 50}});
  });
  it('has no off-CPU time where the on-CPU time is not known', () => {
    const [row] = tree([{...path(1, 5), on_cpu_ns: null}]).rows;
    expect(row?.on_cpu_ns).toBeNull();
    expect(row?.off_cpu_ns).toBeNull();
  });
});
