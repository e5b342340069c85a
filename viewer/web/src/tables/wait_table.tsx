// Why threads did not run: who ended their sleeps, who had the CPU that they
// waited for. A click shows the longest.

import type {Aggregate, WaitTotals} from '../api/schema';
import type {Tables} from './tables';
import {hookName, type Names, processName, threadName} from '../core/names';
import {css} from '../core/palette';
import {formatCount, formatDuration, formatPercent} from '../core/units';
import {type Column, DataTable} from './data_table';
import {useSelectedRow} from './use_selected_row';
import {waitKey} from './selected_row';
import {footOf} from './report_columns';
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
  const time = ({ns}: {ns: number}): string => formatDuration(ns);
  const share = ({ns}: {ns: number}): string => sums && sums.ns > 0 ? formatPercent(ns / sums.ns) : '';
  const times = (row: {times: number}): string => formatCount(row.times);
  const columns: Column<WaitTotals>[] = [
    {title: 'Process', says: 'Whose threads did not run', number: false, by: 'process',
     text: (row) => `${processName(names, row.process)} ${names.process(row.process)?.pid ?? ''}`},
    {title: 'State', says: 'Runnable without a CPU, or blocked in a call', number: false, by: 'hook',
     text: (row) => row.state === 'waiting' ? 'waited for a CPU' :
         `blocked${row.call === null ? '' : ` in ${hookName(names, row.call)}`}`},
    {title: 'Woken, or held off, by', says: 'What ended the blocked time; what had the CPU', number: false, by: '', text: (row) => by(names, row)},
    {title: 'Time', says: 'Inside the range', number: true, by: 'ns', text: time, sum: time},
    {title: 'Share', says: 'Share of the time of all rows', number: true, by: 'ns', text: share, sum: share},
    {title: 'Times', says: 'How often', number: true, by: 'times', text: times, sum: times},
    {title: 'Longest', says: 'The longest of these; a click shows it', number: true, by: 'longest_ns',
     text: (row) => formatDuration(row.longest.end_ns - row.longest.begin_ns)},
    ...qualityColumn(rows),
  ];
  return <DataTable columns={columns} rows={rows} {...footOf(columns, data, 'waits')} ranges={tables.ranges}
                    rowKey={waitKey} current={useSelectedRow(tables, data, 'waits')}
                    swatch={(row) => css(core.book.value.process(row.process))} onClick={(row) => tables.selectWait(row)} />;
}
