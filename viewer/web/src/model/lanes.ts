// The vertical order of what is drawn: lanes from rows. Pure.

import {type Names, processName, processOf, threadName} from './names';

export interface SubRow {
  row: number;
  kind: 'cpu'|'interrupts'|'run'|'segment'|'hook'|'counter';
  process: number; // of a thread's rows; else -1
  y: number; // from the lane's top
  height: number;
}
export interface Lane {
  id: string;
  kind: 'heading'|'cpu'|'counter'|'thread';
  label: string;
  detail: string;
  owner: number; // CPU or thread
  y: number;
  height: number;
  rows: SubRow[];
}

const HEADING = 26;
const CPU = 22;
const INTERRUPTS = 3;
const COUNTER = 64;
const RUN = 13;
const SEGMENT = 17;
const HOOK = 9;
const PAD = 5;
const MAX_DEPTH_SHOWN = 32;

export interface CounterChoice {
  event: number;
  cpu: number; // -1: sum over all CPUs
}

export function counterRow(names: Names, choice: CounterChoice): number {
  return names.trace.counter_rows_from +
      choice.event * (names.trace.cpus + 1) + choice.cpu + 1;
}

export function layOut(names: Names, counter: CounterChoice): Lane[] {
  const lanes: Lane[] = [];
  let y = 0;
  const add = (lane: Omit<Lane, 'y'>): void => {
    lanes.push({...lane, y});
    y += lane.height;
  };
  const heading = (id: string, label: string, detail: string): void =>
      add({id, kind: 'heading', label, detail, owner: -1, height: HEADING, rows: []});

  const cpus = names.rows.filter((row) => row.kind === 'cpu');
  if (cpus.length > 0) {
    heading('cpus', 'CPUs', 'who runs where');
    const interrupts = new Map(
        names.rows.filter((row) => row.kind === 'interrupts' && row.leaves > 0)
            .map((row) => [row.owner, row.row]));
    for (const row of cpus) {
      const line = interrupts.get(row.owner);
      const parts: SubRow[] = line === undefined ? [] :
          [{row: line, kind: 'interrupts', process: -1, y: 1, height: INTERRUPTS}];
      const top = 1 + (interrupts.size > 0 ? INTERRUPTS + 1 : 0);
      parts.push({row: row.row, kind: 'cpu', process: -1, y: top, height: CPU});
      add({
        id: `cpu${row.owner}`,
        kind: 'cpu',
        label: `CPU ${row.owner}`,
        detail: '',
        owner: row.owner,
        height: top + CPU + 3,
        rows: parts,
      });
    }
  }
  if (names.events.length > 0 && cpus.length > 0) {
    heading('counters', 'Counter', 'rate over time');
    add({
      id: 'counter',
      kind: 'counter',
      label: names.events[counter.event] ?? '',
      detail: counter.cpu < 0 ? 'all CPUs' : `CPU ${counter.cpu}`,
      owner: counter.event,
      height: COUNTER,
      rows: [{row: counterRow(names, counter), kind: 'counter', process: -1, y: 3, height: COUNTER - 6}],
    });
  }

  const byThread = new Map<number, typeof names.rows>();
  for (const row of names.rows) {
    if (row.kind !== 'run' && row.kind !== 'segment' && row.kind !== 'hook') {
      continue;
    }
    const list = byThread.get(row.owner);
    if (list) list.push(row);
    else byThread.set(row.owner, [row]);
  }
  // Threads with segments first; else the server's order, by on-CPU time.
  const order = [...byThread.keys()];
  const hooked = (thread: number): boolean =>
      byThread.get(thread)?.some((row) => row.kind !== 'run') ?? false;
  order.sort((a, b) => Number(hooked(b)) - Number(hooked(a)));
  if (order.length > 0) {
    heading('threads', 'Threads', `${order.length} on record`);
  }
  for (const thread of order) {
    const rows = byThread.get(thread) ?? [];
    const process = processOf(names, thread);
    const parts: SubRow[] = [];
    let at = PAD;
    for (const row of rows) {
      if (row.kind !== 'run') continue;
      parts.push({row: row.row, kind: 'run', process, y: at, height: RUN});
      at += RUN + 2;
    }
    for (const row of rows) {
      if (row.kind !== 'hook') continue;
      parts.push({row: row.row, kind: 'hook', process, y: at, height: HOOK});
      at += HOOK + 1;
    }
    for (const row of rows) {
      if (row.kind !== 'segment' || row.depth >= MAX_DEPTH_SHOWN) continue;
      parts.push({row: row.row, kind: 'segment', process, y: at + row.depth * SEGMENT, height: SEGMENT - 1});
    }
    const depth = rows.reduce(
        (most, row) => row.kind === 'segment' ?
            Math.max(most, Math.min(row.depth + 1, MAX_DEPTH_SHOWN)) : most,
        0);
    const item = names.threads.get(thread);
    const detail = item && item.tid !== item.pid ?
        `of ${processName(names, item.process)} ${item.pid}` : '';
    add({
      id: `thread${thread}`,
      kind: 'thread',
      label: threadName(names, thread),
      detail,
      owner: thread,
      height: Math.max(at + depth * SEGMENT + PAD, detail === '' ? 24 : 38),
      rows: parts,
    });
  }
  return lanes;
}

export function totalHeight(lanes: readonly Lane[]): number {
  const last = lanes[lanes.length - 1];
  return last ? last.y + last.height : 0;
}

// Lanes that touch [top, bottom), by bisection: there may be ten thousand.
export function visibleLanes(
    lanes: readonly Lane[], top: number, bottom: number): Lane[] {
  let low = 0;
  let high = lanes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const lane = lanes[middle];
    if (lane && lane.y + lane.height <= top) low = middle + 1;
    else high = middle;
  }
  const seen: Lane[] = [];
  for (let i = low; i < lanes.length; ++i) {
    const lane = lanes[i];
    if (!lane || lane.y >= bottom) break;
    seen.push(lane);
  }
  return seen;
}
