// What the cached tiles have at one place.

import {COUNTER_WORDS, type Item, stripCoverage, stripKey, type StripTile, type Tile, TILE_COLUMNS} from '../../api/tile_decode';
import type {TileCache} from './tile_cache';
import {endNs, tileSpan, type Viewport} from '../../core/viewport';

// Top of the counter scale: the largest mean in view, rounded up to a mark, so
// that it does not change with every frame.
export function counterTop(
    cache: TileCache, row: number, view: Viewport, level: number,
    durationNs: number): number {
  let most = 0;
  const span = tileSpan(view.startNs, endNs(view), level, TILE_COLUMNS, durationNs);
  for (let index = span.first; index <= span.last; ++index) {
    for (const {tile} of cache.cover({row, level, index}, TILE_COLUMNS)) {
      if (tile.kind !== 'counter') continue;
      for (let column = 0; column < TILE_COLUMNS; ++column) {
        const at = tile.beginNs + column * tile.columnNs;
        if (at + tile.columnNs < view.startNs || at > endNs(view)) continue;
        most = Math.max(most, tile.values[COUNTER_WORDS * column + 2] ?? 0);
      }
    }
  }
  if (most <= 0) return 0;
  const power = 10 ** Math.floor(Math.log10(most));
  for (const factor of [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8]) {
    // Slightly above a mark is rounding, not a reason for another scale.
    if (factor * power >= most * 0.99) return factor * power;
  }
  return 10 * power;
}

// The item of a row at an instant, for tooltips and tests.
export function itemAt(tile: Tile, at: number): Item|null {
  if (tile.kind !== 'items') return null;
  return tile.items.find((item) => item.beginNs <= at && at < item.endNs) ?? null;
}

// The same, or the nearest one that is at most `slackNs` away: points have no
// length, and some items are less than a pixel.
export function itemNear(tile: Tile, at: number, slackNs: number): Item|null {
  const inside = itemAt(tile, at);
  if (inside || tile.kind !== 'items') return inside;
  let nearest: Item|null = null;
  let least = slackNs;
  for (const item of tile.items) {
    const distance = Math.max(item.beginNs - at, at - item.endNs);
    if (distance > least) continue;
    least = distance;
    nearest = item;
  }
  return nearest;
}

export function columnAt(tile: StripTile, at: number): {key: number; coverage: number; column: number}|null {
  const column = Math.floor((at - tile.beginNs) / tile.columnNs);
  if (column < 0 || column >= TILE_COLUMNS) return null;
  return {
    column,
    key: stripKey(tile.words, column),
    coverage: stripCoverage(tile.words, column) / 255,
  };
}
