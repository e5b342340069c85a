// What the page shows as a fragment of its address, and back (url_hash.ts).

import type {AppModel} from './app_model';
import type {Tree} from './lanes';
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
    toggled: [...tree.toggled],
    unfolded: tree.unfolded,
    handlers: tree.handlers,
    inView: tree.inView,
    pinned: [...tree.pinned],
    hidden: [...tree.hidden],
    ...(range ? {selection: [range.from, range.to] as [number, number]} : {}),
    ...(model.highlight.value !== null ? {process: model.highlight.value} : {}),
  });
}

// The same in an index of more of the trace: what shows all of it, does so
// again.
export function addressWhenLonger(model: AppModel): string {
  const saved = decodeHash(addressOf(model));
  const view = model.view.value;
  if (view.startNs <= 0 && viewport.endNs(view) >= model.durationNs) {
    delete saved.from;
    delete saved.to;
  }
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
  model.selection.value = saved.selection ? {from: saved.selection[0], to: saved.selection[1]} : null;
  if (saved.t !== undefined) model.movePlayhead(saved.t);
}

export function treeOf(saved: SavedView): Tree {
  return {
    toggled: new Set(saved.toggled ?? []),
    unfolded: saved.unfolded ?? false,
    handlers: saved.handlers ?? false,
    inView: saved.inView ?? false,
    pinned: saved.pinned ?? [],
    hidden: new Set(saved.hidden ?? []),
  };
}
