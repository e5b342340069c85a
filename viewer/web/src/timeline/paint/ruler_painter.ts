// The time axis above the rows.

import {rulerStep, toPx, type Viewport} from '../../core/viewport';
import {formatInstant} from '../../core/units';
import type {Brush} from './brush';
import {css, type Theme} from '../../core/palette';
import {LABEL_FONT} from './timeline_painter';

export function paintRuler(
    context: Brush, view: Viewport, height: number,
    ratio: number, playhead: number, durationNs: number, theme: Theme): void {
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = css(theme.background);
  context.fillRect(0, 0, view.widthPx, height);
  const step = rulerStep(view.nsPerPx, 120);
  context.font = LABEL_FONT;
  context.textBaseline = 'middle';
  const first = Math.max(0, Math.floor(view.startNs / step));
  const last = Math.min(
      Math.ceil((view.startNs + view.widthPx * view.nsPerPx) / step),
      Math.floor(durationNs / step));
  for (let i = first; i <= last; ++i) {
    const x = Math.round(toPx(view, i * step));
    context.fillStyle = css(theme.line);
    context.fillRect(x, height - 9, 1, 9);
    context.fillStyle = css(theme.muted);
    // A label that is cut reads as another number.
    const text = formatInstant(i * step, step);
    if (x + 5 >= 0 && x + 5 + context.measureText(text).width <= view.widthPx) {
      context.fillText(text, x + 5, height / 2);
    }
    context.fillStyle = css(theme.line);
    for (let minor = 1; minor < 5; ++minor) {
      context.fillRect(
          Math.round(toPx(view, (i + minor / 5) * step)), height - 4, 1, 4);
    }
  }
  context.fillRect(0, height - 1, view.widthPx, 1);
  const at = toPx(view, playhead);
  if (at >= -6 && at <= view.widthPx + 6) {
    context.fillStyle = css(theme.loss);
    context.beginPath();
    context.moveTo(at - 5, height - 9);
    context.lineTo(at + 5, height - 9);
    context.lineTo(at, height - 1);
    context.closePath();
    context.fill();
  }
}
