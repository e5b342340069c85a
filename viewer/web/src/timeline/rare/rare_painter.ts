// The plane of rare events: a mark for each, whatever the zoom; the ones drawn
// last matter most.

import type {RareEvent} from './rare_events';
import {toPx, type Viewport} from '../../core/viewport';
import {css} from '../../core/palette';
import type {StyleBook} from '../../core/style_book';

export const RARE_HEIGHT = 22;
const REACH_PX = 5; // of a pointer

export function paintRare(
    context: CanvasRenderingContext2D, events: readonly RareEvent[], view: Viewport, ratio: number,
    book: StyleBook): void {
  const {theme} = book;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = css(theme.background);
  context.fillRect(0, 0, view.widthPx, RARE_HEIGHT);
  for (const event of events) {
    const left = toPx(view, event.from);
    const right = toPx(view, event.to);
    if (right < -REACH_PX || left > view.widthPx + REACH_PX) continue;
    if (event.kind === 'longest') paintLongest(context, Math.max(left, -2), Math.min(right, view.widthPx + 2), css(book.hook(event.hook ?? 0)));
    else if (event.kind === 'hit') paintDiamond(context, left, css(book.hook(event.hook ?? 0)), css(theme.ink));
    else if (event.kind === 'trigger') paintFlag(context, left, css(theme.accent));
    else {
      context.fillStyle = css(theme.loss);
      context.fillRect(left, 1, Math.max(right - left, 2), 6);
    }
  }
}

// A bracket from the call's begin to its end.
function paintLongest(context: CanvasRenderingContext2D, left: number, right: number, colour: string): void {
  context.fillStyle = colour;
  const width = Math.max(right - left, 2);
  context.fillRect(left, 14, width, 3);
  context.fillRect(left, 11, 1.5, 9);
  context.fillRect(left + width - 1.5, 11, 1.5, 9);
}

function paintDiamond(context: CanvasRenderingContext2D, x: number, fill: string, edge: string): void {
  context.beginPath();
  context.moveTo(x, 5);
  context.lineTo(x + 4, 10);
  context.lineTo(x, 15);
  context.lineTo(x - 4, 10);
  context.closePath();
  context.fillStyle = fill;
  context.strokeStyle = edge;
  context.lineWidth = 1;
  context.fill();
  context.stroke();
}

function paintFlag(context: CanvasRenderingContext2D, x: number, colour: string): void {
  context.fillStyle = colour;
  context.fillRect(x - 0.75, 0, 1.5, RARE_HEIGHT);
  context.beginPath();
  context.moveTo(x, 1);
  context.lineTo(x + 8, 5);
  context.lineTo(x, 9);
  context.fill();
}

// Those under the pointer, what matters most first: the nearest begin or span.
export function rareAt(events: readonly RareEvent[], view: Viewport, x: number): RareEvent[] {
  const distance = (event: RareEvent): number => {
    const left = toPx(view, event.from);
    const right = toPx(view, event.to);
    return x < left ? left - x : x > right ? x - right : 0;
  };
  const rank = {loss: 0, trigger: 1, hit: 2, longest: 3};
  return events.filter((event) => distance(event) <= REACH_PX)
      .sort((a, b) => rank[a.kind] - rank[b.kind] || (a.to - a.from) - (b.to - b.from));
}
