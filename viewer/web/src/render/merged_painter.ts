// Marks merged calls of a flame: a dotted foot, and their number where there is
// room for it.

import {NO_KEY} from '../api/schema';
import type {SubRow} from '../model/lanes';
import {hookName} from '../model/names';
import {formatShort} from '../units';
import type {MergedRun} from './merged_runs';
import {css} from './palette';
import type {StyleBook} from './style_book';

const DOT = 2; // px, and as much between two
const LEAST = 3; // px: what is narrower has no foot
const PAD = 5;
const FONT = '10px "Inter", "IBM Plex Sans", system-ui, "DejaVu Sans", sans-serif';

export function paintMerged(
    context: CanvasRenderingContext2D, runs: readonly MergedRun[],
    row: SubRow, top: number, widthPx: number, book: StyleBook): void {
  const {theme} = book;
  const foot = top + row.height - 1;
  context.save();
  context.font = FONT;
  for (const run of runs) {
    const left = Math.max(run.left, 0);
    const right = Math.min(run.right, widthPx);
    if (right - left < LEAST) continue;
    context.fillStyle = css(theme.ink);
    context.globalAlpha = 0.55;
    for (let x = Math.ceil(left / (2 * DOT)) * 2 * DOT; x < right; x += 2 * DOT) {
      context.fillRect(x, foot, Math.min(DOT, right - x), 1);
    }
    context.globalAlpha = 1;
    const text = labelTexts(book, run).find((one) => context.measureText(one).width + 4 * PAD <= right - left);
    if (text === undefined || row.height < 12) continue;
    const width = context.measureText(text).width;
    context.fillStyle = css(theme.background);
    context.globalAlpha = 0.78;
    context.beginPath();
    context.roundRect(left + PAD - 3, top + 2, width + 6, row.height - 4, 2);
    context.fill();
    context.globalAlpha = 1;
    context.fillStyle = css(theme.ink);
    context.fillText(text, left + PAD, top + row.height / 2 + 0.5);
  }
  context.restore();
}

// Longest first.
function labelTexts({names}: StyleBook, {calls, more, key}: MergedRun): string[] {
  const count = `${formatShort(calls)}${more ? '+' : ''}\u00d7`;
  if (key === NO_KEY) return [count];
  const name = hookName(names, key);
  return [`${count} ${name}`, `${count} ${name.slice(name.lastIndexOf(':') + 1)}`, count];
}
