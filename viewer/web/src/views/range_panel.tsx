// Tables of the selection, or of the whole trace: processes, segments, hooks.
// Exact numbers; counts that an edge cut are marked as the least or a tilde.

import type {Aggregate, Bounds} from '../api/schema';
import {type AppModel, TABLE_ROWS, type Tab} from '../model/app_model';
import {hookName, processName} from '../model/names';
import {css} from '../render/palette';
import {formatCount, formatDuration, formatEventCount, formatInstant, formatPercent} from '../units';
import type {TimelineEngine} from './timeline_engine';
import {theme} from './theme';
import {useSignal} from './use_signal';

interface Column<Row> {
  title: string;
  says: string;
  number: boolean;
  by: string; // as the server names it
  text: (row: Row) => string;
}

interface TableProps<Row> {
  sum?: string[]; // a last row
  columns: Column<Row>[];
  rows: Row[];
  model: AppModel;
  swatch: (row: Row) => string|null;
  rowKey: (row: Row) => string;
  selected?: (row: Row) => boolean;
  onClick?: (row: Row) => void;
}

function Table<Row>({sum, columns, rows, model, swatch, rowKey, selected, onClick}: TableProps<Row>) {
  const order = useSignal(model.order);
  const sorted = (column: Column<Row>): 'ascending'|'descending'|'none' =>
      columns.find(({by}) => by === order.column) !== column ? 'none' : order.down ? 'descending' : 'ascending';
  return (
    <table class="data">
      <thead><tr>
        {columns.map((column, index) => (
          <th key={index} class={column.number ? 'number' : ''} title={column.says}
              aria-sort={sorted(column)}>
            <button onClick={() => model.orderBy(column.by, column.number)}>
              {column.title}<span class="arrow">{{ascending: '\u25b4', descending: '\u25be', none: ''}[sorted(column)]}</span>
            </button>
          </th>
        ))}
      </tr></thead>
      <tbody>
        {rows.map((row) => (
          <tr key={rowKey(row)} class={`${onClick ? 'clickable' : ''} ${selected?.(row) ? 'selected' : ''}`}
              tabIndex={onClick ? 0 : -1} onClick={() => onClick?.(row)}
              onKeyDown={(event) => {
                if (event.key === 'Enter') onClick?.(row);
              }}>
            {columns.map((column, index) => (
              <td key={index} class={column.number ? 'number' : ''}>
                {index === 0 && swatch(row) !== null && <span class="swatch" style={{background: swatch(row) ?? ''}} />}
                {column.text(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
      {sum && <tfoot><tr>
        {columns.map((column, index) => <td key={index} class={column.number ? 'number' : ''}>{sum[index] ?? ''}</td>)}
      </tr></tfoot>}
    </table>
  );
}

interface RunRow {
  key: string;
  process: number|null; // null: idle, outside, not known
  name: string;
  pid: string;
  onCpu: number;
  dispatches: number|null;
  counts: (number|null)[];
  estimated: boolean;
  bounds: Bounds;
}

function runRows(model: AppModel, data: Aggregate): RunRow[] {
  const names = model.names;
  const none = names.events.map(() => null);
  const rows: RunRow[] = data.processes.map((row) => ({
    key: `p${row.process}`,
    process: row.process,
    name: processName(names, row.process),
    pid: String(names.processes.get(row.process)?.pid ?? ''),
    onCpu: row.on_cpu_ns,
    dispatches: row.dispatches,
    counts: row.incomplete ? none : row.counts,
    estimated: row.estimated,
    bounds: row.bounds,
  }));
  const extra = (key: string, name: string, run: typeof data.idle): void => {
    if (run.on_cpu_ns === 0 && run.dispatches === 0) return;
    rows.push({key, process: null, name, pid: '', onCpu: run.on_cpu_ns, dispatches: run.dispatches,
               counts: run.incomplete ? none : run.counts, estimated: run.estimated, bounds: run.bounds});
  };
  if (data.processes_left_out > 0) extra('others', `${data.processes_left_out} other processes`, data.others);
  extra('idle', '(idle)', data.idle);
  extra('outside', '(outside the command)', data.outside);
  if (data.interrupts_ns > 0) {
    rows.push({key: 'interrupts', process: null, name: '(interrupts)', pid: '', onCpu: data.interrupts_ns,
               dispatches: null, counts: none, estimated: false, bounds: {}});
  }
  if (data.unknown_ns > 0) {
    rows.push({key: 'unknown', process: null, name: '(not known)', pid: '', onCpu: data.unknown_ns,
               dispatches: null, counts: none, estimated: false, bounds: {}});
  }
  return rows;
}

// An edge cut an interval of this event: no less than the count.
function mark(row: RunRow, event: number, count: number): string {
  const bounds = row.bounds[`counts.${event}`];
  if (!row.estimated || !bounds) return '';
  return bounds[0] === count ? '\u2265' : '~';
}

function ProcessTable({model, engine, data}: {model: AppModel; engine: TimelineEngine; data: Aggregate}) {
  const highlight = useSignal(model.highlight);
  const columns: Column<RunRow>[] = [
    {title: 'Process', says: 'Name of the process', number: false, by: 'process', text: (row) => row.name},
    {title: 'PID', says: 'Process id', number: true, by: 'pid', text: (row) => row.pid},
    {title: 'CPU time', says: 'Time on a CPU inside the range, exact', number: true, by: 'on_cpu_ns', text: (row) => formatDuration(row.onCpu)},
    {title: 'Share', says: 'Share of all CPUs over the range', number: true, by: 'on_cpu_ns',
     text: (row) => data.cpu_ns > 0 ? formatPercent(row.onCpu / data.cpu_ns) : ''},
    {title: 'Dispatches', says: 'Dispatches that begin in the range', number: true, by: 'dispatches',
     text: (row) => row.dispatches === null ? '\u2013' : formatCount(row.dispatches)},
    ...model.names.events.map((event, index): Column<RunRow> => ({
      title: event,
      says: `${event} inside the range`,
      number: true,
      by: `counts.${index}`,
      text: (row) => {
        const count = row.counts[index];
        return count === null || count === undefined ? '\u2013' :
            `${mark(row, index, count)}${formatEventCount(event, count)}`;
      },
    })),
  ];
  const rows = runRows(model, data);
  const total = rows.reduce((sum, row) => sum + row.onCpu, 0);
  const sum = ['All', '', formatDuration(total), data.cpu_ns > 0 ? formatPercent(total / data.cpu_ns) : ''];
  return <Table columns={columns} rows={rows} sum={sum} model={model} rowKey={(row) => row.key}
                swatch={(row) => css(row.process === null ? engine.book.theme.idle : engine.book.process(row.process))}
                selected={(row) => row.process !== null && row.process === highlight}
                onClick={(row) => (model.highlight.value = row.process === highlight ? null : row.process)} />;
}

function SegmentTable({model, engine, data}: {model: AppModel; engine: TimelineEngine; data: Aggregate}) {
  type Row = Aggregate['segments'][number];
  const names = model.names;
  const durations = useSignal(model.durations);
  const time = (value: number|null): string => value === null ? '\u2013' : formatDuration(value);
  const columns: Column<Row>[] = [
    {title: 'Segment', says: 'provider:name', number: false, by: 'hook', text: (row) => hookName(names, row.hook)},
    {title: 'Process', says: 'Process', number: false, by: 'process',
     text: (row) => `${processName(names, row.process)} ${names.processes.get(row.process)?.pid ?? ''}`},
    {title: 'Calls', says: 'Calls that begin in the range', number: true, by: 'calls', text: (row) => formatCount(row.calls)},
    {title: 'Wall', says: 'Time inside the segment, its callees included', number: true, by: 'wall_incl_ns', text: (row) => formatDuration(row.wall_incl_ns)},
    {title: 'Wall, own', says: 'Without the segments inside it', number: true, by: 'wall_excl_ns', text: (row) => formatDuration(row.wall_excl_ns)},
    {title: 'On CPU', says: 'Time on a CPU, callees included', number: true, by: 'on_cpu_incl_ns', text: (row) => time(row.on_cpu_incl_ns)},
    {title: 'On CPU, own', says: 'Time on a CPU without the segments inside it', number: true, by: 'on_cpu_excl_ns', text: (row) => time(row.on_cpu_excl_ns)},
    {title: 'Mean', says: 'Wall time a call', number: true, by: 'mean_ns',
     text: (row) => row.calls > 0 ? formatDuration(row.wall_incl_ns / row.calls) : '\u2013'},
  ];
  return <Table columns={columns} rows={data.segments} model={model} rowKey={(row) => `${row.process}/${row.hook}`}
                swatch={(row) => css(engine.book.hook(row.hook))}
                selected={(row) => row.process === durations?.process && row.hook === durations.hook}
                onClick={(row) => void model.selectSegment(row.process, row.hook)} />;
}

// Which of the server's rows are shown, and the way to the others.
function Pages({model, total}: {model: AppModel; total: number}) {
  const offset = useSignal(model.tableOffset);
  if (total <= TABLE_ROWS && offset === 0) return null;
  const go = (to: number): void => {
    model.tableOffset.value = Math.max(0, to);
  };
  return (
    <div class="pages">
      <span>Rows {formatCount(Math.min(offset + 1, total))} to {formatCount(Math.min(offset + TABLE_ROWS, total))} of {formatCount(total)}.</span>
      <button disabled={offset === 0} onClick={() => go(offset - TABLE_ROWS)}>Previous</button>
      <button disabled={offset + TABLE_ROWS >= total} onClick={() => go(offset + TABLE_ROWS)}>Next</button>
    </div>
  );
}

function HookTable({model, data}: {model: AppModel; data: Aggregate}) {
  type Row = Aggregate['hooks'][number];
  const names = model.names;
  const columns: Column<Row>[] = [
    {title: 'Hook', says: 'provider:name', number: false, by: 'hook', text: (row) => hookName(names, row.hook)},
    {title: 'Process', says: 'Process', number: false, by: 'process',
     text: (row) => `${processName(names, row.process)} ${names.processes.get(row.process)?.pid ?? ''}`},
    {title: 'Hits', says: 'Hits in the range', number: true, by: 'hits', text: (row) => formatCount(row.hits)},
  ];
  return <Table columns={columns} rows={data.hooks} model={model} rowKey={(row) => `${row.process}/${row.hook}`} swatch={() => null} />;
}

// The table that an answer holds: until the one of a new tab is there, none is
// shown.
function tableOf(data: Aggregate): Tab {
  return data.segments_total !== null ? 'segments' : data.hooks_total !== null ? 'hooks' : 'processes';
}

export function RangePanel({model, engine}: {model: AppModel; engine: TimelineEngine}) {
  const data = useSignal(model.aggregate);
  const selection = useSignal(model.selection);
  const tab = useSignal(model.tab);
  const open = useSignal(model.panelOpen);
  useSignal(theme);
  const processes = data ? data.processes.length + data.processes_left_out : 0;
  // The number of rows of a table that was not requested is not known.
  const tabs: {id: Tab; title: string; count: number|null}[] = [
    {id: 'processes', title: 'Processes', count: processes},
    {id: 'segments', title: 'Segments', count: data?.segments_total ?? null},
    {id: 'hooks', title: 'Hooks', count: data?.hooks_total ?? null},
  ];
  return (
    <section class={open ? 'range open' : 'range'} aria-label="Tables">
      <div class="range-head">
        <div role="tablist" class="tabs">
          {tabs.map(({id, title, count}) => (
            <button key={id} role="tab" aria-selected={tab === id} class={tab === id ? 'on' : ''}
                    onClick={() => {
                      model.showTab(id);
                      model.panelOpen.value = true;
                    }}>
              {title}{count === null ? null : <span class="count">{formatCount(count)}</span>}
            </button>
          ))}
        </div>
        <div class="range-what">
          {selection ? (
            <>
              <strong>{formatDuration(selection.to - selection.from)}</strong> selected from{' '}
              {formatInstant(selection.from, 999)}
              <button class="link" onClick={() => (model.selection.value = null)}>clear</button>
            </>
          ) : <>Whole trace <span class="faint">drag on the timeline to select a range</span></>}
        </div>
        <button class="quiet" aria-expanded={open} title="Show or hide the tables  (Q)"
                onClick={() => model.run('panel', null)}>{open ? 'Hide' : 'Show'}</button>
      </div>
      {open && <div class="range-body">
        {!data || tableOf(data) !== tab ? null :
            tab === 'processes' ? (
              <>
                <Pages model={model} total={processes} />
                <ProcessTable model={model} engine={engine} data={data} />
              </>
            ) : tab === 'segments' ? (
              <>
                <Pages model={model} total={data.segments_total ?? 0} />
                <SegmentTable model={model} engine={engine} data={data} />
              </>
            ) : (
              <>
                <Pages model={model} total={data.hooks_total ?? 0} />
                <HookTable model={model} data={data} />
              </>
            )}
      </div>}
    </section>
  );
}
