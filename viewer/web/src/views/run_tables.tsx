// Who ran: tables of processes, threads and CPUs. Exact numbers; counts that an
// edge cut are marked as the least or a tilde.

import type {Aggregate, Bounds, CpuTotals, Quality, TableSums, ThreadTotals} from '../api/schema';
import type {AppModel} from '../model/app_model';
import {processName} from '../model/names';
import {css} from '../render/palette';
import {formatCount, formatDuration, formatEventCount, formatPercent} from '../units';
import {type Column, DataTable} from './data_table';
import {limitsText, MARKS_SAY, qualityMarks} from './limits';
import type {TimelineEngine} from './timeline_engine';
import {useSignal} from './use_signal';

// Numbers that a range may not have exactly.
interface Counted {
  counts: (number|null)[];
  estimated: boolean;
  bounds: Bounds;
}
interface RunRow extends Counted {
  key: string;
  process: number|null; // null: idle, outside, not known
  name: string;
  pid: string;
  onCpu: number;
  dispatches: number|null;
  qualities: readonly Quality[];
}

function runRows(model: AppModel, data: Aggregate): RunRow[] {
  const names = model.names;
  const none = names.events.map(() => null);
  const rows: RunRow[] = data.processes.map((row) => ({
    key: `p${row.process}`,
    process: row.process,
    name: processName(names, row.process),
    pid: String(names.process(row.process)?.pid ?? ''),
    onCpu: row.on_cpu_ns,
    dispatches: row.dispatches,
    counts: row.incomplete ? none : row.counts,
    estimated: row.estimated,
    bounds: row.bounds,
    qualities: row.qualities,
  }));
  const extra = (key: string, name: string, run: typeof data.idle): void => {
    if (run.on_cpu_ns === 0 && run.dispatches === 0) return;
    rows.push({key, process: null, name, pid: '', onCpu: run.on_cpu_ns, dispatches: run.dispatches,
               counts: run.incomplete ? none : run.counts, estimated: run.estimated, bounds: run.bounds, qualities: []});
  };
  if (data.processes_left_out > 0) extra('others', `${data.processes_left_out} other processes`, data.others);
  extra('idle', '(idle)', data.idle);
  extra('outside', '(outside the command)', data.outside);
  if (data.interrupts_ns > 0) {
    rows.push({key: 'interrupts', process: null, name: '(interrupts)', pid: '', onCpu: data.interrupts_ns,
               dispatches: null, counts: none, estimated: false, bounds: {}, qualities: []});
  }
  if (data.unknown_ns > 0) {
    rows.push({key: 'unknown', process: null, name: '(not known)', pid: '', onCpu: data.unknown_ns,
               dispatches: null, counts: none, estimated: false, bounds: {}, qualities: []});
  }
  return rows;
}

// An edge cut an interval of this event: no less than the count.
function mark(row: Counted, event: number, count: number): string {
  const bounds = row.bounds[`counts.${event}`];
  if (!row.estimated || !bounds) return '';
  return bounds[0] === count ? '\u2265' : '~';
}

function countColumns<Row extends Counted>(events: readonly string[]): Column<Row>[] {
  return events.map((event, index) => ({
    title: event,
    says: `${event} inside the range`,
    number: true,
    by: `counts.${index}`,
    text: (row) => {
      const count = row.counts[index];
      return count === null || count === undefined ? '\u2013' :
          `${mark(row, index, count)}${formatEventCount(event, count)}`;
    },
    limits: (row) => limitsText(row.bounds, `counts.${index}`, (count) => formatEventCount(event, count)),
  }));
}

// Marks rows whose numbers are not all exact; no column if all are.
export function qualityColumn<Row extends {qualities: readonly Quality[]}>(rows: readonly Row[]): Column<Row>[] {
  if (rows.every(({qualities}) => qualities.length === 0)) return [];
  return [{title: '', says: MARKS_SAY, number: false, by: '', text: (row) => qualityMarks(row.qualities)}];
}

export function ProcessTable({model, engine, data}: {model: AppModel; engine: TimelineEngine; data: Aggregate}) {
  const highlight = useSignal(model.highlight);
  const rows = runRows(model, data);
  const columns: Column<RunRow>[] = [
    {title: 'Process', says: 'Name of the process', number: false, by: 'process', text: (row) => row.name},
    {title: 'PID', says: 'Process id', number: true, by: 'pid', text: (row) => row.pid},
    {title: 'CPU time', says: 'Time on a CPU inside the range, exact', number: true, by: 'on_cpu_ns', text: (row) => formatDuration(row.onCpu),
     limits: (row) => limitsText(row.bounds, 'on_cpu_ns', formatDuration)},
    {title: 'Share', says: 'Share of all CPUs over the range', number: true, by: 'on_cpu_ns',
     text: (row) => data.cpu_ns > 0 ? formatPercent(row.onCpu / data.cpu_ns) : ''},
    {title: 'Dispatches', says: 'Dispatches that begin in the range', number: true, by: 'dispatches',
     text: (row) => row.dispatches === null ? '\u2013' : formatCount(row.dispatches),
     limits: (row) => limitsText(row.bounds, 'dispatches', formatCount)},
    ...countColumns<RunRow>(model.names.events),
    ...qualityColumn(rows),
  ];
  const total = rows.reduce((sum, row) => sum + row.onCpu, 0);
  const sum = ['All', '', formatDuration(total), data.cpu_ns > 0 ? formatPercent(total / data.cpu_ns) : ''];
  return <DataTable columns={columns} rows={rows} sum={sum} model={model} rowKey={(row) => row.key}
                    swatch={(row) => css(row.process === null ? engine.book.theme.idle : engine.book.process(row.process))}
                    selected={(row) => row.process !== null && row.process === highlight}
                    onClick={(row) => (model.highlight.value = row.process === highlight ? null : row.process)} />;
}

export function ThreadTable({model, engine, rows, sums}: {
  model: AppModel; engine: TimelineEngine; rows: ThreadTotals[]; sums: TableSums['threads'];
}) {
  const {names} = model;
  const highlight = useSignal(model.highlight);
  const process = (row: ThreadTotals): number => names.thread(row.thread)?.process ?? -1;
  const limits = (field: string, format = formatDuration) => (row: ThreadTotals): string => limitsText(row.bounds, field, format);
  const columns: Column<ThreadTotals>[] = [
    {title: 'Thread', says: 'Name of the thread', number: false, by: 'thread', text: (row) => names.thread(row.thread)?.comm || '?'},
    {title: 'TID', says: 'Thread id', number: true, by: 'tid', text: (row) => String(names.thread(row.thread)?.tid ?? '')},
    {title: 'Process', says: 'Its process', number: false, by: 'process',
     text: (row) => `${processName(names, process(row))} ${names.thread(row.thread)?.pid ?? ''}`},
    {title: 'CPU time', says: 'Time on a CPU inside the range', number: true, by: 'on_cpu_ns', text: (row) => formatDuration(row.on_cpu_ns), limits: limits('on_cpu_ns')},
    {title: 'Waited', says: 'Time runnable, on no CPU', number: true, by: 'wait_ns',
     text: (row) => formatDuration(row.wait_ns), limits: limits('wait_ns')},
    ...(names.trace.wakeups ? [{
      title: 'Blocked', says: 'Time on no CPU and not runnable', number: true, by: 'blocked_ns',
      text: (row: ThreadTotals) => row.blocked_ns === null ? '\u2013' : formatDuration(row.blocked_ns),
      limits: limits('blocked_ns'),
    }] : []),
    {title: 'Dispatches', says: 'Dispatches that begin in the range', number: true, by: 'dispatches', text: (row) => formatCount(row.dispatches),
     limits: limits('dispatches', formatCount)},
    ...countColumns<ThreadTotals>(names.events),
    ...qualityColumn(rows),
  ];
  const sum = sums && [
    'All', '', '', formatDuration(sums.on_cpu_ns), formatDuration(sums.wait_ns),
    ...(names.trace.wakeups ? [sums.blocked_ns === null ? '' : formatDuration(sums.blocked_ns)] : []),
    formatCount(sums.dispatches), ...names.events.map((event, i) => formatEventCount(event, sums.counts[i] ?? 0)),
  ];
  return <DataTable columns={columns} rows={rows} {...(sum ? {sum} : {})} model={model} rowKey={(row) => String(row.thread)}
                    swatch={(row) => css(engine.book.process(process(row)))}
                    selected={(row) => process(row) === highlight}
                    onClick={(row) => {
                      model.onJump();
                      model.rows.reveal(process(row), row.thread);
                    }} />;
}

export function CpuTable({model, rows}: {model: AppModel; rows: CpuTotals[]}) {
  const all = (row: CpuTotals): number =>
      row.busy_ns + row.idle_ns + row.outside_ns + row.interrupts_ns + row.unknown_ns;
  const share = (row: CpuTotals, ns: number): string => all(row) > 0 ? formatPercent(ns / all(row)) : '';
  const outside = rows.some((row) => row.outside_ns > 0);
  const part = (title: string, says: string, of: (row: CpuTotals) => number): Column<CpuTotals>[] => [
    {title, says, number: true, by: '', text: (row) => formatDuration(of(row))},
    {title: '%', says: `${says}: share of the range`, number: true, by: '', text: (row) => share(row, of(row))},
  ];
  const columns: Column<CpuTotals>[] = [
    {title: 'CPU', says: 'Number of the CPU', number: false, by: '', text: (row) => row.cpu < 0 ? 'All' : `CPU ${row.cpu}`},
    ...part('Threads', 'Time of threads, without interrupts', (row) => row.busy_ns),
    ...part('Interrupts', 'Time in interrupt handlers', (row) => row.interrupts_ns),
    ...part('Idle', 'Time of the idle thread', (row) => row.idle_ns),
    ...(outside ? part('Outside', 'Time of processes outside the command', (row) => row.outside_ns) : []),
    ...part('Not known', 'Records are missing', (row) => row.unknown_ns),
    {title: 'All', says: 'The range', number: true, by: '', text: (row) => formatDuration(all(row))},
    {title: 'Dispatches', says: 'Dispatches of threads that begin in the range', number: true, by: '', text: (row) => formatCount(row.dispatches)},
  ];
  const total: CpuTotals = {cpu: -1, busy_ns: 0, idle_ns: 0, outside_ns: 0, interrupts_ns: 0, unknown_ns: 0, dispatches: 0, bounds: {}};
  for (const row of rows) {
    for (const field of ['busy_ns', 'idle_ns', 'outside_ns', 'interrupts_ns', 'unknown_ns', 'dispatches'] as const) total[field] += row[field];
  }
  return <DataTable columns={columns} rows={rows} sum={columns.map((column) => column.text(total))} model={model}
                    rowKey={(row) => String(row.cpu)} swatch={() => null} />;
}
