// A strip under each thread: the darker, the more samples were taken of it there.

import {toPx, type Viewport} from '../../core/viewport';
import type {Brush} from './brush';
import {css, type Theme} from '../../core/palette';

const HEIGHT = 3;
const SHADES = [0.4, 0.7, 1] as const; // opacity: of few samples, more, the most

export interface Strip {
  y: number; // its top
  columns: readonly number[]; // samples, of equal parts of
  from: number; // this time
  to: number;
}

export function paintSampleStrips(context: Brush, strips: readonly Strip[], view: Viewport, theme: Theme): void {
  const most = strips.reduce((all, {columns}) => Math.max(all, ...columns), 0);
  context.fillStyle = css(theme.ink);
  for (const [shade, opacity] of SHADES.entries()) {
    context.globalAlpha = opacity;
    context.beginPath();
    for (const {y, columns, from, to} of strips) {
      const width = (to - from) / columns.length;
      for (const [column, count] of columns.entries()) {
        if (count === 0 || Math.ceil(count / most * SHADES.length) - 1 !== shade) continue;
        const x = toPx(view, from + column * width);
        if (x > view.widthPx || x < -view.widthPx) continue;
        context.rect(x, y, Math.max(width / view.nsPerPx, 1), HEIGHT);
      }
    }
    context.fill();
  }
  context.globalAlpha = 1;
}
