// Marks merged calls of a flame: a dotted foot, and their number where there is
// room for it.

import {NO_KEY} from '../../api/schema';
import type {SubRow} from '../rows/lanes';
import {hookName} from '../../core/names';
import {formatShort} from '../../core/units';
import type {Brush} from './brush';
import type {MergedRun} from './merged_runs';
import {css} from '../../core/palette';
import type {StyleBook} from '../../core/style_book';

const DOT = 2; // px, and as much between two
const LEAST = 3; // px: what is narrower has no foot
const LEAST_LABEL = 32;
const PAD = 5;
const FONT = '10px "Inter", "IBM Plex Sans", system-ui, "DejaVu Sans", sans-serif';

export function paintMerged(
    context: Brush, runs: readonly MergedRun[],
    row: SubRow, top: number, widthPx: number, book: StyleBook): void {
  const {theme} = book;
  const wide = runs.map((run) => ({...run, left: Math.max(Math.round(run.left), 0), right: Math.min(Math.round(run.right), widthPx)}))
                   .filter(({left, right}) => right - left >= LEAST);
  if (wide.length === 0) return;
  context.save();
  context.font = FONT;
  // One path for all: a row may have hundreds.
  const foot = top + row.height - 0.5;
  context.beginPath();
  for (const {left, right} of wide) {
    context.moveTo(left, foot);
    context.lineTo(right, foot);
  }
  context.setLineDash([DOT, DOT]);
  context.lineWidth = 1;
  context.strokeStyle = css(theme.ink);
  context.globalAlpha = 0.55;
  context.stroke();
  context.globalAlpha = 1;
  for (const run of wide) {
    const {left, right} = run;
    if (right - left < LEAST_LABEL || row.height < 12) continue;
    const text = labelTexts(book, run).find((one) => context.measureText(one).width + 4 * PAD <= right - left);
    if (text === undefined) continue;
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
