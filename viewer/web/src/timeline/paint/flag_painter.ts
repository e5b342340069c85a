// Notes and markers: a line over the rows, its text at their foot; on the time
// axis a flag, or the marker's letter, and a bar between the two.

import {toPx, type Viewport} from '../../core/viewport';
import type {Brush} from './brush';
import {css, textOn, type Theme} from '../../core/palette';

export interface Flag {
  at: number;
  text: string; // of a marker its letter
  isMarker: boolean;
}

const FONT = '600 11px system-ui, "DejaVu Sans", sans-serif';
const MOST_LETTERS = 40;
const SEEN_PX = 8; // beyond the edge

function inSight(flags: readonly Flag[], view: Viewport): {flag: Flag; x: number}[] {
  return flags.map((flag) => ({flag, x: Math.round(toPx(view, flag.at))})).filter(({x}) => x >= -SEEN_PX && x <= view.widthPx + SEEN_PX);
}

export function paintFlags(context: Brush, flags: readonly Flag[], view: Viewport, height: number, theme: Theme): void {
  context.font = FONT;
  context.textBaseline = 'alphabetic';
  let free = -Infinity; // where the next text may begin
  for (const {flag, x} of inSight(flags, view)) {
    context.fillStyle = css(flag.isMarker ? theme.accent : theme.ink);
    context.globalAlpha = flag.isMarker ? 1 : 0.6;
    context.fillRect(x, 0, 1, height);
    context.globalAlpha = 1;
    const text = flag.text.length > MOST_LETTERS ? `${flag.text.slice(0, MOST_LETTERS - 1)}\u2026` : flag.text;
    const width = context.measureText(text).width + 8;
    if (flag.isMarker || x < free || x + width > view.widthPx) continue;
    free = x + width + 4;
    context.fillStyle = css(theme.background);
    context.fillRect(x + 1, height - 18, width, 16);
    context.fillStyle = css(theme.ink);
    context.fillText(text, x + 5, height - 6);
  }
}

export function paintFlagsOnRuler(context: Brush, flags: readonly Flag[], view: Viewport, height: number, theme: Theme): void {
  const [a, b] = flags.filter(({isMarker}) => isMarker).map(({at}) => toPx(view, at));
  context.fillStyle = css(theme.accent);
  if (a !== undefined && b !== undefined) context.fillRect(Math.max(Math.min(a, b), 0), height - 4, Math.min(Math.max(a, b), view.widthPx) - Math.max(Math.min(a, b), 0), 3);
  context.font = FONT;
  context.textBaseline = 'middle';
  for (const {flag, x} of inSight(flags, view)) {
    context.fillStyle = css(flag.isMarker ? theme.accent : theme.ink);
    if (!flag.isMarker) {
      context.fillRect(x, 1, 1, height - 2);
      context.fillRect(x, 1, 7, 5);
      continue;
    }
    context.fillRect(x - 6, 0, 13, 13);
    context.fillStyle = css(textOn(theme.accent));
    context.fillText(flag.text, x - context.measureText(flag.text).width / 2 + 0.5, 7);
  }
}
