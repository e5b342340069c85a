// Stretches of a flame in which several calls share each column: where they are
// marked, and how many calls begin in them. Pure.

import {COLUMN_MERGED, NO_KEY} from '../../api/schema';
import {stripCount, stripFlags, stripKey, TILE_COLUMNS} from '../../api/tile_decode';
import type {Patch} from '../tiles/tile_cache';
import {endNs, toPx, type Viewport} from '../../core/viewport';

export interface MergedRun {
  left: number; // px
  right: number;
  calls: number; // that begin in it
  more: boolean; // a column has more calls than it can say
  key: number; // that dominates in all columns, or NO_KEY
}

// The part in view. `patches`: of one row, in order of time.
export function mergedRuns(patches: readonly Patch[], view: Viewport): MergedRun[] {
  const runs: MergedRun[] = [];
  let run: MergedRun|null = null;
  for (const {tile, fromNs, toNs} of patches) {
    if (tile.kind !== 'strip') {
      run = null;
      continue;
    }
    const first = Math.max(0, Math.floor((Math.max(fromNs, view.startNs) - tile.beginNs) / tile.columnNs));
    const last = Math.min(TILE_COLUMNS, Math.ceil((Math.min(toNs, endNs(view)) - tile.beginNs) / tile.columnNs));
    for (let column = first; column < last; ++column) {
      if ((stripFlags(tile.words, column) & COLUMN_MERGED) === 0) {
        run = null;
        continue;
      }
      const at = tile.beginNs + column * tile.columnNs;
      const key = stripKey(tile.words, column);
      if (run === null) {
        run = {left: toPx(view, at), right: 0, calls: 0, more: false, key};
        runs.push(run);
      }
      const calls = stripCount(tile.words, column);
      run.right = toPx(view, at + tile.columnNs);
      run.calls += calls;
      run.more ||= calls >= 0xffff;
      if (run.key !== key) run.key = NO_KEY;
    }
  }
  return runs;
}
