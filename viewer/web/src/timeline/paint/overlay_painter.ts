// The top layer: selection, loss, playhead and pointer. Repainted on every move
// without touching the tiles below.

import type {Tile} from '../../api/tile_decode';
import {toPx, type Viewport} from '../../core/viewport';
import type {Brush} from './brush';
import {css, type Theme} from '../../core/palette';

const HATCH_PX = 9;

export interface OverlayScene {
  view: Viewport;
  height: number;
  ratio: number;
  durationNs: number;
  selection: {from: number; to: number}|null;
  compared: {from: number; to: number}|null; // what the selection is compared with
  playhead: number;
  playing: boolean;
  pointerX: number|null;
  quality: Tile[];
  wait: WaitMark|null;
  item: (Extent&{from: number; to: number})|null; // selected, in pixels
}

// The selected wait, in pixels. Rows out of sight are null.
export interface WaitMark {
  from: number;
  to: number;
  row: Extent|null; // of the thread that waits
  cpu: Extent|null; // of the CPU that it waits for
  wakeUp: {at: number; waker: Extent|null}|null; // by a thread
}
export interface Extent {
  y: number;
  height: number;
}

export function paintOverlay(
    context: Brush, scene: OverlayScene, theme: Theme): void {
  const {view, height} = scene;
  context.setTransform(scene.ratio, 0, 0, scene.ratio, 0, 0);
  context.clearRect(0, 0, view.widthPx, height);

  // Outside the trace there is no data, which differs from idle.
  context.fillStyle = css(theme.line);
  context.globalAlpha = 0.55;
  const left = toPx(view, 0);
  const right = toPx(view, scene.durationNs);
  if (left > 0) context.fillRect(0, 0, left, height);
  if (right < view.widthPx) context.fillRect(right, 0, view.widthPx - right, height);
  context.globalAlpha = 1;

  const painted = new Set<number>();
  for (const tile of scene.quality) paintLoss(context, scene, tile, painted, theme);

  for (const [range, colour] of [[scene.compared, theme.muted], [scene.selection, theme.accent]] as const) {
    if (!range) continue;
    const a = toPx(view, range.from);
    const b = toPx(view, range.to);
    context.fillStyle = css(colour);
    context.globalAlpha = theme.dark ? 0.16 : 0.1;
    context.fillRect(a, 0, b - a, height);
    context.globalAlpha = 0.9;
    context.fillRect(Math.round(a) - 0.5, 0, 1, height);
    context.fillRect(Math.round(b) - 0.5, 0, 1, height);
    context.globalAlpha = 1;
    if (scene.compared) paintName(context, range === scene.compared ? 'before' : 'after', a, b, height);
  }
  if (scene.wait) paintWait(context, scene.wait, theme);
  else if (scene.item) paintFrame(context, scene.item.from, scene.item.to, scene.item, theme);
  if (scene.pointerX !== null) {
    context.fillStyle = css(theme.muted);
    context.globalAlpha = 0.45;
    context.fillRect(Math.round(scene.pointerX), 0, 1, height);
    context.globalAlpha = 1;
  }
  const at = toPx(view, scene.playhead);
  // What has not happened yet.
  if (scene.playing && at < view.widthPx) {
    context.fillStyle = css(theme.background);
    context.globalAlpha = 0.6;
    context.fillRect(Math.max(at, 0), 0, view.widthPx, height);
    context.globalAlpha = 1;
  }
  if (at >= -2 && at <= view.widthPx + 2) {
    context.fillStyle = css(theme.loss);
    context.fillRect(Math.round(at) - 0.75, 0, 1.5, height);
  }
}

// At the foot of a range, where it is in sight.
function paintName(
    context: Brush, name: string, from: number, to: number, height: number): void {
  context.font = '600 11px system-ui, "DejaVu Sans", sans-serif';
  const left = Math.max(from, 0) + 5;
  if (left + context.measureText(name).width > to) return;
  context.textBaseline = 'alphabetic';
  context.fillText(name, left, height - 6);
}

// Diagonals: the hue alone would not do.
function hatch(
    context: Brush, from: number, to: number, height: number): void {
  if (to - from < 4) return;
  context.save();
  context.beginPath();
  context.rect(from, 0, to - from, height);
  context.clip();
  context.beginPath();
  const first = Math.floor((from - height) / HATCH_PX) * HATCH_PX;
  for (let x = first; x < to; x += HATCH_PX) {
    context.moveTo(x, height);
    context.lineTo(x + height, 0);
  }
  context.strokeStyle = context.fillStyle;
  context.lineWidth = 1;
  context.stroke();
  context.restore();
}

function paintFrame(
    context: Brush, from: number, to: number, extent: Extent, theme: Theme): void {
  context.strokeStyle = css(theme.ink);
  context.lineWidth = 1.5;
  context.strokeRect(from, extent.y - 1, Math.max(to - from, 2), extent.height + 2);
}

// Frames around the wait and around what its CPU did; an arrow from the waker,
// or from where it would be if it were in sight.
function paintWait(
    context: Brush, mark: WaitMark, theme: Theme): void {
  for (const extent of [mark.row, mark.cpu]) {
    if (extent) paintFrame(context, mark.from, mark.to, extent, theme);
  }
  context.fillStyle = css(theme.ink);
  if (!mark.wakeUp || !mark.row) return;
  const {at, waker} = mark.wakeUp;
  const below = waker !== null && waker.y > mark.row.y;
  const tip = below ? mark.row.y + mark.row.height : mark.row.y;
  const sign = below ? -1 : 1;
  const from = waker ? waker.y + (below ? 0 : waker.height) : tip - 16;
  context.beginPath();
  context.moveTo(at, from);
  context.lineTo(at, tip);
  context.stroke();
  context.beginPath();
  context.moveTo(at, tip);
  context.lineTo(at - 4, tip - sign * 7);
  context.lineTo(at + 4, tip - sign * 7);
  context.fill();
}

// `painted`: begins of those that were painted, since each tile that a loss
// touches has it.
function paintLoss(
    context: Brush, scene: OverlayScene, tile: Tile,
    painted: Set<number>, theme: Theme): void {
  context.fillStyle = css(theme.loss);
  const draw = (from: number, to: number): void => {
    const a = toPx(scene.view, from);
    const b = Math.max(toPx(scene.view, to), a + 1);
    if (b < 0 || a > scene.view.widthPx) return;
    context.globalAlpha = 0.12;
    context.fillRect(a, 0, b - a, scene.height);
    context.globalAlpha = 0.3;
    hatch(context, Math.max(a, 0), Math.min(b, scene.view.widthPx), scene.height);
    context.globalAlpha = 0.8;
    context.fillRect(a, 0, b - a, 3);
    context.globalAlpha = 1;
  };
  if (tile.kind === 'items') {
    for (const item of tile.items) {
      if (!painted.has(item.beginNs)) draw(item.beginNs, item.endNs);
      painted.add(item.beginNs);
    }
  } else if (tile.kind === 'strip') {
    for (let column = 0; column < tile.words.length / 2; ++column) {
      if ((tile.words[2 * column] ?? 0xffffffff) === 0xffffffff) continue;
      const at = tile.beginNs + column * tile.columnNs;
      draw(at, at + tile.columnNs);
    }
  }
}
