// Who ran: tables of processes, threads and CPUs. Exact numbers; counts that an
// edge cut are marked as the least or a tilde.

import type {Aggregate, CpuTotals, Quality} from '../api/schema';
import type {Core} from '../core/core';
import type {Tables} from './tables';
import {processName, processOf} from '../core/names';
import {processRows, type RunRow, sumOf, threadRows} from './run_rows';
import {css} from '../core/palette';
import {formatEventCount, formatPercent} from '../core/units';
import {type Column, DataTable} from './data_table';
import {MARKS_SAY, qualityMarks} from '../core/limits';
import {lineOf, NONE, reported} from './report_columns';
import {useSelectedRow} from './use_selected_row';
import {useSignal} from '../core/use_signal';

// An edge cut an interval of the event: no less than the count, or about.
const MARKS = {'': '', '>=': '\u2265', '~': '~'} as const;

// Marks rows whose numbers are not all exact; no column if all are.
export function qualityColumn<Row extends {qualities: readonly Quality[]}>(rows: readonly Row[]): Column<Row>[] {
  if (rows.every(({qualities}) => qualities.length === 0)) return [];
  return [{title: '', says: MARKS_SAY, number: false, by: '', text: (row) => qualityMarks(row.qualities)}];
}

// What the tables of processes and of threads have.
function runColumns(core: Core, data: Aggregate, table: 'processes'|'threads'): {time: Column<RunRow>[]; counted: Column<RunRow>[]} {
  const share = (row: {on_cpu_ns: number}): string => data.cpu_ns > 0 ? formatPercent(row.on_cpu_ns / data.cpu_ns) : '';
  return {
    time: [
      reported(core, table, 'on_cpu_ns'),
      {title: 'Share', says: 'Share of all CPUs over the range', number: true, by: 'on_cpu_ns', text: share, sum: share},
    ],
    counted: [
      reported(core, table, 'dispatches'),
      ...core.names.events.map((event, index): Column<RunRow> => {
        const text = ({counts, marks}: Pick<RunRow, 'counts'|'marks'>): string => {
          const count = counts[index] ?? null;
          return count === null ? NONE : `${MARKS[marks[index] ?? '']}${formatEventCount(event, count)}`;
        };
        return {...reported(core, table, `counts.${event}`), title: event, by: `counts.${index}`, text, sum: text};
      }),
    ],
  };
}

export function ProcessTable({tables, data}: {tables: Tables; data: Aggregate}) {
  const {core} = tables;
  const {names} = core;
  const highlight = useSignal(core.focus.process);
  const current = useSelectedRow(tables, data, 'processes');
  const {time, counted} = runColumns(core, data, 'processes');
  const rows = processRows(data);
  const columns: Column<RunRow>[] = [
    {title: 'Process', says: 'Name of the process', number: false, by: 'process', text: (row) => row.process === null ? row.name : processName(names, row.process)},
    {title: 'PID', says: 'Process id', number: true, by: 'pid', text: (row) => row.process === null ? '' : String(names.process(row.process)?.pid ?? '')},
    ...time,
    ...counted,
    ...qualityColumn(rows),
  ];
  return <DataTable columns={columns} rows={rows} sum={lineOf(columns, 'All', sumOf(rows))} ranges={tables.ranges} rowKey={(row) => row.key}
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
  const {time, counted} = runColumns(core, data, 'threads');
  const rows = threadRows(data, (number) => processOf(names, number));
  const thread = (row: RunRow) => row.thread === null ? undefined : names.thread(row.thread);
  const columns: Column<RunRow>[] = [
    {title: 'Thread', says: 'Name of the thread', number: false, by: 'thread', text: (row) => row.thread === null ? row.name : thread(row)?.comm || '?'},
    {title: 'TID', says: 'Thread id', number: true, by: 'tid', text: (row) => String(thread(row)?.tid ?? '')},
    {title: 'Process', says: 'Its process', number: false, by: 'process',
     text: (row) => row.process === null ? '' : `${processName(names, row.process)} ${thread(row)?.pid ?? ''}`},
    ...time,
    reported(core, 'threads', 'wait_ns'),
    ...(names.trace.wakeups ? [reported<RunRow>(core, 'threads', 'blocked_ns')] : []),
    ...counted,
    ...qualityColumn(rows),
  ];
  return <DataTable columns={columns} rows={rows} sum={lineOf(columns, 'All', sumOf(rows))} ranges={tables.ranges} rowKey={(row) => row.key}
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

const CPU_PARTS = ['busy_ns', 'interrupts_ns', 'idle_ns', 'outside_ns', 'unattributed_ns'] as const;

export function CpuTable({tables, rows}: {tables: Tables; rows: CpuTotals[]}) {
  const all = (name: typeof CPU_PARTS[number]|'wall_ns'|'dispatches'): number => rows.reduce((sum, row) => sum + row[name], 0);
  const column = (name: string): Column<CpuTotals> => ({...reported(tables.core, 'cpus', name), by: ''});
  const parts = CPU_PARTS.filter((name) => name !== 'outside_ns' || all(name) > 0).flatMap((name): Column<CpuTotals>[] => {
    const share = (row: Pick<CpuTotals, typeof name|'wall_ns'>): string => row.wall_ns > 0 ? formatPercent(row[name] / row.wall_ns) : '';
    return [column(name), {title: '%', says: 'Share of the range', number: true, by: '', text: share, sum: share}];
  });
  const columns: Column<CpuTotals>[] = [
    {title: 'CPU', says: 'Number of the CPU', number: false, by: '', text: (row) => `CPU ${row.cpu}`},
    ...parts, column('wall_ns'), column('dispatches'), ...qualityColumn(rows),
  ];
  const sums = Object.fromEntries(([...CPU_PARTS, 'wall_ns', 'dispatches'] as const).map((name) => [name, all(name)]));
  return <DataTable columns={columns} rows={rows} sum={lineOf(columns, 'All', sums)} ranges={tables.ranges}
                    rowKey={(row) => String(row.cpu)} swatch={() => null} />;
}
