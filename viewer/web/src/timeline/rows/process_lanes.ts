// The lanes of processes and threads, from what the server has for the window.
// Pure.

import type {Branches, ProcessBranch, ThreadBranch} from '../../api/schema';
import {formatCount, formatPercent} from '../../core/units';
import {HEADING, type NewLane, PAD, SEGMENT, STACK_ROW_PX, STACK_ROWS, type SubRow} from './lane_parts';
import {type Names, processName, threadName} from '../../core/names';

// What the user chose, on top of what is shown by itself.
export interface Tree {
  opened: ReadonlySet<number>; // processes
  closed: ReadonlySet<number>;
  unfolded: number; // pages of the light and idle processes that are shown, too
  pinned: readonly number[]; // processes that come first, in this order
  hidden: ReadonlySet<number>; // processes that fold whatever they used
  shown: ReadonlySet<number>; // processes that do not fold: they were looked for
  allThreads: ReadonlySet<number>; // processes whose idle threads are shown
  handlers: boolean; // interrupts are shown under their CPUs
  cpus: boolean|null; // whether each has a lane; null: if they are few
  counters: boolean|null;
  levels: boolean|null;
  requests: boolean|null; // null: they are shown
  moreRequests: number; // pages of shorter ones that are shown, too
  stacks: boolean; // sampled ones are shown under their threads
}
export const CLOSED_TREE: Tree = {
  opened: new Set(), closed: new Set(), unfolded: 0, pinned: [], hidden: new Set(), shown: new Set(),
  allThreads: new Set(), handlers: false, cpus: null, counters: null, levels: null, requests: null, moreRequests: 0, stacks: false,
};

const OPEN_HEAVY = 3; // processes of the trace that are open by themselves,
const OPEN_PX = 180; // if there is room for their threads and for others
const OPEN_HOOKED = 24; // at most, of those with hooks of their own
const FOLD_BELOW = 0.002; // of the CPU time in the window
const KEEP = 12; // processes that run in the window and are never folded
const FEW_IDLE = 2; // idle threads that take no more room than a fold
const RUN = 13;
const HOOK = 9;
const MAX_DEPTH_SHOWN = 32;
const CLOSED_HEIGHT = 26;
const STACKS = STACK_ROWS * STACK_ROW_PX;

// How many of the heaviest are open by themselves in rows of this height; 0: no
// process is. One that is alone needs room for no others.
export function heavyIn(height: number, processes: number): number {
  return Math.min(Math.max(Math.round(height / OPEN_PX) - (processes === 1 ? 1 : 2), 0), OPEN_HEAVY);
}

export function openProcesses(
    items: readonly ProcessBranch[], tree: Tree, heaviest: readonly number[], most: number): Set<number> {
  const heavy = new Set(heaviest.slice(0, most));
  const open = new Set<number>();
  for (const {process, hooked, rank} of items) {
    const byItself = heavy.has(process) || hooked && rank < OPEN_HOOKED && most > 0;
    if (tree.opened.has(process) || byItself && !tree.closed.has(process)) open.add(process);
  }
  return open;
}

// In the order of `all`, but pinned ones come first, and never fold.
export function shownProcesses(all: Branches<ProcessBranch>, tree: Tree): ProcessBranch[] {
  const pinned = tree.pinned.flatMap((process) => all.items.find((item) => item.process === process) ?? []);
  const first = new Set(pinned.map((item) => item.process));
  const rest = all.items.filter((item) => {
    if (first.has(item.process) || tree.hidden.has(item.process)) return false;
    if (tree.unfolded > 0 || tree.shown.has(item.process) || item.kept) return true;
    // Those that a condition selects are shown, whatever they do.
    if (all.total < all.of && item.rank < KEEP) return true;
    return item.active && (item.rank < KEEP || item.hooked || item.window_ns >= FOLD_BELOW * all.window_ns);
  });
  return [...pinned, ...rest];
}

type Add = (lane: NewLane) => void;

export function addProcessLanes(
    names: Names, all: Branches<ProcessBranch>, threads: ReadonlyMap<number, Branches<ThreadBranch>>, tree: Tree,
    heavy: number, add: Add): void {
  const open = openProcesses(all.items, tree, names.trace.heaviest, heavy);
  const shown = shownProcesses(all, tree);
  for (const group of shown) {
    const isOpen = open.has(group.process);
    const toggle = {open: isOpen, pinned: tree.pinned.includes(group.process)};
    if (group.thread) {
      add({...withStacks(threadLane(names, group.thread, group.process, isOpen, false), isOpen, tree), toggle});
      continue;
    }
    add({...processLane(names, group, isOpen), toggle});
    const branches = isOpen ? threads.get(group.process) : undefined;
    if (branches) addThreadLanes(names, branches, group.process, tree, add);
  }
  const folded = all.total - shown.length;
  if (folded <= 0) return;
  const rest = all.window_ns - shown.reduce((sum, item) => sum + item.window_ns, 0);
  add({
    id: 'folded',
    kind: 'fold',
    label: `${formatCount(folded)} more`,
    detail: all.window_ns > 0 ? `${formatPercent(Math.max(rest, 0) / all.window_ns)} of the CPU time` : '',
    owner: -1,
    process: -1,
    height: CLOSED_HEIGHT,
    rows: [],
    toggle: null,
  });
}

function addThreadLanes(
    names: Names, branches: Branches<ThreadBranch>, process: number, tree: Tree, add: Add): void {
  const whole = tree.allThreads.has(process) || branches.total < branches.of ||
      branches.total - branches.active <= FEW_IDLE;
  const shown = branches.items.filter((item) => whole || item.active || item.kept);
  for (const branch of shown) add({...withStacks(threadLane(names, branch, process, true, true), true, tree), toggle: null});
  const folded = branches.total - shown.length;
  if (folded <= 0) return;
  const idle = branches.total - branches.active;
  add({
    id: `idle${process}`,
    kind: 'fold',
    label: folded === idle ? `${formatCount(folded)} idle ${folded === 1 ? 'thread' : 'threads'}` : `${formatCount(folded)} more threads`,
    detail: '',
    owner: process,
    process,
    height: 24,
    rows: [],
    toggle: null,
  });
}

// A closed process shows what its threads do together.
function processLane(names: Names, group: ProcessBranch, open: boolean): NewLane {
  const {process, threads} = group;
  return {
    id: `process${process}`,
    kind: 'process',
    label: `${processName(names, process)} ${names.process(process)?.pid ?? ''}`,
    detail: open ? '' : `${formatCount(threads)} threads`,
    owner: process,
    process,
    height: open ? HEADING : CLOSED_HEIGHT,
    rows: open ? [] : [{
      row: names.trace.machine_row + 1 + process,
      kind: 'process',
      process,
      y: PAD,
      height: CLOSED_HEIGHT - 2 * PAD,
      full: Math.min(threads, names.trace.cpus),
    }],
    toggle: null,
  };
}

// `grouped`: its process has a lane above it.
function threadLane(names: Names, branch: ThreadBranch, process: number, open: boolean, grouped: boolean): NewLane {
  const item = names.thread(branch.thread);
  const detail = item && item.tid !== item.pid && !grouped ?
      `of ${processName(names, item.process)} ${item.pid}` : '';
  const parts: SubRow[] = [];
  let at = PAD;
  for (const row of branch.rows) {
    if (row.kind !== 'run') continue;
    parts.push({row: row.row, kind: 'run', process, y: at, height: RUN});
    at += RUN + 2;
  }
  const calls = open ? branch.rows : [];
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
    id: `thread${branch.thread}`,
    kind: 'thread',
    label: threadName(names, branch.thread),
    detail,
    owner: branch.thread,
    process,
    height: Math.max(at + depth * SEGMENT + PAD, 24),
    rows: parts,
    toggle: null,
  };
}

// Room for the sampled stacks of a thread, below all else.
function withStacks(lane: NewLane, open: boolean, tree: Tree): NewLane {
  return open && tree.stacks ? {...lane, height: lane.height + STACKS, stacks: {y: lane.height - PAD, height: STACKS}} : lane;
}
