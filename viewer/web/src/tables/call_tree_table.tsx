// Segments as a tree of calls, or each by itself, with the columns of `report --by
// path` and `--by segment`; a page without its trace has those that the index has.

import type {Bounds, CallTreeAnswer, Parts, PathRow} from '../api/schema';
import type {Tables} from './tables';
import {openRows, TREE_ROWS, treeKey} from './call_tree';
import {clean, type Names, processName} from '../core/names';
import {css} from '../core/palette';
import {formatCount, formatDuration, formatEventCount} from '../core/units';
import {limitsText, MARKS_SAY, qualityMarks} from '../core/limits';
import {useSignal} from '../core/use_signal';

const NONE = '\u2013';

interface Column {
  title: string;
  says: string;
  text: (row: PathRow) => string;
  limits: (row: PathRow) => string;
  sum?: string;
}

// A row may have no bounds.
const boundsOf = (row: PathRow): Bounds => row.bounds ?? {};

function columnsOf(answer: CallTreeAnswer, names: Names): Column[] {
  const {sums} = answer;
  const time = (value: number|null|undefined): string => value === null || value === undefined ? NONE : formatDuration(value);
  const part = (title: string, says: string, of: (row: PathRow) => Parts|null, field: string, which: 'incl'|'excl', sum?: number|null): Column => ({
    title, says,
    text: (row) => time(of(row)?.[which]),
    limits: (row) => limitsText(boundsOf(row), `${field}.${which}`, formatDuration),
    ...(sum === undefined ? {} : {sum: time(sum)}),
  });
  const statistic = (title: string, says: string, which: 'mean'|'min'|'p50'|'p99'|'max'): Column => (
      {title, says, text: (row) => row.calls === 0 ? NONE : time(row.wall_ns[which]), limits: () => ''});
  const counted = names.events.filter((event) => answer.rows.some((row) => row.counts?.[event]));
  return [
    {title: 'Calls', says: 'Calls that begin in the range', text: (row) => formatCount(row.calls),
     limits: (row) => limitsText(boundsOf(row), 'calls', formatCount), sum: formatCount(sums.calls)},
    part('Wall', 'Time inside the calls, their callees included', (row) => row.wall_ns, 'wall_ns', 'incl'),
    part('Own', 'Wall time without the segments inside', (row) => row.wall_ns, 'wall_ns', 'excl', sums.wall_ns),
    part('On CPU', 'Time on a CPU, callees included', (row) => row.on_cpu_ns, 'on_cpu_ns', 'incl'),
    part('Own', 'Time on a CPU without the segments inside', (row) => row.on_cpu_ns, 'on_cpu_ns', 'excl', sums.on_cpu_ns),
    part('Off CPU', 'Wall time without on-CPU time, callees included', (row) => row.off_cpu_ns, 'off_cpu_ns', 'incl'),
    part('Waited', 'Time runnable on no CPU, callees included', (row) => row.wait_ns, 'wait_ns', 'incl'),
    part('Blocked', 'Time on no CPU and not runnable, callees included', (row) => row.blocked_ns, 'blocked_ns', 'incl'),
    statistic('Mean', 'Wall time a call', 'mean'),
    statistic('Min', 'The shortest call', 'min'),
    statistic('p50', 'Half of the calls took no longer', 'p50'),
    statistic('p99', '99 % of the calls took no longer', 'p99'),
    statistic('Max', 'The longest call', 'max'),
    ...counted.map((event): Column => {
      const sum = sums.counts[names.events.indexOf(event)];
      return {
        title: event, says: `${event}, callees included`,
        text: (row) => row.counts?.[event] ? formatEventCount(event, row.counts[event].incl) : NONE,
        limits: (row) => limitsText(boundsOf(row), `counts.${event}.incl`, (count) => formatEventCount(event, count)),
        ...(sum === null || sum === undefined ? {} : {sum: `own ${formatEventCount(event, sum)}`}),
      };
    }),
    {title: '', says: MARKS_SAY, text: (row) => qualityMarks(row.qualities ?? []), limits: () => ''},
  ];
}

export function CallTreeTable({tables}: {tables: Tables}) {
  const {core} = tables;
  const {callTree} = tables;
  const {names} = core;
  const answer = useSignal(callTree.answer);
  const closed = useSignal(callTree.closed);
  const offset = useSignal(callTree.offset);
  const busy = useSignal(callTree.busy);
  const filter = useSignal(core.focus.filter);
  const isTree = useSignal(tables.ranges.tab) === 'calltree';
  const what = isTree ? 'call paths' : 'segments';
  const {hasTrace} = core.client.backend;
  if (!answer) return <p class="refused">{busy ? `The ${hasTrace ? 'trace' : 'index'} is read\u2026` : `No ${what}: they lack a field of the condition.`}</p>;
  const {total} = answer;
  const all = columnsOf(answer, names);
  const columns = hasTrace ? all : all.filter(({text}) => answer.rows.some((row) => text(row) !== NONE && text(row) !== ''));
  const rows = openRows(answer.rows, closed);
  const wide = columns.map(({limits}) => answer.rows.some((row) => limits(row) !== ''));
  const go = (at: number): void => {
    callTree.offset.value = Math.max(0, at);
  };
  const cells = (texts: (column: Column) => string, limits: (column: Column) => string) => columns.flatMap((column, index) => [
    <td key={index} class="number">{texts(column)}</td>,
    ...(wide[index] ? [<td key={`${index} limits`} class="limits">{limits(column)}</td>] : []),
  ]);
  return (
    <>
      {answer.unselected !== undefined && filter !== '' && (
        <p class="condition">{formatCount(total)} of {formatCount(total + answer.unselected)} {what} are selected by <code>{filter}</code>, as by <code>report --where</code>.</p>
      )}
      {!hasTrace && (
        <p class="condition">From the index: the lengths of single calls, waits, counts and the limits where records were lost are in <code>countrace view</code>.</p>
      )}
      {total > TREE_ROWS && (
        <div class="pages">
          <span>{isTree ? 'Call paths' : 'Segments'} {formatCount(offset + 1)} to {formatCount(Math.min(offset + TREE_ROWS, total))} of {formatCount(total)}.</span>
          <button disabled={offset === 0} onClick={() => go(offset - TREE_ROWS)}>Previous</button>
          <button disabled={offset + TREE_ROWS >= total} onClick={() => go(offset + TREE_ROWS)}>Next</button>
        </div>
      )}
      <table class={busy ? 'data calltree stale' : 'data calltree'}>
        <thead><tr>
          <th><span class="title">{isTree ? 'Call path' : 'Segment'}</span></th>
          {columns.flatMap(({title, says}, index) => [
            <th key={index} class="number" title={says}><span class="title">{title}</span></th>,
            ...(wide[index] ? [<th key={`${index} limits`}><span class="offscreen">Limits of {title}</span></th>] : []),
          ])}
        </tr></thead>
        <tbody>
          {rows.map((row, index) => {
            const depth = row.path.length - 1;
            const name = clean(row.path[depth] ?? '');
            const open = !closed.has(treeKey(row));
            const hook = names.hookNamed(name);
            return [
              ...(rows[index - 1]?.process === row.process ? [] : [
                <tr class="group" key={`p${row.process}`}><th scope="rowgroup" colSpan={1 + columns.length + wide.filter(Boolean).length}>
                  {processName(names, row.process)} {names.process(row.process)?.pid}
                </th></tr>]),
              <tr key={treeKey(row)} class={row.has_callees ? 'clickable' : ''} tabIndex={row.has_callees ? 0 : -1}
                  aria-expanded={row.has_callees ? open : undefined}
                  onClick={() => row.has_callees && callTree.toggle(row)}
                  onKeyDown={(event) => {
                    if (event.key === 'Enter' && row.has_callees) callTree.toggle(row);
                  }}>
                <td style={{paddingLeft: `${12 + 14 * Math.min(depth, 24)}px`}} title={row.path.map(clean).join(' > ')}>
                  <span class="twist">{row.has_callees ? open ? '\u25be' : '\u25b8' : ''}</span>
                  {hook !== undefined && <span class="swatch" style={{background: css(core.book.value.hook(hook))}} />}
                  {name}
                </td>
                {cells((column) => column.text(row), (column) => column.limits(row))}
              </tr>,
            ];
          })}
        </tbody>
        <tfoot><tr><td>All</td>{cells((column) => column.sum ?? '', () => '')}</tr></tfoot>
      </table>
    </>
  );
}
