// The lane that the keyboard is at, and the order of processes.

import type {Core} from '../../core/core';
import type {LaneCommands} from './lane_commands';
import type {Lane} from './lanes';
import type {Rows} from './rows';
import {processName} from '../../core/names';

const MARGIN = 8; // px around the lane with the focus

// So many lanes down from the one with the focus, else to the first in sight; to
// the last one at most.
export function moveFocus(core: Core, rows: Rows, step: number): void {
  const lanes = rows.lanes.value;
  const at = lanes.findIndex((lane) => lane.id === core.focus.lane.value);
  const first = lanes.findIndex((lane) => rows.topOf(lane) >= 0);
  const next = lanes[at < 0 && Number.isFinite(step) ? Math.max(first, 0) : Math.min(Math.max(at + step, 0), lanes.length - 1)];
  if (!next) return;
  core.focus.pointer.value = null; // the keyboard is in use
  core.focus.lane.value = next.id;
  core.announce(describeLane(next));
  if (next.stuck) return;
  const below = rows.topOf(next) + next.height + MARGIN - core.view.height.value;
  const above = rows.topOf(next) - MARGIN - rows.stuckPx.value;
  if (above < 0) core.view.scroll(above);
  else if (below > 0) core.view.scroll(Math.min(below, above));
}

function describeLane(lane: Lane): string {
  const state = lane.fold ? `, ${lane.fold.open ? 'open' : 'closed'}` : lane.toggle ? `, ${lane.toggle.open ? 'open' : 'closed'}${lane.toggle.pinned ? ', pinned' : ''}` :
      lane.kind === 'fold' ? ', Enter shows them' : '';
  return `${lane.label} ${lane.detail}`.trim() + state;
}

// Processes in the order of their lanes.
export function processOrder(rows: Rows): number[] {
  return rows.lanes.value.filter((lane) => lane.toggle !== null).map((lane) => lane.process);
}

// Puts a process before another one, null: after all. All above it are pinned,
// too: only they have a fixed order.
export function placeProcess(core: Core, rows: Rows, process: number, before: number|null): void {
  if (process === before) return;
  const rest = processOrder(rows).filter((other) => other !== process);
  const found = before === null ? rest.length : rest.indexOf(before);
  const at = found < 0 ? rest.length : found;
  const tree = rows.tree.value;
  const kept = tree.pinned.filter((other) => other !== process && !rest.slice(0, at).includes(other));
  rows.tree.value = {...tree, pinned: [...rest.slice(0, at), process, ...kept]};
  core.announce(`${processName(core.names, process)} is number ${at + 1}`);
}

// One place up or down.
export function moveProcess(core: Core, rows: Rows, commands: LaneCommands, step: 1|-1): void {
  const process = commands.processMeant();
  const order = processOrder(rows);
  const at = process === null ? -1 : order.indexOf(process);
  if (process === null || at < 0 || at + step < 0 || at + step >= order.length) return;
  placeProcess(core, rows, process, order[step < 0 ? at - 1 : at + 2] ?? null);
}
