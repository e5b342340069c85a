import {without} from '../../../viewer/web/src/tables/report_columns';

describe('what is left of sums', () => {
  it('is the sums without the rows', () => {
    const rows = [{hits: 3, wall_ns: {incl: 9, excl: 20}, counts: [1, 2]}, {hits: 4, wall_ns: {incl: 9, excl: 30}, counts: [3, 4]}];
    expect(without({hits: 10, wall_ns: {excl: 100}, counts: [9, 9]}, rows)).toEqual({hits: 3, wall_ns: {excl: 50}, counts: [5, 3]});
  });
  it('is not known where a row\'s number is not', () => {
    const rows = [{calls: 3, on_cpu_ns: null, counts: [1, null]}, {calls: 4, on_cpu_ns: {excl: 30}, counts: null}];
    expect(without({calls: 10, on_cpu_ns: {excl: 100}, counts: [9, 9]}, rows)).toEqual({calls: 3, on_cpu_ns: {excl: null}, counts: [null, null]});
    expect(without({calls: 10, on_cpu_ns: null}, rows)).toEqual({calls: 3, on_cpu_ns: null});
  });
});
