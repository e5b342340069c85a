// The tables of the selection, or of the whole trace, one in a tab.

import type {ComponentChildren} from 'preact';
import {useEffect} from 'preact/hooks';

import type {Aggregate} from '../api/schema';
import type {Tables} from './tables';
import {isReported, type Tab, tableOf} from './range_tables';
import {formatCount, formatDuration, formatInstant} from '../core/units';
import {CallTreeTable} from './call_tree_table';
import {HookTable, SegmentTable} from './call_tables';
import {ConditionNote} from './condition_note';
import {Pages} from './data_table';
import {DockEdge} from './dock_edge';
import {EventsTable} from './events_table';
import {CpuTable, ProcessTable, ThreadTable} from './run_tables';
import {SourceNote} from './source_note';
import {theme} from '../core/theme';
import {useSignal} from '../core/use_signal';
import {WaitTable} from './wait_table';

const TABS: readonly {id: Tab; title: string}[] = [
  {id: 'processes', title: 'Processes'},
  {id: 'threads', title: 'Threads'},
  {id: 'segments', title: 'Segments'},
  {id: 'functions', title: 'Functions'},
  {id: 'cpus', title: 'CPUs'},
  {id: 'waits', title: 'Waits'},
  {id: 'hooks', title: 'Hooks'},
  {id: 'events', title: 'Events'},
  {id: 'query', title: 'Query'},
];

const REQUESTS: {id: Tab; title: string} = {id: 'requests', title: 'Requests'};
const CHANGES: {id: Tab; title: string} = {id: 'changes', title: 'Changes'};
// The tables of `countrace report` that a tab stands for.
const REPORT_TABLES: Record<Tab, readonly string[]> = {
  processes: ['process'], threads: ['thread'], segments: ['segment'], cpus: ['cpu'], waits: ['waker', 'preemptor'],
  hooks: ['hook'], functions: [], calltree: ['path'], allcolumns: ['segment'], events: [], changes: [], query: [], requests: [],
};

// The number of rows of a table that was not requested is not known.
function rowsOf(data: Aggregate|null, tab: Tab): number|null {
  if (!data || tab === 'events' || tab === 'changes' || tab === 'functions' || tab === 'query' || tab === 'requests' || isReported(tab)) return null;
  return tab === 'processes' ? data.processes.length + data.processes_left_out : data[`${tab}_total`] ?? null;
}

function Rows({tables, data}: {tables: Tables; data: Aggregate}) {
  switch (tableOf(data)) {
    case 'processes': return <ProcessTable tables={tables} data={data} />;
    case 'threads': return <ThreadTable tables={tables} data={data} />;
    case 'segments': return <SegmentTable tables={tables} data={data} />;
    case 'hooks': return <HookTable tables={tables} data={data} />;
    case 'cpus': return <CpuTable tables={tables} rows={data.cpus ?? []} />;
    case 'waits': return <WaitTable tables={tables} data={data} />;
  }
}

// These stand in the tab of the segments.
const isOf = (tab: Tab, title: Tab): boolean => tab === title || isReported(tab) && title === 'segments';

function SegmentViews({tables, tab}: {tables: Tables; tab: Tab}) {
  const {core} = tables;
  const view = (id: Tab, title: string, says: string) => (
    <button aria-pressed={tab === id} title={says} onClick={() => tables.ranges.show(id)}>{title}</button>
  );
  return (
    <div class="views" role="group" aria-label="Segments as">
      {view('segments', 'By segment', 'Each segment of a process, sorted by a column')}
      {core.client.backend.hasTrace &&
        view('allcolumns', 'All columns', 'Each segment with all columns of `report --by segment`: off CPU, waits, quantiles, counts; reads the trace')}
      {view('calltree', 'Call tree', core.client.backend.hasTrace ?
          'Call paths with all columns of `report --by path`; reads the trace' : 'Call paths, as the index has them')}
    </div>
  );
}

// `others`: the tables of other features, by their tabs.
export function RangePanel({tables, others, joined}: {tables: Tables; joined: boolean; others: Record<'functions'|'changes'|'query'|'requests', () => ComponentChildren>}) {
  const {core, ranges} = tables;
  const data = useSignal(ranges.aggregate);
  const selection = useSignal(core.range.chosen);
  const tab = useSignal(ranges.tab);
  const refused = useSignal(ranges.refused);
  const source = useSignal(ranges.source);
  const open = useSignal(core.page.panelOpen);
  const before = useSignal(core.range.compared);
  const filter = useSignal(core.focus.filter);
  const height = useSignal(core.page.panelHeight);
  useSignal(theme);
  useEffect(() => document.querySelector('.tabs [aria-selected=true]')?.scrollIntoView({block: 'nearest', inline: 'nearest'}), [tab]);
  const missing = !core.client.backend.hasTrace && (tab === 'events' || tab === 'changes' || tab === 'allcolumns' || tab === 'query' || tab === 'requests');
  return (
    <section class={open ? 'range open' : 'range'} aria-label="Tables" style={open && height !== null ? {height: `${height}px`} : {}}>
      {open && <DockEdge core={core} />}
      <div class="range-head">
        <div role="tablist" class="tabs" aria-label="Tables">
          {[...TABS, ...(joined || tab === 'requests' ? [REQUESTS] : []), ...(before || tab === 'changes' ? [CHANGES] : [])].map(({id, title}) => {
            const count = rowsOf(data, id);
            return (
              <button key={id} role="tab" aria-selected={isOf(tab, id)} class={isOf(tab, id) ? 'on' : ''}
                      onClick={() => {
                        ranges.show(id);
                        core.page.panelOpen.value = true;
                      }}>
                {title}{count === null ? null : <span class="count">{formatCount(count)}</span>}
              </button>
            );
          })}
        </div>
        <div class="range-what">
          {selection ? (
            <>
              <span class="text"><strong>{formatDuration(selection.to - selection.from)}</strong> selected from{' '}
                {formatInstant(selection.from, 999)}</span>
              <button class="link" onClick={() => (core.range.chosen.value = null)}>clear</button>
              {!before && <button class="link" title="Then select another range  (C)" onClick={() => core.commands.run('compare', null)}>compare with{'\u2026'}</button>}
            </>
          ) : <span class="text">{`${core.extent.name.charAt(0).toUpperCase()}${core.extent.name.slice(1)}`} <span class="faint">drag on the timeline to select a range</span></span>}
        </div>
        <div class="csvs">
          {(core.client.backend.hasTrace ? REPORT_TABLES[tab] : []).map((table, index) => (
            <a key={table} class="link csv" download href={core.client.csvAddress(table, selection)}
               title={`All rows, as \`countrace report --by ${table}\` has them${filter === '' ? '' : '; the condition is not in it'}`}>{index > 0 ? '' : 'CSV '}{REPORT_TABLES[tab].length > 1 ? `by ${table}` : ''}</a>
          ))}
        </div>
        <button class="quiet" aria-expanded={open} title="Show or hide the tables  (Q)"
                onClick={() => core.commands.run('panel', null)}>{open ? 'Hide' : 'Show'}</button>
      </div>
      {open && <div class="range-body" tabIndex={0} role="region" aria-label={`Table of ${tab}`}>
        {missing ? <p class="refused">This file has the timeline's index, not the trace: its records, queries and <code>diff</code> are in <code>countrace view</code>.</p> :
            tab === 'events' ? <EventsTable tables={tables} /> :
            tab === 'functions' || tab === 'changes' || tab === 'query' || tab === 'requests' ? others[tab]() :
            isReported(tab) ? <><SegmentViews tables={tables} tab={tab} /><CallTreeTable tables={tables} /></> :
            refused !== null ? <p class="refused">{refused}</p> :
            !data || tableOf(data) !== tab ? null : (
              <>
                {tab === 'segments' && <SegmentViews tables={tables} tab={tab} />}
                <ConditionNote condition={ranges.condition} data={data} rows={rowsOf(data, tab) ?? 0} />
                <Pages from={tables.ranges.offset} total={rowsOf(data, tab) ?? 0} />
                <SourceNote source={source} readAgain={() => ranges.readAgain()} />
                <div class={source === 'report' ? '' : 'provisional'} aria-busy={source === 'reading'}><Rows tables={tables} data={data} /></div>
              </>
            )}
      </div>}
    </section>
  );
}
