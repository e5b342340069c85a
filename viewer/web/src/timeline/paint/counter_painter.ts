// A strip of a counter: its mean as an area, behind it the greatest rate of each
// column, over it the limits of the mean; what is not known is hatched. Where the
// limits are apart, between two dumps, the mean was not measured: a dotted line
// over a pale area.

import {COUNTER_EMPTY, COUNTER_GAP} from '../../api/schema';
import {COUNTER_FLAGS, COUNTER_WORDS, type CounterTile, TILE_COLUMNS} from '../../api/tile_decode';
import {toPx, type Viewport} from '../../core/viewport';
import type {Brush} from './brush';
import type {Hatches} from './hatches';
import {css, mix, type Theme} from '../../core/palette';

const SPREAD_PX = 3; // between the limits of a mean that was not measured

export interface Strip {
  view: Viewport;
  ratio: number; // device pixels per CSS pixel
  durationNs: number;
  top: number;
  height: number;
  left: number; // what is painted of it
  right: number;
  most: number; // rate at its top; 0: it has none
}
interface Bar {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export function paintCounter(context: Brush, strip: Strip, tile: CounterTile, hatches: Hatches, theme: Theme): void {
  const {view, ratio, top, height} = strip;
  const scale = strip.most > 0 ? height / strip.most : 0;
  const bottom = top + height;
  const y = (rate: number): number => Math.max(top, bottom - Math.max(rate * scale, rate > 0 ? 1 : 0));
  // Whole device pixels: fractions would leave pale seams between columns.
  const whole = (px: number): number => Math.round(px * ratio) / ratio;
  const gaps: Bar[] = [];
  const bands: Bar[] = [];
  const areas: Bar[] = [];
  const spreads: Bar[] = []; // of means that were not measured
  const limits: Bar[] = [];
  const lines: Record<'measured'|'spread', {x: number; y: number; joined: boolean}[]> = {measured: [], spread: []};
  let before: {kind: keyof typeof lines; y: number}|null = null; // the column before; null: it is not known
  const columnAt = (px: number): number => (view.startNs + px * view.nsPerPx - tile.beginNs) / tile.columnNs;
  const first = Math.max(0, Math.floor(columnAt(strip.left)));
  const last = Math.min(TILE_COLUMNS - 1, Math.ceil(columnAt(strip.right)));
  for (let column = first; column <= last; ++column) {
    const at = tile.beginNs + column * tile.columnNs;
    if (at >= strip.durationNs) break;
    const word = (number: number): number => tile.values[COUNTER_WORDS * column + number] ?? 0;
    const flags = tile.flags[COUNTER_WORDS * column + COUNTER_FLAGS] ?? COUNTER_EMPTY;
    const left = whole(toPx(view, at));
    const right = Math.max(whole(toPx(view, at + tile.columnNs)), left + 1 / ratio);
    if ((flags & COUNTER_EMPTY) !== 0) {
      before = null;
      if ((flags & COUNTER_GAP) !== 0) add(gaps, {left, right, top, bottom});
      continue;
    }
    const mean = y(word(2));
    add(bands, {left, right, top: whole(y(word(1))), bottom});
    // What is less than a pixel is not seen.
    const [lo, hi] = [y(word(3)), y(word(4))];
    const kind = lo - hi > SPREAD_PX ? 'spread' : 'measured';
    add(kind === 'spread' ? spreads : areas, {left, right, top: whole(mean), bottom});
    if (lo - hi > 1) add(limits, {left, right, top: whole(hi), bottom: whole(lo)});
    const line = lines[kind];
    if (before && before.kind !== kind) line.push({x: left, y: before.y, joined: false});
    line.push({x: left, y: mean, joined: before !== null}, {x: right, y: mean, joined: true});
    before = {kind, y: mean};
  }
  context.save();
  context.beginPath();
  context.rect(strip.left, top, strip.right - strip.left, height);
  context.clip();
  for (const {left, right} of gaps) hatches.fillRect(context, theme.muted, 0.55, left, top, right, height);
  fillBars(context, bands, css(mix(theme.lane, theme.accent, 0.13)));
  fillBars(context, spreads, css(mix(theme.lane, theme.accent, 0.22)));
  fillBars(context, areas, css(mix(theme.lane, theme.accent, 0.38)));
  context.globalAlpha = 0.09;
  fillBars(context, limits, css(theme.ink));
  context.globalAlpha = 1;
  context.strokeStyle = css(theme.accent);
  context.lineWidth = 1;
  context.lineJoin = 'round';
  for (const [line, dash] of [[lines.measured, []], [lines.spread, [1, 2]]] as const) {
    if (line.length === 0) continue;
    context.setLineDash([...dash]);
    context.beginPath();
    for (const point of line) {
      if (point.joined) context.lineTo(point.x, point.y + 0.5);
      else context.moveTo(point.x, point.y + 0.5);
    }
    context.stroke();
  }
  context.setLineDash([]);
  context.restore();
}

// To the bar before, if it goes on at the same height.
function add(bars: Bar[], bar: Bar): void {
  const before = bars.at(-1);
  if (before && before.right >= bar.left && before.top === bar.top && before.bottom === bar.bottom) before.right = bar.right;
  else bars.push(bar);
}

function fillBars(context: Brush, bars: readonly Bar[], colour: string): void {
  context.fillStyle = colour;
  for (const {left, right, top, bottom} of bars) context.fillRect(left, top, right - left, bottom - top);
}
