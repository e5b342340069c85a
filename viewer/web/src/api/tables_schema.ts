// Wire types of the tables of a range (API.md, "aggregate").

// Quality of the numbers in a row of the report.
export type Quality = 'exact'|'scaled'|'bounded'|'inferred'|'unknown';

export interface TimedCall {
  thread: number;
  begin_ns: number;
  end_ns: number;
}

// Numbers of a report's row that are not exact, by name: an interval that holds
// the truth; null: no upper limit.
export type Bounds = Record<string, [number, number|null]>;

export interface RunTotals {
  on_cpu_ns: number;
  dispatches: number;
  counts: (number|null)[]; // null: the report has none
  marks: (''|'>='|'~')[]; // of each count; an edge cut it
  qualities: Quality[]; // why its numbers of the range are not exact; none: they are
  incomplete: boolean;
  bounds?: Bounds; // of a row of the report
}
// What no process had; the report has no dispatches of it.
export type RestTotals = Omit<RunTotals, 'dispatches'> & {dispatches: number|null};
// A process that only the report has comes with its row: its number is behind all of `processes`.
export interface OnlyReported {
  pid?: number;
  comm?: string;
}
export interface ProcessTotals extends RunTotals, OnlyReported {
  process: number;
}
export interface Parts {
  incl: number;
  excl: number;
}
export interface SegmentTotals extends OnlyReported {
  process: number;
  hook: number;
  calls: number;
  wall_ns: Parts & {mean: number|null}; // of a call; null: none begins in the range
  on_cpu_ns: Parts|null;
  qualities: Quality[];
  bounds?: Bounds;
}
// The calls of a segment in one call path.
export interface PathTotals {
  process: number;
  path: number[]; // hooks, outermost first
  calls: number;
  wall_ns: Parts;
  on_cpu_ns: Parts|null;
}
export interface HookTotals extends OnlyReported {
  process: number;
  hook: number;
  hits: number;
}
export interface ThreadTotals extends RunTotals, OnlyReported {
  tid?: number; // of a thread that only the report has
  process?: number;
  thread: number;
  wait_ns: number;
  blocked_ns: number|null; // null: no wake-ups were recorded
}
export interface CpuTotals {
  cpu: number;
  wall_ns: number;
  busy_ns: number;
  idle_ns: number;
  outside_ns: number;
  interrupts_ns: number;
  unattributed_ns: number;
  dispatches: number;
  qualities: Quality[];
  bounds?: Bounds;
}
// What kept the threads of a process from running (API.md, "aggregate").
export interface WaitTotals {
  process: number;
  state: 'blocked'|'waiting';
  by: 'thread'|'interrupt'|'interrupts'|'idle'|'outside'|'throttled'|'not_told'|'not_known'|'still_blocked'|'other';
  by_thread: number|null;
  call: number|null;
  times: number;
  ns: number;
  longest: TimedCall;
  qualities: Quality[];
}
// Calls together, without those inside them.
export interface CallSums {
  calls: number;
  wall_ns: {excl: number};
  on_cpu_ns: {excl: number|null}|null;
}
// What all rows of a table have together; there if it was requested.
export interface TableSums {
  segments?: CallSums;
  paths?: CallSums;
  hooks?: {hits: number};
  waits?: {ns: number; times: number};
  threads?: {on_cpu_ns: number; wait_ns: number; blocked_ns: number|null; dispatches: number; counts: number[]};
}
export interface Aggregate {
  from: number;
  to: number;
  final: boolean; // the rows are the report's, or the same; absent in frames
  cpu_ns: number;
  unknown_ns: number;
  interrupts_ns: number;
  processes: ProcessTotals[];
  processes_left_out: number;
  others: RunTotals;
  idle: RestTotals;
  outside: RestTotals;
  segments: SegmentTotals[];
  segments_total: number|null; // null: not requested
  hooks: HookTotals[];
  hooks_total: number|null;
  // These are there if they were requested.
  threads?: ThreadTotals[];
  threads_total?: number;
  cpus?: CpuTotals[];
  cpus_total?: number;
  waits?: WaitTotals[];
  waits_total?: number;
  paths?: PathTotals[]; // each followed by those inside it
  paths_total?: number;
  sums?: TableSums; // absent in frames
  // By table: the rows for which the condition does not hold. A table that is
  // not there is whole: its rows lack a field of the condition.
  unselected?: Partial<Record<'processes'|'threads', RunTotals & {rows: number}>> &
      Partial<Record<'segments'|'hooks'|'waits', {rows: number}>>;
}

// What samples estimate of one event, and the interval that holds it (API.md, "functions").
export interface SelfAmount {
  self_samples: number;
  self: number;
  self_lo: number;
  self_hi: number;
}
// A row of `report --by function`.
export interface FunctionRow extends SelfAmount {
  event: string;
  in: string; // "server:handle > syscall:read"; empty: nothing was open
  function: string;
  dso: string;
  inlined: boolean;
  total_samples: number;
  total: number;
  total_lo: number;
  total_hi: number;
}
// All samples of the table: what shares are of.
export interface SampledAll {
  event: string;
  samples: number;
  value: number;
  exact: boolean; // sums, no estimates: each sample has its whole amount
}
// Do the two periods of an event agree? null: there is nothing to compare.
export interface PeriodComparison {
  samples: [number, number]; // by either period
  degrees_of_freedom: number;
  chi_squared: number|null;
  p: number|null;
  agree: boolean|null;
  most?: {function: string; shares: [number, number]}; // where they differ most
}
export interface SampleBooks {
  event: string;
  rate: string;
  counted: number|null; // null: of a range, or not known
  residual: number|null;
  residual_of_processes: number|null; // of a clock, with dispatches
  processes: number;
  idle: number;
  outside: number;
  lost: number;
  throttled: number;
  stacks_lost: number;
  samples: number;
  one_period_a_cpu: number;
  periods?: PeriodComparison; // of an event with two
  // Only of waits off the CPU.
  shorter?: number;
  shorter_ns?: number;
  lost_ns?: number;
  unseen?: number;
}
export interface FunctionsAnswer {
  sampled: boolean; // false: the trace has no samples
  total: number;
  rows: FunctionRow[];
  books: SampleBooks[];
  notes: string[];
  all: SampledAll[];
  threads: SampledThread[]; // of the chosen process; the most sampled ones
  threads_total: number;
}
export interface SampledThread {
  process: number;
  thread: number;
  samples: number;
}
// `countrace annotate`, with the text around its lines.
export interface ListedLine extends SelfAmount {
  file: string|null;
  line: number|null;
  text: string|null;
}
export interface ListedAddress extends SelfAmount {
  address: string;
  function: string;
  inlined: boolean;
  file: string|null;
  line: number|null;
  instruction: string|null;
}
export interface ListingEvent extends SelfAmount {
  event: string;
  lines: ListedLine[];
  addresses: ListedAddress[];
}
export interface ListingAnswer {
  function: string;
  dso: string;
  events: ListingEvent[];
  notes: string[];
  sources: {file: string; from: number; lines: string[]}[];
  all: SampledAll[];
}

// A row of the report's call paths (API.md, "calltree").
export interface PathRow {
  process: number;
  path: string[]; // outermost first
  has_callees: boolean; // rows of the paths in it follow
  calls: number;
  wall_ns: Parts & {mean: number|null; min: number|null; max: number|null; p50: number|null; p99: number|null};
  on_cpu_ns: Parts|null;
  off_cpu_ns: Parts|null;
  wait_ns: Parts|null;
  blocked_ns: Parts|null;
  counts: Record<string, (Parts & {quality: Quality})|null>|null;
  bounds?: Bounds;
  qualities?: Quality[];
  quality?: Quality;
}
export interface CallTreeAnswer {
  total: number;
  unselected?: number; // rows for which the condition does not hold
  rows: PathRow[];
  sums: CallSums & {counts: (number|null)[]};
}

// A row of `report --by calltree` or `--by callers`.
export interface TreeRow extends FunctionRow {
  depth: number;
}
// The stack has places in `functions`, from the outermost one in.
export interface SampledStack {
  t: number;
  stack: number[];
}
export interface SampleStacksAnswer {
  functions: string[];
  threads: {thread: number; samples: SampledStack[]|null}[]|null;
}
export interface SampleTreeAnswer {
  rows: TreeRow[]; // each behind its caller
  left_out: number;
}

// Trees of rules over time (API.md, "trees"): rows of `report --tree`.
export interface TreeRow {
  code?: string|null;
  name: string;
  parent?: string|null;
  depth: number;
  count?: number|null;
  share?: number|null; // of the root
  value?: number|null;
  lo?: number|null; // limits of `value`
  hi?: number|null;
  rest?: number|null;
  quality: Quality;
  absent?: string|null; // why it has no value
  meaning?: string|null;
}
export interface TreeOverTime {
  name: string;
  title: string;
  intervals: {from: number; to: number; rows: TreeRow[]}[];
}
export interface TreeAnswer {
  every?: number; // ns; absent: there are no trees
  trees: TreeOverTime[];
}
