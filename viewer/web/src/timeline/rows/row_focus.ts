// The lane that the keyboard is at, and the order of processes.

import type {AppModel} from '../../core/app_model';
import type {Lane} from './lanes';
import {processName} from '../../core/names';

const MARGIN = 8; // px around the lane with the focus

// So many lanes down from the one with the focus, else to the first in sight; to
// the last one at most.
export function moveFocus(model: AppModel, step: number): void {
  const lanes = model.lanes.value;
  const top = model.scrollY.value;
  const at = lanes.findIndex((lane) => lane.id === model.focus.value);
  const first = lanes.findIndex((lane) => lane.y >= top);
  const next = lanes[at < 0 && Number.isFinite(step) ? Math.max(first, 0) : Math.min(Math.max(at + step, 0), lanes.length - 1)];
  if (!next) return;
  model.hover.value = null; // the keyboard is in use
  model.focus.value = next.id;
  model.announcement.value = describeLane(next);
  const below = next.y + next.height + MARGIN - top - model.viewHeight.value;
  const above = next.y - MARGIN - top;
  if (above < 0) model.scroll(above);
  else if (below > 0) model.scroll(Math.min(below, above));
}

function describeLane(lane: Lane): string {
  const state = lane.toggle ? `, ${lane.toggle.open ? 'open' : 'closed'}${lane.toggle.pinned ? ', pinned' : ''}` :
      lane.kind === 'fold' ? ', Enter shows them' : '';
  return `${lane.label} ${lane.detail}`.trim() + state;
}

// Processes in the order of their lanes.
export function processOrder(model: AppModel): number[] {
  return model.lanes.value.filter((lane) => lane.toggle !== null).map((lane) => lane.process);
}

// Puts a process before another one, null: after all. All above it are pinned,
// too: only they have a fixed order.
export function placeProcess(model: AppModel, process: number, before: number|null): void {
  if (process === before) return;
  const rest = processOrder(model).filter((other) => other !== process);
  const found = before === null ? rest.length : rest.indexOf(before);
  const at = found < 0 ? rest.length : found;
  const tree = model.tree.value;
  const kept = tree.pinned.filter((other) => other !== process && !rest.slice(0, at).includes(other));
  model.tree.value = {...tree, pinned: [...rest.slice(0, at), process, ...kept]};
  model.announcement.value = `${processName(model.names, process)} is number ${at + 1}`;
}

// One place up or down.
export function moveProcess(model: AppModel, step: 1|-1): void {
  const process = model.rows.processMeant();
  const order = processOrder(model);
  const at = process === null ? -1 : order.indexOf(process);
  if (process === null || at < 0 || at + step < 0 || at + step >= order.length) return;
  placeProcess(model, process, order[step < 0 ? at - 1 : at + 2] ?? null);
}
