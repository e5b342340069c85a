// The vertical order of what is drawn: lanes from rows. Threads are in groups by
// process, which open and close. Pure.

import type {RowItem} from '../api/schema';
import {formatCount, formatPercent, isTimeEvent} from '../units';
import {type Names, processName, processOf, threadName} from './names';

export interface SubRow {
  row: number;
  kind: 'cpu'|'interrupts'|'run'|'process'|'segment'|'hook'|'counter';
  process: number; // of a thread's and a process's rows; else -1
  full?: number; // of a process: threads that fill the height
  y: number; // from the lane's top
  height: number;
}
export interface Lane {
  id: string;
  kind: 'heading'|'cpu'|'counter'|'small-counter'|'process'|'thread'|'fold';
  // A process that opens and closes, of this lane; else null.
  toggle: {process: number; open: boolean; pinned: boolean}|null;
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
const SMALL_COUNTER = 30;
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

// `inView`: CPU time of the processes that ran in the window, if only these are
// wanted.
export function layOut(
    names: Names, counter: CounterChoice, tree: Tree = CLOSED_TREE,
    inView: ReadonlyMap<number, number>|null = null): Lane[] {
  const lanes: Lane[] = [];
  let y = 0;
  const add = (lane: Omit<Lane, 'y'|'toggle'>, toggle: Lane['toggle'] = null): void => {
    lanes.push({...lane, toggle, y});
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
    if (cpus.length > 1) {
      add({
        id: 'machine',
        kind: 'cpu',
        label: 'All CPUs',
        detail: '',
        owner: -1,
        height: CPU + 4,
        rows: [{row: names.trace.machine_row, kind: 'cpu', process: -1, y: 1, height: CPU}],
      });
    }
    for (const row of cpus) {
      const line = interrupts.get(row.owner);
      const parts: SubRow[] = line === undefined ? [] :
          [{row: line, kind: 'interrupts', process: -1, y: 1, height: INTERRUPTS}];
      const top = 1 + (interrupts.size > 0 ? INTERRUPTS + 1 : 0);
      parts.push({row: row.row, kind: 'cpu', process: -1, y: top, height: CPU});
      const depths = tree.handlers ? names.rows.filter((item) => item.kind === 'handler' && item.owner === row.owner) : [];
      for (const {row: number, depth} of depths) {
        parts.push({row: number, kind: 'segment', process: -1, y: top + CPU + 2 + depth * SEGMENT, height: SEGMENT - 1});
      }
      add({
        id: `cpu${row.owner}`,
        kind: 'cpu',
        label: `CPU ${row.owner}`,
        detail: '',
        owner: row.owner,
        height: top + CPU + 3 + (depths.length > 0 ? 2 + depths.length * SEGMENT : 0),
        rows: parts,
      });
    }
  }
  if (names.events.length > 0 && cpus.length > 0) {
    heading('counters', 'Counters', 'rates over time');
    add({
      id: 'counter',
      kind: 'counter',
      label: names.events[counter.event] ?? '',
      detail: counter.cpu < 0 ? 'all CPUs' : `CPU ${counter.cpu}`,
      owner: counter.event,
      height: COUNTER,
      rows: [{row: counterRow(names, counter), kind: 'counter', process: -1, y: 3, height: COUNTER - 6}],
    });
    // The clock of all CPUs together is constant.
    for (const [event, name] of names.events.entries()) {
      if (event === counter.event || isTimeEvent(name)) continue;
      add({
        id: `counter${event}`,
        kind: 'small-counter',
        label: name,
        detail: '',
        owner: event,
        height: SMALL_COUNTER,
        rows: [{row: counterRow(names, {event, cpu: counter.cpu}), kind: 'counter', process: -1, y: 2, height: SMALL_COUNTER - 4}],
      });
    }
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
  const groups = groupByProcess(names, byThread);
  if (byThread.size > 0) {
    heading('threads', 'Processes', `${formatCount(byThread.size)} threads`);
  }
  const open = openProcesses(groups, tree);
  const {shown, folded} = fold(groups, open, tree, tree.inView ? inView : null);
  for (const group of shown) {
    const isOpen = open.has(group.process);
    const toggle = {process: group.process, open: isOpen, pinned: tree.pinned.includes(group.process)};
    if (group.threads.length > 1) add(processLane(names, group, isOpen), toggle);
    if (group.threads.length > 1 && !isOpen) continue;
    for (const thread of group.threads) {
      const lane = threadLane(names, byThread.get(thread) ?? [], thread, isOpen);
      add(lane, group.threads.length > 1 ? null : toggle);
    }
  }
  if (folded.length > 0) {
    const ns = (group: Group): number =>
        tree.inView && inView ? inView.get(group.process) ?? 0 : group.onCpuNs;
    const all = groups.reduce((sum, group) => sum + ns(group), 0);
    const rest = folded.reduce((sum, group) => sum + ns(group), 0);
    add({
      id: 'folded',
      kind: 'fold',
      label: `${formatCount(folded.length)} more`,
      detail: all > 0 ? `${formatPercent(rest / all)} of the CPU time${tree.inView ? ' in view' : ''}` : '',
      owner: -1,
      height: 38,
      rows: [],
    });
  }
  return lanes;
}

// What the user opened and closed, on top of what is open by itself.
export interface Tree {
  toggled: ReadonlySet<number>; // processes
  unfolded: boolean; // the light processes are shown too
  pinned: readonly number[]; // processes that come first, in this order
  hidden: ReadonlySet<number>; // processes that fold whatever they used
  handlers: boolean; // interrupts are shown under their CPUs
  inView: boolean; // processes that do not run in the window fold
}
export const CLOSED_TREE: Tree = {toggled: new Set(), unfolded: false, pinned: [], hidden: new Set(), handlers: false, inView: false};

interface Group {
  process: number;
  threads: number[]; // with the most CPU time first
  onCpuNs: number;
  hooked: boolean; // has hooks of its own program
}

const OPEN_HEAVY = 3; // processes that are open by themselves
const FOLD_BELOW = 0.002; // of the CPU time
const KEEP = 12; // processes that are never folded

type RowsByThread = ReadonlyMap<number, readonly RowItem[]>;

// Processes with hooks of their own first, then by CPU time.
function groupByProcess(names: Names, byThread: RowsByThread): Group[] {
  const groups = new Map<number, Group>();
  const onCpu = (thread: number): number => names.threads.get(thread)?.on_cpu_ns ?? 0;
  for (const thread of byThread.keys()) {
    const process = processOf(names, thread);
    const group = groups.get(process) ??
        {process, threads: [], onCpuNs: 0, hooked: names.hooked.has(process)};
    group.threads.push(thread);
    group.onCpuNs += onCpu(thread);
    groups.set(process, group);
  }
  // The sorts are stable: equal ones stay in the server's order.
  const order = [...groups.values()];
  for (const group of order) {
    group.threads.sort((a, b) => Number(hasCalls(byThread, b)) - Number(hasCalls(byThread, a)) || onCpu(b) - onCpu(a));
  }
  return order.sort((a, b) => Number(b.hooked) - Number(a.hooked) || b.onCpuNs - a.onCpuNs);
}

function hasCalls(byThread: RowsByThread, thread: number): boolean {
  return byThread.get(thread)?.some((row) => row.kind !== 'run') ?? false;
}

function openProcesses(groups: readonly Group[], tree: Tree): Set<number> {
  const heavy = [...groups].sort((a, b) => b.onCpuNs - a.onCpuNs).slice(0, OPEN_HEAVY);
  const open = new Set<number>();
  for (const group of groups) {
    const byItself = group.hooked || heavy.includes(group);
    if (byItself !== tree.toggled.has(group.process)) open.add(group.process);
  }
  return open;
}

// Pinned ones come first, and never fold.
function fold(
    groups: readonly Group[], open: ReadonlySet<number>, tree: Tree, inView: ReadonlyMap<number, number>|null):
    {shown: Group[]; folded: Group[]} {
  const {pinned, hidden, unfolded} = tree;
  const all = groups.reduce((sum, group) => sum + group.onCpuNs, 0);
  const first = pinned.flatMap((process) => groups.find((group) => group.process === process) ?? []);
  const folded = groups.filter((group, rank) => !first.includes(group) &&
      (hidden.has(group.process) ||
       inView !== null && (inView.get(group.process) ?? 0) === 0 ||
       inView === null && !unfolded && rank >= KEEP && !open.has(group.process) && group.onCpuNs < FOLD_BELOW * all));
  const rest = new Set([...first, ...folded]);
  return {shown: [...first, ...groups.filter((group) => !rest.has(group))], folded};
}

type NewLane = Omit<Lane, 'y'|'toggle'>;

// A closed process shows what its threads do together.
function processLane(names: Names, group: Group, open: boolean): NewLane {
  const {process, threads} = group;
  return {
    id: `process${process}`,
    kind: 'process',
    label: `${processName(names, process)} ${names.processes.get(process)?.pid ?? ''}`,
    detail: open ? '' : `${threads.length} threads`,
    owner: process,
    height: open ? HEADING : 38,
    rows: open ? [] : [{
      row: names.trace.machine_row + 1 + process,
      kind: 'process',
      process,
      y: PAD,
      height: 38 - 2 * PAD,
      full: Math.min(threads.length, names.trace.cpus),
    }],
  };
}

function threadLane(names: Names, rows: readonly RowItem[], thread: number, open: boolean): NewLane {
  const item = names.threads.get(thread);
  const detail = item && item.tid !== item.pid ?
      `of ${processName(names, item.process)} ${item.pid}` : '';
  const process = processOf(names, thread);
  const parts: SubRow[] = [];
  let at = PAD;
  for (const row of rows) {
    if (row.kind !== 'run') continue;
    parts.push({row: row.row, kind: 'run', process, y: at, height: RUN});
    at += RUN + 2;
  }
  const calls = open ? rows : [];
  for (const row of calls) {
    if (row.kind !== 'hook') continue;
    parts.push({row: row.row, kind: 'hook', process, y: at, height: HOOK});
    at += HOOK + 1;
  }
  for (const row of calls) {
    if (row.kind !== 'segment' || row.depth >= MAX_DEPTH_SHOWN) continue;
    parts.push({row: row.row, kind: 'segment', process, y: at + row.depth * SEGMENT, height: SEGMENT - 1});
  }
  const depth = calls.reduce(
      (most, row) => row.kind === 'segment' ?
          Math.max(most, Math.min(row.depth + 1, MAX_DEPTH_SHOWN)) : most,
      0);
  return {
    id: `thread${thread}`,
    kind: 'thread',
    label: threadName(names, thread),
    detail,
    owner: thread,
    height: Math.max(at + depth * SEGMENT + PAD, detail === '' ? 24 : 38),
    rows: parts,
  };
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
