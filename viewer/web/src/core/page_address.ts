// What the page shows as a fragment of its address, and back (url_hash.ts).

import type {Growth} from '../api/schema';
import type {AppModel} from './app_model';
import {FOLLOWS} from './follow';
import type {Tree} from '../timeline/rows/process_lanes';
import {TABS} from '../tables/range_tables';
import {STEP_KINDS} from '../replay/stepping';
import {decodeHash, encodeHash, type SavedView} from './url_hash';
import * as viewport from './viewport';

// What is shown, as a fragment of the page's address.
export function addressOf(model: AppModel): string {
  const view = model.view.value;
  const range = model.selection.value;
  const play = model.playback.value;
  const counter = model.counter.value;
  const tree = model.tree.value;
  return encodeHash({
    from: view.startNs,
    to: viewport.endNs(view),
    y: model.scrollY.value,
    t: Math.floor(play.at),
    event: counter.event,
    cpu: counter.cpu,
    speed: play.speed,
    opened: [...tree.opened],
    closed: [...tree.closed],
    shown: [...tree.shown],
    allThreads: [...tree.allThreads],
    unfolded: tree.unfolded,
    handlers: tree.handlers,
    pinned: [...tree.pinned],
    hidden: [...tree.hidden],
    tab: model.tables.tab.value,
    steps: model.stepKind.value,
    follow: model.follow.value,
    loop: model.loop.value,
    skipIdle: model.skipIdle.value,
    byEvents: model.byEvents.value,
    safePalette: model.safePalette.value,
    ...(model.focus.value !== null ? {focus: model.focus.value} : {}),
    ...(model.filter.value !== '' ? {filter: model.filter.value} : {}),
    rare: [...model.rare.chosen.value],
    ...(model.item.value !== null ? {item: model.item.value} : {}),
    ...(range ? {selection: [range.from, range.to] as [number, number]} : {}),
    ...(model.comparison.before.value ?
            {compared: [model.comparison.before.value.from, model.comparison.before.value.to] as [number, number]} : {}),
    ...(model.highlight.value !== null ? {process: model.highlight.value} : {}),
    ...(model.functions.thread.value !== null ? {thread: model.functions.thread.value} : {}),
  });
}

// The same in an index of more of the trace: what shows all of it, does so
// again. Its rows have other numbers.
export function addressWhenLonger(model: AppModel): string {
  const saved = decodeHash(addressOf(model));
  delete saved.item;
  const view = model.view.value;
  if (view.startNs <= 0 && viewport.endNs(view) >= model.durationNs) {
    delete saved.from;
    delete saved.to;
  }
  return encodeHash(saved);
}

// What a page that follows a recording shows of it at first.
const LIVE_WINDOW_NS = 10e9;

// A page that shows the end of a recording goes on to do so.
export function isAtEnd(model: AppModel): boolean {
  return model.playback.value.at >= model.durationNs - 1 && viewport.endNs(model.view.value) >= model.durationNs - 1;
}

// Where a page begins that has no address of its own.
export function firstAddress(growth: Growth): string {
  if (!growth.live) return '';
  const to = growth.duration_ns;
  return encodeHash({from: Math.max(to - LIVE_WINDOW_NS, 0), to, t: to});
}

// The address of the same page, `model`, `durationNs` after the recording's begin. All of it stays all, from the first
// seconds on.
export function addressAtEnd(model: AppModel, durationNs: number): string {
  const saved = decodeHash(addressOf(model));
  delete saved.item;
  const view = model.view.value;
  const all = view.startNs <= 0;
  const span = all && model.durationNs <= LIVE_WINDOW_NS ? LIVE_WINDOW_NS : viewport.endNs(view) - view.startNs;
  saved.to = saved.t = durationNs;
  saved.from = all && model.durationNs > LIVE_WINDOW_NS ? 0 : Math.max(durationNs - span, 0);
  return encodeHash(saved);
}

// Shows what a fragment says; what it leaves out stays.
export function restore(model: AppModel, hash: string): void {
  const saved = decodeHash(hash);
  if (saved.from !== undefined && saved.to !== undefined) model.setWindow(saved.from, saved.to);
  model.tree.value = treeOf(saved);
  model.scrollY.value = saved.y ?? 0;
  model.scroll(0);
  model.highlight.value = saved.process ?? null;
  model.functions.thread.value = saved.thread ?? null;
  model.focus.value = saved.focus ?? null;
  model.filter.value = saved.filter ?? '';
  model.selection.value = saved.selection ? {from: saved.selection[0], to: saved.selection[1]} : null;
  model.rare.chosen.value = saved.rare ?? [];
  model.item.value = saved.item ?? null;
  model.comparison.before.value = saved.compared ? {from: saved.compared[0], to: saved.compared[1]} : null;
  restoreReplay(model, saved);
  if (saved.t !== undefined) model.movePlayhead(saved.t);
}

// What a link says of the replay and the tables; what it leaves out stays.
export function restoreReplay(model: AppModel, saved: SavedView): void {
  const one = <T extends string>(all: readonly T[], word: string|undefined): T|undefined => all.find((known) => known === word);
  model.stepKind.value = one(STEP_KINDS, saved.steps) ?? model.stepKind.value;
  model.follow.value = one(FOLLOWS, saved.follow) ?? model.follow.value;
  model.loop.value = saved.loop ?? false;
  model.skipIdle.value = saved.skipIdle ?? false;
  model.byEvents.value = saved.byEvents ?? false;
  const tab = one(TABS, saved.tab);
  if (tab !== undefined && tab !== model.tables.tab.value) model.tables.show(tab);
}

export function treeOf(saved: SavedView): Tree {
  return {
    opened: new Set(saved.opened ?? []),
    closed: new Set(saved.closed ?? []),
    shown: new Set(saved.shown ?? []),
    allThreads: new Set(saved.allThreads ?? []),
    unfolded: saved.unfolded ?? 0,
    handlers: saved.handlers ?? false,
    pinned: saved.pinned ?? [],
    hidden: new Set(saved.hidden ?? []),
  };
}
