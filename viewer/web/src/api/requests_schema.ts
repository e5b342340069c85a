// Wire types of requests (API.md, "requests").

import type {Bounds, Quality} from './schema';

interface Times {
  on_cpu_ns: number|null; // null: not known
  wait_ns: number|null; // runnable, on no CPU
  blocked_ns: number|null;
}
// A call, or a point, of a request.
export interface RequestSpan extends Times {
  thread: number;
  hook: number;
  begin_ns: number;
  end_ns: number;
  point: boolean;
  exact: boolean;
}
export interface RequestRow extends Times {
  request: number;
  id: string;
  begin_ns: number;
  end_ns: number;
  duration_ns: number;
  between_ns: number; // none of its calls is open
  threads: number;
  calls: number; // points too
  lost: boolean; // records were lost between its begin and end
  qualities: Quality[];
  bounds: Bounds;
  spans: RequestSpan[]; // the first, by begin
}
export interface RequestsAnswer {
  join: string|null; // null: nothing joins calls, and the rest is not there
  total: number; // in the range
  of: number;
  without_value: number; // calls that are in no request
  left_out: number; // calls beyond the server's limit
  lost: number; // stretches of lost records
  rows: RequestRow[];
}
