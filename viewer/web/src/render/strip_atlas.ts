// Strip tiles as rows of pixels in one canvas: a frame is one drawImage for
// each tile instead of a rectangle for each column.

import {COLUMN_IDLE, COLUMN_OUTSIDE, NO_KEY} from '../api/schema';
import {type StripTile, stripCoverage, stripFlags, stripKey, TILE_COLUMNS} from '../api/tile_decode';
import type {SubRow} from '../model/lanes';
import {mix, type Rgb} from './palette';
import type {StyleBook} from './style_book';

const ROWS = 256; // of each atlas page
// A column with a very small busy part must still be visible. Segments are pale
// already and nest: they need more.
const LEAST_SHARE = {cpu: 0.22, run: 0.25, segment: 0.55, hook: 0.45, counter: 0} as const;

// Colour of one column; null: nothing to draw.
export function columnColour(
    book: StyleBook, kind: SubRow['kind'], words: Uint32Array, column: number,
    highlight: number|null): Rgb|null {
  const key = stripKey(words, column);
  const flags = stripFlags(words, column);
  const theme = book.theme;
  const ground = kind !== 'cpu' ? null :
      (flags & COLUMN_OUTSIDE) !== 0 ? theme.outside :
      (flags & COLUMN_IDLE) !== 0 ? theme.idle :
                                    null;
  if (key === NO_KEY && stripCoverage(words, column) === 0) return ground;
  const share = Math.max(stripCoverage(words, column) / 255, LEAST_SHARE[kind]);
  let fill = kind === 'hook' ? theme.muted : book.column(kind, key);
  if (kind === 'cpu' && highlight !== null && highlight !== key) {
    fill = mix(theme.idle, fill, 0.18);
  }
  return mix(ground ?? theme.lane, fill, share);
}

interface Slot {
  canvas: HTMLCanvasElement;
  row: number;
  stamp: number;
}

export class StripAtlas {
  private readonly pages: HTMLCanvasElement[] = [];
  private readonly slots = new Map<StripTile, Slot>();
  private readonly free: {canvas: HTMLCanvasElement; row: number}[] = [];

  // `stamp` changes with the colours (theme, highlight): the row is then
  // repainted.
  slot(tile: StripTile, kind: SubRow['kind'], book: StyleBook,
       highlight: number|null, stamp: number): Slot {
    let slot = this.slots.get(tile);
    if (slot && slot.stamp === stamp) return slot;
    if (!slot) {
      slot = {...this.take(), stamp};
      this.slots.set(tile, slot);
    }
    slot.stamp = stamp;
    const context = slot.canvas.getContext('2d');
    if (!context) return slot;
    const image = context.createImageData(TILE_COLUMNS, 1);
    for (let column = 0; column < TILE_COLUMNS; ++column) {
      const colour = columnColour(book, kind, tile.words, column, highlight);
      if (!colour) continue;
      image.data[4 * column] = colour.r;
      image.data[4 * column + 1] = colour.g;
      image.data[4 * column + 2] = colour.b;
      image.data[4 * column + 3] = 255;
    }
    context.putImageData(image, 0, slot.row);
    return slot;
  }

  release(tile: StripTile): void {
    const slot = this.slots.get(tile);
    if (!slot) return;
    this.slots.delete(tile);
    this.free.push({canvas: slot.canvas, row: slot.row});
  }

  private take(): {canvas: HTMLCanvasElement; row: number} {
    const spare = this.free.pop();
    if (spare) return spare;
    const canvas = document.createElement('canvas');
    canvas.width = TILE_COLUMNS;
    canvas.height = ROWS;
    this.pages.push(canvas);
    for (let row = ROWS - 1; row > 0; --row) this.free.push({canvas, row});
    return {canvas, row: 0};
  }
}
