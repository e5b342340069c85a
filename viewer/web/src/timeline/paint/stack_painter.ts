// Sampled stacks under their threads: callers above, in the colours of the flame
// graph.

import {clean} from '../../core/names';
import {css, hashName, SEGMENT_SLOTS, segmentColour, textOn, type Theme} from '../../core/palette';
import {toPx, type Viewport} from '../../core/viewport';
import {STACK_ROW_PX} from '../rows/lane_parts';
import type {Brush} from './brush';
import type {StackBox} from './stack_boxes';

const LEAST_LABEL = 22;
const LETTER_PX = 5.2; // of the small font, on average

export interface StackMark {
  y: number; // the top of the outermost
  boxes: readonly StackBox[]|null; // null: too many samples
  functions: readonly string[];
}

export function paintStacks(context: Brush, marks: readonly StackMark[], view: Viewport, theme: Theme, least: number): void {
  context.textBaseline = 'middle';
  context.font = '9px system-ui, sans-serif';
  for (const {y, boxes, functions} of marks) {
    if (boxes === null) {
      context.fillStyle = css(theme.muted);
      if (y >= least) context.fillText('zoom in to see the sampled stacks', 6, y + STACK_ROW_PX / 2);
      continue;
    }
    for (const {from, to, depth, name} of boxes) {
      const [left, right] = [Math.max(toPx(view, from), -1), Math.min(toPx(view, to), view.widthPx + 1)];
      const top = y + depth * STACK_ROW_PX;
      if (right <= left || top < least) continue;
      const text = clean(functions[name] ?? '');
      const fill = segmentColour(hashName(functions[name] ?? '') % SEGMENT_SLOTS, theme);
      context.fillStyle = css(fill);
      context.fillRect(left, top, Math.max(right - left - 0.5, 0.5), STACK_ROW_PX - 1);
      const letters = Math.floor((right - left - 4) / LETTER_PX);
      if (right - left < LEAST_LABEL) continue;
      context.fillStyle = css(textOn(fill));
      context.fillText(text.length <= letters ? text : `${text.slice(0, Math.max(letters - 1, 1))}\u2026`, left + 2, top + STACK_ROW_PX / 2);
    }
  }
}
