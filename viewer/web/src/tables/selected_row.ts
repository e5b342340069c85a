// Which row of which table holds what is selected. Pure.

import type {Aggregate, HookTotals, SegmentTotals, WaitAnswer, WaitTotals} from '../api/schema';
import type {Selected} from '../core/selection';

export type Table = 'processes'|'threads'|'segments'|'hooks'|'cpus'|'waits';

// Tables with a row for it, the one to show first; none: it is in no table.
export function tablesOf({kind, thread, process}: Selected): readonly Table[] {
  switch (kind) {
    case 'segment': return process === null ? [] : ['segments'];
    case 'hook': return process === null ? [] : ['hooks'];
    case 'wait': return ['waits'];
    case 'dispatch': return thread === null ? [] : ['threads', 'processes'];
    case 'range': return [];
  }
}

export const segmentKey = ({process, hook}: Pick<SegmentTotals|HookTotals, 'process'|'hook'>): string => `${process}/${hook}`;
export const waitKey = ({process, state, by, by_thread: thread, call}: WaitTotals): string => `${process}/${state}/${by}/${thread}/${call}`;

export function keysOf(data: Aggregate, table: Table): string[] {
  switch (table) {
    case 'processes': return data.processes.map(({process}) => `p${process}`);
    case 'threads': return (data.threads ?? []).map(({thread}) => `t${thread}`);
    case 'segments': return data.segments.map(segmentKey);
    case 'hooks': return data.hooks.map(segmentKey);
    case 'waits': return (data.waits ?? []).map(waitKey);
    case 'cpus': return [];
  }
}

// By its key; null: it is not among the rows.
export function selectedRow(data: Aggregate, table: Table, selected: Selected, wait: WaitAnswer|null): string|null {
  const {process, thread, hook} = selected;
  if (process === null || !tablesOf(selected).includes(table)) return null;
  const key = table === 'waits' ? wait && waitRow(data.waits ?? [], process, wait) :
      table === 'processes' ? `p${process}` : table === 'threads' ? `t${thread}` : segmentKey({process, hook: hook ?? -1});
  return key !== null && keysOf(data, table).includes(key) ? key : null;
}

// A wait is in the row of what ended it, or, of a wait for a CPU, of what had
// the CPU longest.
function waitRow(rows: readonly WaitTotals[], process: number, wait: WaitAnswer): string|null {
  const alike = rows.filter((row) => row.process === process && row.state === wait.state && (wait.state === 'waiting' || row.call === wait.call));
  const had: [by: string, thread: number|null, ns: number][] = [
    ...wait.holders.map(({thread, ns}): [string, number, number] => ['thread', thread, ns]),
    ['interrupts', null, wait.interrupts_ns], ['idle', null, wait.idle_ns], ['outside', null, wait.outside_ns],
    ['throttled', null, wait.throttled_ns], ['not_known', null, wait.unknown_ns],
  ];
  const causes = wait.state === 'blocked' ? [[wait.woken_by, wait.waker] as const] : had.sort((a, b) => b[2] - a[2]);
  for (const [by, thread] of causes) {
    const row = alike.find((one) => one.by === by && (by !== 'thread' || one.by_thread === thread));
    if (row) return waitKey(row);
  }
  const other = rows.find((row) => row.process === process && row.state === wait.state && row.by === 'other');
  return other ? waitKey(other) : null;
}
