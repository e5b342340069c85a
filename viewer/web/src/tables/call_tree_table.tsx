// Segments as a tree of calls, or each by itself, with the columns of `report --by
// path` and `--by segment`; a page without its trace has those that the index has.

import type {CallTreeAnswer, PathRow} from '../api/schema';
import type {Core} from '../core/core';
import type {Tables} from './tables';
import {openRows, TREE_ROWS, treeKey} from './call_tree';
import {clean, processName} from '../core/names';
import {css} from '../core/palette';
import {formatCount, formatEventCount} from '../core/units';
import {MARKS_SAY, qualityMarks} from '../core/limits';
import {type Column, DataTable, Pages} from './data_table';
import {lineOf, NONE, reported} from './report_columns';
import {useSignal} from '../core/use_signal';

function columnsOf(answer: CallTreeAnswer, core: Core): Column<PathRow>[] {
  const {events} = core.names;
  const of = (name: string): Column<PathRow> => ({...reported(core, 'segments', name), by: ''});
  const statistic = (name: string): Column<PathRow> => {
    const column = of(`wall_ns.${name}`);
    return {...column, text: (row) => row.calls === 0 ? NONE : column.text(row)};
  };
  const counted = events.filter((event) => answer.rows.some((row) => row.counts?.[event]));
  return [
    ...['calls', 'wall_ns.incl', 'wall_ns.excl', 'on_cpu_ns.incl', 'on_cpu_ns.excl', 'off_cpu_ns.incl', 'wait_ns.incl', 'blocked_ns.incl'].map(of),
    ...['mean', 'min', 'p50', 'p99', 'max'].map(statistic),
    ...counted.map((event): Column<PathRow> => ({
      ...of(`counts.${event}.incl`), title: event,
      text: (row) => row.counts?.[event] ? formatEventCount(event, row.counts[event].incl) : NONE,
      sum: ({counts}: CallTreeAnswer['sums']) => {
        const sum = counts[events.indexOf(event)] ?? null;
        return sum === null ? '' : `own ${formatEventCount(event, sum)}`;
      },
    })),
    {title: '', says: MARKS_SAY, number: false, by: '', text: (row) => qualityMarks(row.qualities ?? [])},
  ];
}

export function CallTreeTable({tables}: {tables: Tables}) {
  const {core, callTree} = tables;
  const {names} = core;
  const answer = useSignal(callTree.answer);
  const closed = useSignal(callTree.closed);
  const busy = useSignal(callTree.busy);
  const filter = useSignal(core.focus.filter);
  const isTree = useSignal(tables.ranges.tab) === 'calltree';
  const what = isTree ? 'call paths' : 'segments';
  const {hasTrace} = core.client.backend;
  if (!answer) return <p class="refused">{busy ? `The ${hasTrace ? 'trace' : 'index'} is read\u2026` : `No ${what}: they lack a field of the condition.`}</p>;
  const {total} = answer;
  const nameOf = ({path}: PathRow): string => clean(path[path.length - 1] ?? '');
  const all = columnsOf(answer, core);
  const columns: Column<PathRow>[] = [
    {title: isTree ? 'Call path' : 'Segment', says: '', number: false, by: '', text: nameOf},
    ...(hasTrace ? all : all.filter(({text}) => answer.rows.some((row) => text(row) !== NONE && text(row) !== ''))),
  ];
  return (
    <>
      {answer.unselected !== undefined && filter !== '' && (
        <p class="condition">{formatCount(total)} of {formatCount(total + answer.unselected)} {what} are selected by <code>{filter}</code>, as by <code>report --where</code>.</p>
      )}
      {!hasTrace && (
        <p class="condition">From the index: the lengths of single calls, waits, counts and the limits where records were lost are in <code>countrace view</code>.</p>
      )}
      <Pages from={callTree.offset} total={total} rows={TREE_ROWS} what={isTree ? 'Call paths' : 'Segments'} />
      <DataTable kind={busy ? 'calltree stale' : 'calltree'} columns={columns} rows={openRows(answer.rows, closed)} ranges={tables.ranges}
                 sum={lineOf(columns, 'All', answer.sums)} rowKey={treeKey} onClick={(row) => callTree.toggle(row)}
                 swatch={(row) => {
                   const hook = names.hookNamed(nameOf(row));
                   return hook === undefined ? null : css(core.book.value.hook(hook));
                 }}
                 group={({process}) => `${processName(names, process)} ${names.process(process)?.pid ?? ''}`}
                 branch={(row) => ({
                   path: row.path.map(clean).join(' > '), depth: row.path.length - 1, open: row.has_callees ? !closed.has(treeKey(row)) : null,
                 })} />
    </>
  );
}
