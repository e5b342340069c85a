// Who ran: tables of processes, threads and CPUs. Exact numbers; counts that an
// edge cut are marked as the least or a tilde.

import type {Aggregate, CpuTotals, Quality} from '../api/schema';
import type {Core} from '../core/core';
import type {Tables} from './tables';
import {processName, processOf} from '../core/names';
import {processRows, type RunRow, sumOf, threadRows} from './run_rows';
import {css} from '../core/palette';
import {formatCount, formatDuration, formatEventCount, formatPercent} from '../core/units';
import {type Column, DataTable} from './data_table';
import {MARKS_SAY, qualityMarks} from '../core/limits';
import {useSelectedRow} from './use_selected_row';
import {useSignal} from '../core/use_signal';

// An edge cut an interval of the event: no less than the count, or about.
const MARKS = {'': '', '>=': '\u2265', '~': '~'} as const;

function countColumns(events: readonly string[]): Column<RunRow>[] {
  return events.map((event, index) => ({
    title: event,
    says: `${event} inside the range`,
    number: true,
    by: `counts.${index}`,
    text: (row) => {
      const count = row.counts[index];
      return count === null || count === undefined ? '\u2013' :
          `${MARKS[row.marks[index] ?? '']}${formatEventCount(event, count)}`;
    },
  }));
}

// Marks rows whose numbers are not all exact; no column if all are.
export function qualityColumn<Row extends {qualities: readonly Quality[]}>(rows: readonly Row[]): Column<Row>[] {
  if (rows.every(({qualities}) => qualities.length === 0)) return [];
  return [{title: '', says: MARKS_SAY, number: false, by: '', text: (row) => qualityMarks(row.qualities)}];
}

const NONE = '\u2013';

// What the tables of processes and of threads have.
function runColumns(core: Core, data: Aggregate): {time: Column<RunRow>[]; counted: Column<RunRow>[]} {
  return {
    time: [
      {title: 'CPU time', says: 'Time on a CPU inside the range, exact', number: true, by: 'on_cpu_ns', text: (row) => formatDuration(row.onCpu)},
      {title: 'Share', says: 'Share of all CPUs over the range', number: true, by: 'on_cpu_ns',
       text: (row) => data.cpu_ns > 0 ? formatPercent(row.onCpu / data.cpu_ns) : ''},
    ],
    counted: [
      {title: 'Dispatches', says: 'Dispatches that begin in the range', number: true, by: 'dispatches',
       text: (row) => row.dispatches === null ? NONE : formatCount(row.dispatches)},
      ...countColumns(core.names.events),
    ],
  };
}

// The rows together, idle and what is not known included.
function runSums(core: Core, data: Aggregate, rows: readonly RunRow[]): {time: string[]; counted: string[]} {
  const total = sumOf(rows, (row) => row.onCpu);
  return {
    time: [formatDuration(total), data.cpu_ns > 0 ? formatPercent(total / data.cpu_ns) : ''],
    counted: [
      formatCount(sumOf(rows, (row) => row.dispatches)),
      // A row without a count: their sum is not known.
      ...core.names.events.map((event, i) => rows.some((row) => row.dispatches !== null && row.counts[i] === null) ?
          NONE : formatEventCount(event, sumOf(rows, (row) => row.counts[i] ?? null))),
    ],
  };
}

export function ProcessTable({tables, data}: {tables: Tables; data: Aggregate}) {
  const {core} = tables;
  const {names} = core;
  const highlight = useSignal(core.focus.process);
  const current = useSelectedRow(tables, data, 'processes');
  const {time, counted} = runColumns(core, data);
  const rows = processRows(data);
  const columns: Column<RunRow>[] = [
    {title: 'Process', says: 'Name of the process', number: false, by: 'process', text: (row) => row.process === null ? row.name : processName(names, row.process)},
    {title: 'PID', says: 'Process id', number: true, by: 'pid', text: (row) => row.process === null ? '' : String(names.process(row.process)?.pid ?? '')},
    ...time,
    ...counted,
    ...qualityColumn(rows),
  ];
  const sums = runSums(core, data, rows);
  return <DataTable columns={columns} rows={rows} sum={['All', '', ...sums.time, ...sums.counted]} ranges={tables.ranges} rowKey={(row) => row.key}
                    current={current} swatch={(row) => css(row.process === null ? core.book.value.theme.idle : core.book.value.process(row.process))}
                    selected={(row) => current === null && row.process !== null && row.process === highlight} isRest={(row) => row.process === null}
                    onClick={(row) => {
                      core.selection.select(null);
                      core.focus.process.value = row.process === highlight ? null : row.process;
                    }} />;
}

export function ThreadTable({tables, data}: {tables: Tables; data: Aggregate}) {
  const {core} = tables;
  const {names} = core;
  const highlight = useSignal(core.focus.process);
  const chosen = useSignal(core.focus.thread);
  const current = useSelectedRow(tables, data, 'threads');
  const {time, counted} = runColumns(core, data);
  const rows = threadRows(data, (number) => processOf(names, number));
  const thread = (row: RunRow) => row.thread === null ? undefined : names.thread(row.thread);
  const off = (title: string, says: string, by: string, of: (row: RunRow) => number|null): Column<RunRow> => ({
    title, says, number: true, by,
    text: (row) => of(row) === null ? NONE : formatDuration(of(row) ?? 0),
  });
  const columns: Column<RunRow>[] = [
    {title: 'Thread', says: 'Name of the thread', number: false, by: 'thread', text: (row) => row.thread === null ? row.name : thread(row)?.comm || '?'},
    {title: 'TID', says: 'Thread id', number: true, by: 'tid', text: (row) => String(thread(row)?.tid ?? '')},
    {title: 'Process', says: 'Its process', number: false, by: 'process',
     text: (row) => row.process === null ? '' : `${processName(names, row.process)} ${thread(row)?.pid ?? ''}`},
    ...time,
    off('Waited', 'Time runnable, on no CPU', 'wait_ns', (row) => row.wait),
    ...(names.trace.wakeups ? [off('Blocked', 'Time on no CPU and not runnable', 'blocked_ns', (row) => row.blocked)] : []),
    ...counted,
    ...qualityColumn(rows),
  ];
  const sums = runSums(core, data, rows);
  const sum = [
    'All', '', '', ...sums.time, formatDuration(sumOf(rows, (row) => row.wait)),
    ...(names.trace.wakeups ? [formatDuration(sumOf(rows, (row) => row.blocked))] : []),
    ...sums.counted,
  ];
  return <DataTable columns={columns} rows={rows} sum={sum} ranges={tables.ranges} rowKey={(row) => row.key}
                    current={current} swatch={(row) => css(row.process === null ? core.book.value.theme.idle : core.book.value.process(row.process))}
                    selected={(row) => current === null && row.process !== null && (chosen === null ? row.process === highlight : row.thread === chosen)}
                    isRest={(row) => row.process === null}
                    onClick={(row) => {
                      if (row.process === null) return;
                      core.selection.select(null);
                      core.focus.thread.value = row.thread === chosen ? null : row.thread;
                      core.view.onJump();
                      void tables.timeline.commands.reveal(row.process, row.thread);
                    }} />;
}

export function CpuTable({tables, rows}: {tables: Tables; rows: CpuTotals[]}) {
  const all = (row: CpuTotals): number =>
      row.busy_ns + row.idle_ns + row.outside_ns + row.interrupts_ns + row.unknown_ns;
  const share = (row: CpuTotals, ns: number): string => all(row) > 0 ? formatPercent(ns / all(row)) : '';
  const outside = rows.some((row) => row.outside_ns > 0);
  type Part = 'busy_ns'|'idle_ns'|'outside_ns'|'interrupts_ns'|'unknown_ns';
  const part = (title: string, says: string, field: Part): Column<CpuTotals>[] => [
    {title, says, number: true, by: '', text: (row) => formatDuration(row[field])},
    {title: '%', says: `${says}: share of the range`, number: true, by: '', text: (row) => share(row, row[field])},
  ];
  const columns: Column<CpuTotals>[] = [
    {title: 'CPU', says: 'Number of the CPU', number: false, by: '', text: (row) => row.cpu < 0 ? 'All' : `CPU ${row.cpu}`},
    ...part('Threads', 'Time of threads, without interrupts', 'busy_ns'),
    ...part('Interrupts', 'Time in interrupt handlers', 'interrupts_ns'),
    ...part('Idle', 'Time of the idle thread', 'idle_ns'),
    ...(outside ? part('Outside', 'Time of processes outside the command', 'outside_ns') : []),
    ...part('Not known', 'Records are missing', 'unknown_ns'),
    {title: 'All', says: 'The range', number: true, by: '', text: (row) => formatDuration(all(row))},
    {title: 'Dispatches', says: 'Dispatches of threads that begin in the range', number: true, by: '', text: (row) => formatCount(row.dispatches)},
    ...qualityColumn(rows),
  ];
  const total: CpuTotals = {cpu: -1, busy_ns: 0, idle_ns: 0, outside_ns: 0, interrupts_ns: 0, unknown_ns: 0, dispatches: 0, qualities: []};
  for (const row of rows) {
    for (const field of ['busy_ns', 'idle_ns', 'outside_ns', 'interrupts_ns', 'unknown_ns', 'dispatches'] as const) total[field] += row[field];
  }
  return <DataTable columns={columns} rows={rows} sum={columns.map((column) => column.text(total))} ranges={tables.ranges}
                    rowKey={(row) => String(row.cpu)} swatch={() => null} />;
}
