// The rows of the tables of who ran: those of the page, and the sums of all
// others, so that the rows add up to the time of all CPUs. Pure.

import type {Aggregate, Bounds, Quality, RestTotals, RunTotals, ThreadTotals} from '../api/schema';
import {formatCount} from '../core/units';
import {without} from './report_columns';

export interface RunRow {
  key: string;
  process: number|null; // null: a sum, idle, interrupts, not known
  thread: number|null; // of a row of threads
  name: string; // of a row without process
  on_cpu_ns: number;
  dispatches: number|null; // null: it has none
  wait_ns: number|null;
  blocked_ns: number|null;
  counts: (number|null)[];
  marks: RunTotals['marks'];
  qualities: readonly Quality[]; // none: its numbers are exact
  bounds?: Bounds;
}

const NO_RUN = {process: null, thread: null, wait_ns: null, blocked_ns: null, dispatches: null, marks: [], qualities: []};

function rowOf(key: string, name: string, run: RestTotals): RunRow {
  return {...NO_RUN, ...run, key, name, qualities: [], counts: run.incomplete ? run.counts.map(() => null) : run.counts};
}

// What no process had; rows without anything are left out.
function restRows(data: Aggregate, table: 'processes'|'threads', others: RunRow|null): RunRow[] {
  const rows: RunRow[] = others ? [others] : [];
  const add = (key: string, name: string, run: RestTotals): void => {
    if (run.on_cpu_ns > 0 || (run.dispatches ?? 0) > 0) rows.push(rowOf(key, name, run));
  };
  const time = (key: string, name: string, ns: number): void => {
    if (ns === 0) return;
    rows.push({...NO_RUN, key, name, on_cpu_ns: ns, counts: data.idle.counts.map(() => null)});
  };
  const unselected = data.unselected?.[table];
  if (unselected) add('unselected', `(${formatCount(unselected.rows)} not selected)`, unselected);
  add('idle', '(idle)', data.idle);
  add('outside', '(outside the command)', data.outside);
  time('interrupts', '(interrupts)', data.interrupts_ns);
  time('unknown', '(not known)', data.unknown_ns);
  return rows;
}

export function processRows(data: Aggregate): RunRow[] {
  const left = data.processes_left_out;
  return [
    ...data.processes.map((row): RunRow => ({...rowOf(`p${row.process}`, '', row), process: row.process, qualities: row.qualities})),
    ...restRows(data, 'processes', left > 0 ? rowOf('others', `(${formatCount(left)} other processes)`, data.others) : null),
  ];
}

// `processOf`: the process of a thread, -1 if that is not known.
export function threadRows(data: Aggregate, processOf: (thread: number) => number): RunRow[] {
  const threads = data.threads ?? [];
  return [
    ...threads.map((row): RunRow => ({
      ...rowOf(`t${row.thread}`, '', row),
      process: processOf(row.thread), thread: row.thread, wait_ns: row.wait_ns, blocked_ns: row.blocked_ns, qualities: row.qualities,
    })),
    ...restRows(data, 'threads', otherThreads(data, threads)),
  ];
}

// Those of other pages: all without the shown ones.
function otherThreads(data: Aggregate, threads: readonly ThreadTotals[]): RunRow|null {
  const left = (data.threads_total ?? 0) - threads.length;
  const all = data.sums?.threads;
  if (left <= 0 || !all) return null;
  return {...NO_RUN, key: 'others', name: `(${formatCount(left)} other threads)`, ...without(all, threads)};
}

// The rows together, of those that have the number; a count that a row lacks is
// not known.
export function sumOf(rows: readonly RunRow[]): Pick<RunRow, 'on_cpu_ns'|'dispatches'|'wait_ns'|'blocked_ns'|'counts'|'marks'> {
  const sum = (of: (row: RunRow) => number|null|undefined): number => rows.reduce((all, row) => all + (of(row) ?? 0), 0);
  return {
    on_cpu_ns: sum((row) => row.on_cpu_ns), dispatches: sum((row) => row.dispatches),
    wait_ns: sum((row) => row.wait_ns), blocked_ns: sum((row) => row.blocked_ns), marks: [],
    counts: (rows[0]?.counts ?? []).map((_, i) => rows.some((row) => row.dispatches !== null && row.counts[i] === null) ? null : sum((row) => row.counts[i])),
  };
}
