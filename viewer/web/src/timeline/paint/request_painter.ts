// A request's calls on its lane, in the colours of their segments, and arrows
// from each to the next one of another thread.

import {hookName} from '../../core/names';
import {css, textOn} from '../../core/palette';
import type {StyleBook} from '../../core/style_book';
import {toPx, type Viewport} from '../../core/viewport';
import {type RequestLane, SEGMENT} from '../rows/lane_parts';
import {paintArrow} from './arrow';
import type {Brush} from './brush';

const TOP = 2; // above the first line
const HEIGHT = SEGMENT - 2;
const LEAST_PX = 1.5; // of a call
const POINT_PX = 2.5; // half of a point's width
const LEAST_TEXT = 23;
const FAR = 20; // beyond the edge
const FONT = '11px "Inter", "IBM Plex Sans", system-ui, "DejaVu Sans", sans-serif';

export function paintRequest(context: Brush, {row, placed, followed}: RequestLane, top: number, height: number, view: Viewport, book: StyleBook): void {
  const {theme} = book;
  const px = (at: number): number => Math.min(Math.max(toPx(view, at), -FAR), view.widthPx + FAR);
  const middle = (line: number): number => top + TOP + line * SEGMENT + HEIGHT / 2;
  if (followed) {
    context.fillStyle = css(theme.accent);
    context.globalAlpha = theme.dark ? 0.16 : 0.1;
    context.fillRect(0, top, view.widthPx, height - 1);
    context.globalAlpha = 1;
  }
  const [from, to] = [px(row.begin_ns), px(row.end_ns)];
  context.fillStyle = css(theme.muted);
  context.globalAlpha = 0.5;
  context.fillRect(from, middle(0) - 0.5, to - from, 1);
  context.globalAlpha = 1;
  for (const {span, line} of placed) {
    const [left, right] = [px(span.begin_ns), Math.max(px(span.end_ns), px(span.begin_ns) + LEAST_PX)];
    if (right <= -FAR + LEAST_PX || left >= view.widthPx) continue;
    const fill = book.hook(span.hook);
    context.fillStyle = css(fill);
    if (span.point) {
      context.beginPath();
      context.moveTo(left, middle(line) - HEIGHT / 2);
      context.lineTo(left + POINT_PX, middle(line));
      context.lineTo(left, middle(line) + HEIGHT / 2);
      context.lineTo(left - POINT_PX, middle(line));
      context.fill();
      continue;
    }
    context.fillRect(left, middle(line) - HEIGHT / 2, right - left, HEIGHT);
    if (!span.exact) {
      context.fillStyle = css(theme.loss);
      context.fillRect(left, middle(line) + HEIGHT / 2 - 2, right - left, 2);
    }
    paintText(context, hookName(book.names, span.hook), Math.max(left, 0), Math.min(right, view.widthPx), middle(line), css(textOn(fill)));
  }
  context.strokeStyle = context.fillStyle = css(theme.ink);
  context.lineWidth = 1;
  placed.forEach(({span, line}, index) => {
    const before = placed[index - 1];
    if (!before || before.span.thread === span.thread) return;
    const at = Math.min(before.span.end_ns, span.begin_ns);
    paintArrow(context, px(at), middle(before.line), px(span.begin_ns), middle(line));
  });
  if (!row.lost) return;
  context.fillStyle = css(theme.loss);
  context.fillRect(from, top + height - 3, Math.max(to - from, LEAST_PX), 2);
}

function paintText(context: Brush, text: string, left: number, right: number, y: number, colour: string): void {
  if (right - left < LEAST_TEXT) return;
  context.font = FONT;
  context.textBaseline = 'middle';
  context.fillStyle = colour;
  const room = right - left - 6;
  let shown = text;
  while (shown.length > 1 && context.measureText(shown === text ? text : `${shown}\u2026`).width > room) shown = shown.slice(0, -1);
  if (shown.length > 1) context.fillText(shown === text ? text : `${shown}\u2026`, left + 3, y + 0.5);
}
