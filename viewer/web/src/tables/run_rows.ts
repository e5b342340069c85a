// The rows of the tables of who ran: those of the page, and the sums of all
// others, so that the rows add up to the time of all CPUs. Pure.

import type {Aggregate, Quality, RunTotals, ThreadTotals} from '../api/schema';
import {formatCount} from '../core/units';

export interface RunRow {
  key: string;
  process: number|null; // null: a sum, idle, interrupts, not known
  thread: number|null; // of a row of threads
  name: string; // of a row without process
  onCpu: number;
  dispatches: number|null; // null: it has none
  wait: number|null;
  blocked: number|null;
  counts: (number|null)[];
  marks: RunTotals['marks'];
  qualities: readonly Quality[]; // none: its numbers are exact
}

function rowOf(key: string, name: string, run: RunTotals): RunRow {
  return {
    key, name,
    process: null, thread: null, wait: null, blocked: null,
    onCpu: run.on_cpu_ns,
    dispatches: run.dispatches,
    counts: run.incomplete ? run.counts.map(() => null) : run.counts,
    marks: run.marks,
    qualities: [],
  };
}

// What no process had; rows without anything are left out.
function restRows(data: Aggregate, table: 'processes'|'threads', others: RunRow|null): RunRow[] {
  const rows: RunRow[] = others ? [others] : [];
  const add = (key: string, name: string, run: RunTotals): void => {
    if (run.on_cpu_ns > 0 || run.dispatches > 0) rows.push(rowOf(key, name, run));
  };
  const time = (key: string, name: string, ns: number): void => {
    if (ns === 0) return;
    const none = data.idle.counts.map(() => null);
    rows.push({key, name, process: null, thread: null, onCpu: ns, dispatches: null, wait: null, blocked: null, counts: none, marks: [], qualities: []});
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
      process: processOf(row.thread), thread: row.thread, wait: row.wait_ns, blocked: row.blocked_ns, qualities: row.qualities,
    })),
    ...restRows(data, 'threads', otherThreads(data, threads)),
  ];
}

// Those of other pages: all without the shown ones.
function otherThreads(data: Aggregate, threads: readonly ThreadTotals[]): RunRow|null {
  const left = (data.threads_total ?? 0) - threads.length;
  const all = data.sums?.threads;
  if (left <= 0 || !all) return null;
  const rest = (whole: number, of: (row: ThreadTotals) => number): number =>
      threads.reduce((sum, row) => sum - of(row), whole);
  return {
    key: 'others', name: `(${formatCount(left)} other threads)`,
    process: null, thread: null, marks: [], qualities: [],
    onCpu: rest(all.on_cpu_ns, (row) => row.on_cpu_ns),
    dispatches: rest(all.dispatches, (row) => row.dispatches),
    wait: rest(all.wait_ns, (row) => row.wait_ns),
    blocked: all.blocked_ns === null ? null : rest(all.blocked_ns, (row) => row.blocked_ns ?? 0),
    counts: all.counts.map((count, event) => rest(count, (row) => row.counts[event] ?? 0)),
  };
}

// The rows that have the number, together.
export function sumOf(rows: readonly RunRow[], number: (row: RunRow) => number|null): number {
  return rows.reduce((sum, row) => sum + (number(row) ?? 0), 0);
}
