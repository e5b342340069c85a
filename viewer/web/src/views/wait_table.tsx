// Why threads did not run: who ended their sleeps, who had the CPU that they
// waited for. A click shows the longest.

import type {TableSums, WaitTotals} from '../api/schema';
import type {AppModel} from '../model/app_model';
import {hookName, type Names, processName, processOf, threadName} from '../model/names';
import {css} from '../render/palette';
import {formatCount, formatDuration} from '../units';
import {type Column, DataTable} from './data_table';
import type {TimelineEngine} from './timeline_engine';

function by(names: Names, row: WaitTotals): string {
  if (row.by_thread !== null) return threadName(names, row.by_thread);
  switch (row.by) {
    case 'interrupt': return 'an interrupt';
    case 'interrupts': return 'interrupts';
    case 'idle': return row.state === 'blocked' ? 'an interrupt of an idle CPU' : 'idle';
    case 'outside': return 'outside the command';
    case 'still_blocked': return 'still blocked';
    case 'other': return 'others';
    default: return 'not known';
  }
}

export function WaitTable({model, engine, rows, sums}: {
  model: AppModel; engine: TimelineEngine; rows: WaitTotals[]; sums: TableSums['waits'];
}) {
  const {names} = model;
  const columns: Column<WaitTotals>[] = [
    {title: 'Process', says: 'Whose threads did not run', number: false, by: 'process',
     text: (row) => `${processName(names, row.process)} ${names.process(row.process)?.pid ?? ''}`},
    {title: 'State', says: 'Runnable without a CPU, or blocked in a call', number: false, by: 'hook',
     text: (row) => row.state === 'waiting' ? 'waited for a CPU' :
         `blocked${row.call === null ? '' : ` in ${hookName(names, row.call)}`}`},
    {title: 'Woken, or held off, by', says: 'What ended the blocked time; what had the CPU', number: false, by: '', text: (row) => by(names, row)},
    {title: 'Time', says: 'Inside the range', number: true, by: 'ns', text: (row) => formatDuration(row.ns)},
    {title: 'Times', says: 'How often', number: true, by: 'times', text: (row) => formatCount(row.times)},
    {title: 'Longest', says: 'The longest of these; a click shows it', number: true, by: 'longest_ns',
     text: (row) => formatDuration(row.longest.end_ns - row.longest.begin_ns)},
  ];
  const show = (row: WaitTotals): void => {
    const {thread, begin_ns: begin, end_ns: end} = row.longest;
    const margin = (end - begin) / 2;
    model.show(Math.max(begin - margin, 0), Math.min(end + margin, model.durationNs));
    model.movePlayhead(begin);
    model.rows.reveal(processOf(names, thread), thread);
    void model.selectWait(thread, begin);
  };
  const sum = sums && ['All', '', '', formatDuration(sums.ns), formatCount(sums.times), ''];
  return <DataTable columns={columns} rows={rows} {...(sum ? {sum} : {})} model={model}
                    rowKey={(row) => `${row.process}/${row.state}/${row.by}/${row.by_thread}/${row.call}`}
                    swatch={(row) => css(engine.book.process(row.process))} onClick={show} />;
}
