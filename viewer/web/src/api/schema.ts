// Wire types; mirrors viewer/API.md. Times are ns since trace start.

import type {Aggregate, Quality, TimedCall} from './tables_schema';

export type * from './tables_schema';

export interface TraceInfo {
  api: number;
  path?: string;
  scope?: string;
  command?: string;
  hostname?: string;
  realtime_offset_ns?: string; // what is to be added to times of the clock for the date
  kernel_release?: string;
  records?: number;
  wakeups?: boolean; // were recorded
  finished?: boolean;
  triggers?: {t: number; trigger: string; what: string}[]; // that fired
  part_from_ns?: number; // this is a part, that begins so long after the trace
  begin_ns: string;
  duration_ns: number;
  cpus: number;
  events?: string[];
  // What the report says of its columns, by table and name.
  columns?: Record<string, Record<string, {title: string; unit: 'text'|'id'|'count'|'ns'|'quality'; meaning: string}>>;
  processes: number;
  threads: number;
  hooks: number;
  rows: number;
  losses: number;
  counter_rows_from: number;
  machine_row: number;
  tile_columns: number;
  max_level: number;
  overview_rows: number;
  overview_columns: number;
  machine_rows: RowItem[]; // of CPUs, interrupts and loss, and of the levels that were up longest
  levels: number; // rows that there are of these
  heaviest: number[]; // processes by their CPU time in the trace
  hues: {names: string[]; of: string}; // `of`: a letter for each process, a: names[0], .: none
  loss?: LossSummary;
  oddities?: Record<string, number>;
}

// How far the index of the trace is.
export interface Growth {
  index: string; // the newest one
  whole: boolean;
  live: boolean; // it is of a recording that goes on
  late_ns: number|null; // since the copy of it was begun that the index is of
  duration_ns: number; // of that index
  trace_ns: number|null; // of the whole trace; null: not known
  done: number; // of `total`
  total: number;
}

// How much was recorded over the time of the whole trace, while there is no index of
// all of it: by columns of equal time, from the heads of packets.
export interface Recorded {
  duration_ns: number; // of the trace
  cpu_bytes: number[]; // of records in streams of CPUs
  thread_bytes: number[];
  lost: number[]; // 1: some of this time were lost
}

export interface LossSummary {
  text: string; // what is missing, in one sentence
  complete: boolean; // it is "nothing was lost"
  discarded_events: number;
  discarded_packets: number;
  clock_errors: number;
  by_cause: Record<string, number>;
  intervals: number;
  messages: string[];
}

export interface Page<T> {
  offset: number;
  next: number;
  total: number;
  items: T[];
}


export interface ProcessItem {
  process: number;
  pid: number;
  parent_pid: number;
  comm: string;
  on_cpu_ns: number|null;
  quality: Quality;
  hooked: boolean; // it has hooks that are not the kernel's
  in_scope: boolean;
}
export interface ThreadItem {
  thread: number;
  tid: number;
  pid: number;
  process: number;
  comm: string;
  on_cpu_ns: number|null;
  quality: Quality;
}
export interface HookItem {
  hook: number;
  calls: number; // or hits, in the whole trace
  kind: number;
  origin: 'program'|'probe'|'kernel'|'interrupt'|'unknown';
  name: string;
  location: string;
}
export type RowKind =
    'quality'|'cpu'|'run'|'hook'|'segment'|'interrupts'|'handler'|'level'|'other';
export interface RowItem {
  row: number;
  kind: RowKind;
  owner: number;
  depth: number; // of a level: its hook
  leaves: number;
  of?: 'thread'|'process'|'machine'; // of a level: its owner
}

// Rows of processes, or of the threads of one, in a window (API.md, "rows").
export interface Branches<T> {
  total: number; // for which the condition holds
  of: number; // without a condition
  active: number;
  window_ns: number; // CPU time of all in the window
  from: number;
  to: number;
  parent: number; // of threads: their process
  items: T[];
}
interface Branch {
  rank: number;
  window_ns: number;
  active: boolean;
  kept: boolean; // it was asked for, whatever its rank
}
export interface ThreadBranch extends Branch {
  thread: number;
  name: ThreadItem|null;
  rows: RowItem[];
}
export interface ProcessBranch extends Branch {
  process: number;
  name: ProcessItem|null;
  hooked: boolean;
  threads: number;
  active_threads: number;
  thread: ThreadBranch|null; // the only one
}

export interface Found {
  processes: ProcessItem[];
  hooks: {hook: number; calls: number; name: string}[];
  threads: ThreadItem[];
}

export interface QueryAnswer {
  csv: string; // a line of names, then rows
  cut: boolean; // there are more
  said: string; // by the command, beside them
}
// What a user wrote at an instant.
export interface Note {
  at: number; // ns since the trace's begin
  text: string;
}

export interface LossItem {
  loss: number;
  cpu: number; // -1: of a thread
  thread: number;
  begin_ns: number;
  end_ns: number;
  count: number; // 0: unknown
  cause: string;
}

// Two ranges compared: the tables of `countrace diff`, as text.
export interface ComparedSection {
  columns: {title: string; name: boolean}[]; // name: left-aligned
  groups: {heading: string; rows: string[][]}[];
  footers: string[];
}
export interface Comparison {
  totals: ComparedSection;
  rows: ComparedSection;
  notes: string[];
  rows_total: number; // that differ
  rows_equal: number;
}

// A place between records: before record `nth` of those at `t`.
export interface EventPlace {
  t: number;
  nth: number;
}
export interface EventItem extends EventPlace {
  event: string;
  cpu?: number; // of a CPU's stream; else pid and tid
  pid?: number;
  tid?: number;
  fields: Record<string, string|number|null>;
}
export interface EventPage {
  items: EventItem[];
  more: boolean;
}

export interface CpuState {
  cpu: number;
  known: boolean;
  dispatches: number; // that have begun, with those of idle
  thread?: number|null;
  flags?: number;
  begin_ns?: number;
  end_ns?: number;
  in_interrupt: boolean;
  interrupts: OpenSegment[];
  interrupts_ns: number;
}
export interface OpenSegment {
  hook: number;
  row: number;
  depth: number;
  flags: number;
  begin_ns: number;
  end_ns: number;
  on_cpu_ns: number|null;
}
export interface ThreadCount {
  count: number;
  estimated: boolean;
}
export interface ThreadState {
  thread: number;
  state: 'running'|'waiting'|'throttled'|'blocked'|'off-cpu'|'ended'|'unknown';
  cpu: number|null;
  last_cpu: number|null;
  since_ns: number|null;
  since_inferred: boolean;
  end_state: number;
  on_cpu_ns: number|null;
  wait_ns: number|null;
  dispatches: number;
  recent_ns: number; // on a CPU in the window
  counts: ThreadCount[];
  counts_incomplete: boolean;
  bounded: boolean; // records are missing: none of its numbers is sure
  open: OpenSegment[];
}
export interface EventState {
  count: number;
  estimated: boolean;
  gap: boolean;
  rate: number|null;
  rate_estimated: boolean; // an end of the window is between two dumps
  by_cpu: number[];
}
export interface InstantState {
  t: number;
  window_begin_ns: number;
  cpus: CpuState[];
  threads: ThreadState[];
  threads_left_out: number;
  threads_not_shown: number;
  losses: number[];
  events: EventState[];
  in_loss: boolean;
}

// An instant of a replay.
export interface Frame {
  state: InstantState;
  so_far: Aggregate; // between it and `since`
  recent: Aggregate; // in the `window` before it
}
export interface FrameRequest {
  threads: number;
  processes: number; // of `so_far`
  recent_processes: number;
  since: number;
  window: number;
}

export interface StepAnswer {
  found: boolean;
  t?: number;
  row?: number;
  kind?: RowKind;
  leaf?: number;
  owner?: number; // thread, or CPU
  edge?: 'begin'|'end';
  times?: number[]; // the step's, and of those after it
}
// The file that a hook stands in.
export type SourceAnswer = {found: true; path: string; line: number; text: string}|{found: false; reason: string};

// A step's kind, and what it is limited to.
export type StepKind = 'any'|'dispatch'|'segment'|'hook'|'interrupt'|'loss';
export type StepLimit = {thread: number}|{process: number}|{cpu: number}|Record<string, never>;

// A stretch in which a thread waits for a CPU or is blocked (API.md, "wait").
export interface WaitAnswer {
  found: true;
  thread: number;
  state: 'waiting'|'blocked';
  begin_ns: number;
  end_ns: number;
  call: number|null;
  woken_by: 'thread'|'interrupt'|'idle'|'outside'|'not_told'|'still_blocked'|'other'|null;
  waker: number|null;
  preempted_by: number|null;
  cpu: number|null;
  holders: {thread: number; ns: number}[];
  others_ns: number;
  idle_ns: number;
  outside_ns: number;
  throttled_ns: number; // by a CPU quota: all of it, or nothing
  unknown_ns: number;
  interrupts_ns: number;
}

// How long the calls of a segment took (API.md, "durations").
export interface Durations {
  process: number;
  hook: number;
  calls: number;
  min: TimedCall|null;
  p50: TimedCall|null;
  p99: TimedCall|null;
  max: TimedCall|null;
  buckets: {from_ns: number; to_ns: number; calls: number}[];
}

export interface LongestItem extends TimedCall {
  hook: number;
}
export interface HitItem {
  t: number; // of the first
  thread: number;
  hits: number;
}

export const NO_KEY = 0xffffffff;

// LeafFlags
export const LEAF_INFERRED = 3; // begin or end
export const LEAF_IDLE = 4;
export const LEAF_OUTSIDE = 8;
// StateFlags, on thread rows; none: the thread runs
export const STATE_WAITING = 0x100;
export const STATE_BLOCKED = 0x200;
export const STATE_UNKNOWN = 0x400;
export const STATE_THROTTLED = 0x800; // also waiting
// ColumnFlags
export const COLUMN_MERGED = 1;
export const COLUMN_GAP = 2;
export const COLUMN_IDLE = 4;
export const COLUMN_OUTSIDE = 8;
// CounterColumnFlags
export const COUNTER_GAP = 1;
export const COUNTER_BOUNDED = 2;
export const COUNTER_EMPTY = 4;

// One of several whose traces are in frames.
export interface Host {
  name: string;
  folder: string; // of its page
  how: string; // its clock is known
  within_ns: number; // at most so far from the truth; 0: exact
  clock: [HostInstant, HostInstant]; // it runs evenly; the first is the trace's begin
}
type HostInstant = [own_ns: string, common_ns: string];
export interface MessageEnd {
  host: number;
  thread: number;
  t: number; // since the first begin of all
}
export interface Message {
  value: string; // that both ends have
  sent: MessageEnd;
  received: MessageEnd;
}
