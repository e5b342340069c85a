// A lane of the timeline and the rows in it.

import type {RequestRow, RequestSpan} from '../../api/requests_schema';
import type {RowKind} from '../../core/style_book';

export interface SubRow {
  row: number;
  kind: RowKind;
  process: number; // of a thread's and a process's rows; else -1
  hook?: number; // of a level's row
  full?: number; // of a process: threads that fill the height
  y: number; // from the lane's top
  height: number;
}
// A call of a request, and the line of the lane that it is on: two of one line
// do not overlap.
export interface PlacedSpan {
  span: RequestSpan;
  line: number;
}
export interface RequestLane {
  row: RequestRow;
  placed: readonly PlacedSpan[];
  followed: boolean;
}
export interface Lane {
  id: string;
  kind: 'cpu'|'counter'|'small-counter'|'level'|'tree'|'process'|'thread'|'fold'|'request';
  // A process, or the only thread of one, opens and closes; others: null.
  toggle: {open: boolean; pinned: boolean}|null;
  // The strip that stands for all of its kind, and folds the others; absent: none.
  fold?: {of: 'cpus'|'counters'|'levels'|'requests'; open: boolean};
  stuck?: boolean; // stays at the top while the others scroll
  label: string;
  detail: string;
  owner: number; // CPU, event, level's row, thread or process
  process: number; // that the lane is of; else -1
  y: number;
  height: number;
  rows: SubRow[];
  stacks?: {y: number; height: number}; // of the thread's samples; absent: not shown
  request?: RequestLane;
}
export type NewLane = Omit<Lane, 'y'>;
export type AddOfMachine = (lane: Omit<NewLane, 'toggle'|'process'>) => void;

export const HEADING = 26;
export const SEGMENT = 17;
export const PAD = 5;
export const STACK_ROWS = 10; // depths of sampled stacks that are shown
export const STACK_ROW_PX = 11;
