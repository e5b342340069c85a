// What was called: tables of segments and of point hooks.

import type {Aggregate} from '../api/schema';
import type {Tables} from './tables';
import {hookName, processName} from '../core/names';
import {css} from '../core/palette';
import {formatCount, formatDuration} from '../core/units';
import {type Column, DataTable} from './data_table';
import {allOf} from './condition_note';
import {segmentKey} from './selected_row';
import {useSelectedRow} from './use_selected_row';
import {qualityColumn} from './run_tables';
import {useSignal} from '../core/use_signal';

export function SegmentTable({tables, data}: {tables: Tables; data: Aggregate}) {
  const {core} = tables;
  type Row = Aggregate['segments'][number];
  const names = core.names;
  const time = (value: number|null): string => value === null ? '\u2013' : formatDuration(value);
  const columns: Column<Row>[] = [
    {title: 'Segment', says: 'provider:name', number: false, by: 'hook', text: (row) => hookName(names, row.hook)},
    {title: 'Process', says: 'Process', number: false, by: 'process',
     text: (row) => `${processName(names, row.process)} ${names.process(row.process)?.pid ?? ''}`},
    {title: 'Calls', says: 'Calls that begin in the range', number: true, by: 'calls', text: (row) => formatCount(row.calls)},
    {title: 'Wall', says: 'Time inside the segment, its callees included', number: true, by: 'wall_incl_ns', text: (row) => formatDuration(row.wall_incl_ns)},
    {title: 'Wall, own', says: 'Without the segments inside it', number: true, by: 'wall_excl_ns', text: (row) => formatDuration(row.wall_excl_ns)},
    {title: 'On CPU', says: 'Time on a CPU, callees included', number: true, by: 'on_cpu_incl_ns', text: (row) => time(row.on_cpu_incl_ns)},
    {title: 'On CPU, own', says: 'Time on a CPU without the segments inside it', number: true, by: 'on_cpu_excl_ns', text: (row) => time(row.on_cpu_excl_ns)},
    {title: 'Mean', says: 'Wall time a call', number: true, by: 'mean_ns',
     text: (row) => row.mean_ns === null ? '\u2013' : formatDuration(row.mean_ns)},
    ...qualityColumn(data.segments),
  ];
  const sums = data.sums?.segments;
  const line = (name: string, calls: number, own: number, onCpu: number): string[] =>
      [name, '', formatCount(calls), '', formatDuration(own), '', formatDuration(onCpu), ''];
  const left = (data.segments_total ?? 0) - data.segments.length;
  const shown = (of: (row: Row) => number|null): number => data.segments.reduce((total, row) => total + (of(row) ?? 0), 0);
  const rest = sums && left > 0 ? line(
      `(${formatCount(left)} others)`, sums.calls - shown((row) => row.calls),
      sums.wall_excl_ns - shown((row) => row.wall_excl_ns), sums.on_cpu_excl_ns - shown((row) => row.on_cpu_excl_ns)) : null;
  const sum = sums && line(allOf(data, 'segments'), sums.calls, sums.wall_excl_ns, sums.on_cpu_excl_ns);
  return <DataTable columns={columns} rows={data.segments} rest={rest ?? null} {...(sum ? {sum} : {})} ranges={tables.ranges} rowKey={segmentKey}
                    current={useSelectedRow(tables, data, 'segments')} swatch={(row) => css(core.book.value.hook(row.hook))}
                    onClick={(row) => void tables.selectSegment(row)} />;
}

export function HookTable({tables, data}: {tables: Tables; data: Aggregate}) {
  const {core} = tables;
  const chosen = useSignal(tables.timeline.rare.chosen);
  type Row = Aggregate['hooks'][number];
  const names = core.names;
  const columns: Column<Row>[] = [
    {title: 'Hook', says: 'provider:name', number: false, by: 'hook', text: (row) => hookName(names, row.hook)},
    {title: 'Process', says: 'Process', number: false, by: 'process',
     text: (row) => `${processName(names, row.process)} ${names.process(row.process)?.pid ?? ''}`},
    {title: 'Hits', says: 'Hits in the range', number: true, by: 'hits', text: (row) => formatCount(row.hits)},
  ];
  const all = data.sums?.hooks;
  const left = (data.hooks_total ?? 0) - data.hooks.length;
  const rest = all && left > 0 ?
      [`(${formatCount(left)} others)`, '', formatCount(data.hooks.reduce((hits, row) => hits - row.hits, all.hits))] : null;
  const sum = all && [allOf(data, 'hooks'), '', formatCount(all.hits)];
  // A click shows its hits among the rare events.
  return <DataTable columns={columns} rows={data.hooks} rest={rest ?? null} {...(sum ? {sum} : {})} ranges={tables.ranges} rowKey={segmentKey}
                    current={useSelectedRow(tables, data, 'hooks')} swatch={(row) => chosen.includes(row.hook) ? css(core.book.value.hook(row.hook)) : null}
                    selected={(row) => chosen.includes(row.hook)} onClick={(row) => tables.timeline.rare.toggle(row.hook)} />;
}
