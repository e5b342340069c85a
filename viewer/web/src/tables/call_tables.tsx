// What was called: tables of segments and of point hooks.

import type {Aggregate} from '../api/schema';
import type {Tables} from './tables';
import {hookName, processName} from '../core/names';
import {css} from '../core/palette';
import {type Column, DataTable} from './data_table';
import {footOf, reported} from './report_columns';
import {segmentKey} from './selected_row';
import {useSelectedRow} from './use_selected_row';
import {qualityColumn} from './run_tables';
import {useSignal} from '../core/use_signal';

export function SegmentTable({tables, data}: {tables: Tables; data: Aggregate}) {
  const {core} = tables;
  type Row = Aggregate['segments'][number];
  const names = core.names;
  const columns: Column<Row>[] = [
    {title: 'Segment', says: 'provider:name', number: false, by: 'hook', text: (row) => hookName(names, row.hook)},
    {title: 'Process', says: 'Process', number: false, by: 'process',
     text: (row) => `${processName(names, row.process)} ${names.process(row.process)?.pid ?? ''}`},
    ...['calls', 'wall_ns.incl', 'wall_ns.excl', 'on_cpu_ns.incl', 'on_cpu_ns.excl', 'wall_ns.mean'].map((name) => reported<Row>(core, 'segments', name)),
    ...qualityColumn(data.segments),
  ];
  return <DataTable columns={columns} rows={data.segments} {...footOf(columns, data, 'segments')} ranges={tables.ranges} rowKey={segmentKey}
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
    reported<Row>(core, 'hooks', 'hits'),
  ];
  // A click shows its hits among the rare events.
  return <DataTable columns={columns} rows={data.hooks} {...footOf(columns, data, 'hooks')} ranges={tables.ranges} rowKey={segmentKey}
                    current={useSelectedRow(tables, data, 'hooks')} swatch={(row) => chosen.includes(row.hook) ? css(core.book.value.hook(row.hook)) : null}
                    selected={(row) => chosen.includes(row.hook)} onClick={(row) => tables.timeline.rare.toggle(row.hook)} />;
}
