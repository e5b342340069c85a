// A strip of a tree: in each interval the parts of the root, one upon the other,
// by their shares of it. What is below zero hangs down; what is missing to the
// root is not known.

import type {TreeOverTime, TreeRow} from '../../api/tables_schema';
import {css, slotColour, type Theme} from '../../core/palette';
import {toPx, type Viewport} from '../../core/viewport';
import type {Brush} from './brush';

export interface TreeStrip {
  y: number; // its top
  height: number;
  tree: TreeOverTime;
}
interface TreeBar {
  slot: number; // of its colour
  from: number; // share at its lower edge
  to: number;
  // Limits of its outer edge, where they are not the edge itself.
  least: number;
  most: number;
}

// The parts right below the root.
export const partsOf = (rows: readonly TreeRow[]): TreeRow[] => rows.filter(({depth}) => depth === 1);

function barsOf(rows: readonly TreeRow[]): TreeBar[] {
  let [below, above] = [0, 0];
  return partsOf(rows).flatMap(({share, value, lo, hi}, slot) => {
    if (share == null) return [];
    const base = share < 0 ? below : above;
    const edge = base + share;
    if (share < 0) below = edge;
    else above = edge;
    // Limits are of the value; the root's is what turns it into a share.
    const limit = (one: number|null|undefined): number => one == null || !value ? edge : base + one / value * share;
    return [{slot, from: Math.min(base, edge), to: Math.max(base, edge), least: limit(lo), most: limit(hi)}];
  });
}

export function paintTrees(context: Brush, strips: readonly TreeStrip[], view: Viewport, theme: Theme): void {
  for (const {y, height, tree} of strips) {
    if (height <= 0) continue;
    const bars = tree.intervals.map(({from, to, rows}) => ({from, to, bars: barsOf(rows)}));
    const edges = bars.flatMap((one) => one.bars.flatMap(({from, to}) => [from, to]));
    const [low, high] = [Math.min(0, ...edges), Math.max(1, ...edges)];
    const at = (share: number): number => y + height - (Math.min(Math.max(share, low), high) - low) / (high - low) * height;
    context.fillStyle = css(theme.lane);
    for (const {from, to} of bars) {
      const left = Math.max(toPx(view, from), 0);
      context.fillRect(left, y, Math.max(Math.min(toPx(view, to), view.widthPx) - left, 0), height);
    }
    for (const {from, to, bars: stack} of bars) {
      const [left, right] = [Math.max(toPx(view, from), -4), Math.min(toPx(view, to), view.widthPx + 4)];
      if (right <= left) continue;
      const gap = right - left > 3 ? 1 : 0;
      for (const bar of stack) {
        context.fillStyle = css(slotColour(bar.slot, theme));
        context.fillRect(left, at(bar.to), right - left - gap, at(bar.from) - at(bar.to));
      }
      context.fillStyle = css(theme.ink);
      for (const [number, {least, most}] of stack.entries()) {
        if (most <= least) continue;
        const x = left + (right - left) * (number + 1) / (stack.length + 1);
        context.fillRect(x, at(most), 1, Math.max(at(least) - at(most), 1));
      }
    }
    context.fillStyle = css(theme.muted);
    if (low < 0) context.fillRect(0, at(0), view.widthPx, 1);
  }
}
