import type {RequestRow, RequestSpan} from '../../../viewer/web/src/api/requests_schema';
import type {TraceInfo} from '../../../viewer/web/src/api/schema';
import {requestSpanAt} from '../../../viewer/web/src/timeline/request_tip';
import {Names} from '../../../viewer/web/src/core/names';
import type {NewLane} from '../../../viewer/web/src/timeline/rows/lane_parts';
import {layOut} from '../../../viewer/web/src/timeline/rows/lanes';
import {CLOSED_TREE} from '../../../viewer/web/src/timeline/rows/process_lanes';
import {addRequestLanes, MORE_REQUESTS, placeSpans, type RequestRows} from '../../../viewer/web/src/timeline/rows/request_lanes';

const TIMES = {on_cpu_ns: null, wait_ns: null, blocked_ns: null};
const span = (thread: number, begin: number, end: number): RequestSpan =>
    ({thread, hook: 1, begin_ns: begin, end_ns: end, point: begin === end, exact: true, ...TIMES});
const request = (number: number, spans: RequestSpan[] = [span(1, number, number + 10)]): RequestRow => ({
  request: number, id: `r${number}`, begin_ns: number, end_ns: number + 10, duration_ns: 10, between_ns: 0, threads: 1, calls: 1, lost: false,
  qualities: [], bounds: {}, spans, ...TIMES,
});
function lanesOf(requests: Partial<RequestRows>, open = true): NewLane[] {
  const lanes: NewLane[] = [];
  addRequestLanes({join: 'arg0', rows: [], total: 0, chosen: null, ...requests}, open, (lane) => lanes.push(lane));
  return lanes;
}

describe('lanes of requests', () => {
  test('calls that overlap are on lines of their own, at most four', () => {
    const lines = (...spans: RequestSpan[]) => placeSpans(spans).map(({line}) => line);
    expect(lines(span(1, 0, 10), span(2, 10, 20), span(1, 25, 30))).toEqual([0, 0, 0]);
    expect(lines(span(1, 0, 100), span(2, 10, 20), span(3, 20, 30), span(4, 25, 40))).toEqual([0, 1, 1, 2]);
    expect(lines(...[0, 1, 2, 3, 4, 5].map((i) => span(i, i, 100)))).toEqual([0, 1, 2, 3, 3, 3]);
  });
  test('the longest have lanes, but for the followed one; the rest folds', () => {
    const [a, b, c] = [request(1), request(2), request(3)];
    expect(lanesOf({rows: [a, b], total: 9}).map(({id}) => id)).toEqual(['requests', 'request1', 'request2', MORE_REQUESTS]);
    expect(lanesOf({rows: [a, b], total: 2}).map(({id}) => id)).toEqual(['requests', 'request1', 'request2']);
    expect(lanesOf({rows: [a, b], total: 2, chosen: b}).map(({id}) => id)).toEqual(['requests', 'request1']);
    expect(lanesOf({rows: [a, b], total: 2, chosen: c}, false).map(({id}) => id)).toEqual(['requests']);
  });
  test('the followed one stays at the top of all, alone where the CPUs scroll', () => {
    const trace = {
      cpus: 2, machine_row: 9, counter_rows_from: 10, events: [], machine_rows: [0, 1].map((owner) => ({kind: 'cpu', row: owner, owner, leaves: 1, depth: 0})),
    } as unknown as TraceInfo;
    const stuck = (height: number, chosen: RequestRow|null) =>
        layOut(new Names(trace), {event: 0, cpu: -1}, CLOSED_TREE, null, new Map(), height, [], {join: 'arg0', rows: [request(1)], total: 1, chosen})
            .filter((lane) => lane.stuck).map(({id}) => id);
    expect(stuck(1000, request(1))).toEqual(['request1', 'machine', 'cpu0', 'cpu1']);
    expect(stuck(100, request(1))).toEqual(['request1']);
    expect(stuck(1000, null)).toEqual(['machine', 'cpu0', 'cpu1']);
  });
  test('a point of a lane finds the nearest call of its line', () => {
    const row = request(0, [span(1, 0, 100), span(2, 10, 20), span(2, 26, 26)]);
    const lane = {row, placed: placeSpans(row.spans), followed: false};
    expect(requestSpanAt(lane, {at: 50, y: 8}, 1)).toBe(row.spans[0]);
    expect(requestSpanAt(lane, {at: 15, y: 25}, 1)).toBe(row.spans[1]);
    expect(requestSpanAt(lane, {at: 25, y: 25}, 0.5)).toBe(row.spans[2]);
    expect(requestSpanAt(lane, {at: 50, y: 25}, 2)).toBe(null);
    expect(requestSpanAt(lane, {at: 150, y: 8}, 2)).toBe(null);
  });
});
