// The vertical order of what is drawn: CPUs, counters, then processes and their
// threads (process_lanes.ts). Pure.

import type {Branches, ProcessBranch, ThreadBranch} from '../../api/schema';
import {isTimeEvent} from '../../core/units';
import {type AddOfMachine, type Lane, type NewLane, SEGMENT, type SubRow} from './lane_parts';
import type {Names} from '../../core/names';
import {addLevelLanes} from './level_lanes';
import {addRequestLanes, requestLane, type RequestRows} from './request_lanes';
import {addProcessLanes, CLOSED_TREE, heavyIn, type Tree} from './process_lanes';

export type {Lane, RequestLane, SubRow} from './lane_parts';

const CPU = 22;
const INTERRUPTS = 3;
const HEAT = 6; // of a CPU, where there are many
const COUNTER = 64;
const FOLDED_COUNTER = 46;
const SMALL_COUNTER = 30;
const TREE = 46;
const FEW_CPUS = 8; // more fold by themselves
const FEW_COUNTERS = 4;
const STUCK_MOST = 0.4; // of the height, for what stays at the top

export interface CounterChoice {
  event: number;
  cpu: number; // -1: sum over all CPUs
}

export interface NamedTree {
  name: string;
  title: string;
}

export function counterRow(names: Names, choice: CounterChoice): number {
  return names.trace.counter_rows_from +
      choice.event * (names.trace.cpus + 1) + choice.cpu + 1;
}

// Before the processes are known, only the machine has lanes. These stay at the
// top while they take little of `height`, that of the rows in sight.
export function layOut(
    names: Names, counter: CounterChoice, tree: Tree = CLOSED_TREE,
    processes: Branches<ProcessBranch>|null = null,
    threads: ReadonlyMap<number, Branches<ThreadBranch>> = new Map(), height = 0, trees: readonly NamedTree[] = [],
    requests: RequestRows|null = null): Lane[] {
  const lanes: Lane[] = [];
  let y = 0;
  const place = (lane: NewLane): void => {
    lanes.push({...lane, y});
    y += lane.height;
  };
  const add: AddOfMachine = (lane) => place({...lane, toggle: null, process: -1});

  if (requests?.chosen) place(requestLane(requests.chosen, true));
  const top = y;
  if (names.rows.some((row) => row.kind === 'cpu')) {
    addCpuLanes(names, tree, add);
    if (names.events.length > 0) addCounterLanes(names, counter, tree, add);
  }
  addLevelLanes(names, tree, add);
  for (const {name, title} of trees) {
    add({
      id: `tree-${name}`, kind: 'tree', label: name, detail: title.startsWith(`${name}: `) ? title.slice(name.length + 2) : title,
      owner: -1, height: TREE, rows: [],
    });
  }
  if (y - top <= STUCK_MOST * height) for (const lane of lanes) lane.stuck = true;
  if (requests) addRequestLanes(requests, tree.requests !== false, place);
  if (processes && processes.of > 0) {
    addProcessLanes(names, processes, threads, tree, heavyIn(height, names.trace.processes), place);
  }
  return lanes;
}

function addCpuLanes(names: Names, tree: Tree, add: AddOfMachine): void {
  const cpus = names.rows.filter((row) => row.kind === 'cpu');
  const open = tree.cpus ?? cpus.length <= FEW_CPUS;
  if (cpus.length > 1) {
    add({
      id: 'machine', kind: 'cpu', label: 'All CPUs', detail: open ? '' : `${cpus.length} CPUs`, owner: -1, height: CPU + 4,
      rows: [{row: names.trace.machine_row, kind: 'cpu', process: -1, y: 1, height: CPU}], fold: {of: 'cpus', open},
    });
    if (!open) return;
  }
  const interrupts = new Map(
      names.rows.filter((row) => row.kind === 'interrupts' && row.leaves > 0)
          .map((row) => [row.owner, row.row]));
  for (const row of cpus) {
    const label = {id: `cpu${row.owner}`, kind: 'cpu' as const, label: `CPU ${row.owner}`, detail: '', owner: row.owner};
    const depths = tree.handlers ? names.rows.filter((item) => item.kind === 'handler' && item.owner === row.owner) : [];
    if (cpus.length > FEW_CPUS && depths.length === 0) {
      add({...label, height: HEAT, rows: [{row: row.row, kind: 'cpu', process: -1, y: 0, height: HEAT - 1}]});
      continue;
    }
    const line = interrupts.get(row.owner);
    const parts: SubRow[] = line === undefined ? [] :
        [{row: line, kind: 'interrupts', process: -1, y: 1, height: INTERRUPTS}];
    const top = 1 + (interrupts.size > 0 ? INTERRUPTS + 1 : 0);
    parts.push({row: row.row, kind: 'cpu', process: -1, y: top, height: CPU});
    for (const {row: number, depth} of depths) {
      parts.push({row: number, kind: 'segment', process: -1, y: top + CPU + 2 + depth * SEGMENT, height: SEGMENT - 1});
    }
    add({...label, height: top + CPU + 3 + (depths.length > 0 ? 2 + depths.length * SEGMENT : 0), rows: parts});
  }
}

function addCounterLanes(names: Names, counter: CounterChoice, tree: Tree, add: AddOfMachine): void {
  // The clock of all CPUs together is constant.
  const others = [...names.events.entries()].filter(([event, name]) => event !== counter.event && !isTimeEvent(name));
  const open = tree.counters ?? names.events.length <= FEW_COUNTERS;
  const height = open ? COUNTER : FOLDED_COUNTER;
  add({
    id: 'counter', kind: 'counter', label: names.events[counter.event] ?? '', owner: counter.event,
    detail: counter.cpu < 0 ? 'all CPUs' : `CPU ${counter.cpu}`, height,
    rows: [{row: counterRow(names, counter), kind: 'counter', process: -1, y: 3, height: height - 6}],
    ...(others.length > 0 ? {fold: {of: 'counters', open}} : {}),
  });
  if (!open) return;
  for (const [event, name] of others) {
    add({
      id: `counter${event}`, kind: 'small-counter', label: name, detail: '', owner: event, height: SMALL_COUNTER,
      rows: [{row: counterRow(names, {event, cpu: counter.cpu}), kind: 'counter', process: -1, y: 2, height: SMALL_COUNTER - 4}],
    });
  }
}

export function totalHeight(lanes: readonly Lane[]): number {
  const last = lanes[lanes.length - 1];
  return last ? last.y + last.height : 0;
}

// Height of what stays at the top.
export function stuckHeight(lanes: readonly Lane[]): number {
  return lanes.reduce((sum, lane) => lane.stuck ? sum + lane.height : sum, 0);
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
