// Why threads did not run: who ended their sleeps, who had the CPU that they
// waited for. A click shows the longest.

import type {Aggregate, WaitTotals} from '../api/schema';
import type {Tables} from './tables';
import {hookName, type Names, processName, threadName} from '../core/names';
import {css} from '../core/palette';
import {formatCount, formatDuration, formatPercent} from '../core/units';
import {allOf} from './condition_note';
import {type Column, DataTable} from './data_table';
import {useSelectedRow} from './use_selected_row';
import {waitKey} from './selected_row';
import {qualityColumn} from './run_tables';

function by(names: Names, row: WaitTotals): string {
  if (row.by_thread !== null) return threadName(names, row.by_thread);
  switch (row.by) {
    case 'interrupt': return 'an interrupt';
    case 'interrupts': return 'interrupts';
    case 'idle': return row.state === 'blocked' ? 'an interrupt of an idle CPU' : 'idle';
    case 'throttled': return 'its CPU quota';
    case 'outside': return 'outside the command';
    case 'still_blocked': return 'still blocked';
    case 'other': return 'others';
    default: return 'not known';
  }
}

export function WaitTable({tables, data}: {tables: Tables; data: Aggregate}) {
  const {core} = tables;
  const {names} = core;
  const rows = data.waits ?? [];
  const sums = data.sums?.waits;
  const share = (ns: number): string => sums && sums.ns > 0 ? formatPercent(ns / sums.ns) : '';
  const columns: Column<WaitTotals>[] = [
    {title: 'Process', says: 'Whose threads did not run', number: false, by: 'process',
     text: (row) => `${processName(names, row.process)} ${names.process(row.process)?.pid ?? ''}`},
    {title: 'State', says: 'Runnable without a CPU, or blocked in a call', number: false, by: 'hook',
     text: (row) => row.state === 'waiting' ? 'waited for a CPU' :
         `blocked${row.call === null ? '' : ` in ${hookName(names, row.call)}`}`},
    {title: 'Woken, or held off, by', says: 'What ended the blocked time; what had the CPU', number: false, by: '', text: (row) => by(names, row)},
    {title: 'Time', says: 'Inside the range', number: true, by: 'ns', text: (row) => formatDuration(row.ns)},
    {title: 'Share', says: 'Share of the time of all rows', number: true, by: 'ns', text: (row) => share(row.ns)},
    {title: 'Times', says: 'How often', number: true, by: 'times', text: (row) => formatCount(row.times)},
    {title: 'Longest', says: 'The longest of these; a click shows it', number: true, by: 'longest_ns',
     text: (row) => formatDuration(row.longest.end_ns - row.longest.begin_ns)},
    ...qualityColumn(rows),
  ];
  const line = (name: string, ns: number, times: number): string[] =>
      [name, '', '', formatDuration(ns), share(ns), formatCount(times), ''];
  const left = (data.waits_total ?? 0) - rows.length;
  const rest = sums && left > 0 ? line(
      `(${formatCount(left)} others)`, rows.reduce((ns, row) => ns - row.ns, sums.ns), rows.reduce((times, row) => times - row.times, sums.times)) : null;
  const sum = sums && line(allOf(data, 'waits'), sums.ns, sums.times);
  return <DataTable columns={columns} rows={rows} rest={rest ?? null} {...(sum ? {sum} : {})} ranges={tables.ranges}
                    rowKey={waitKey} current={useSelectedRow(tables, data, 'waits')}
                    swatch={(row) => css(core.book.value.process(row.process))} onClick={(row) => tables.selectWait(row)} />;
}
