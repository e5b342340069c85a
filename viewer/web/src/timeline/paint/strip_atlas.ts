// Tiles of columns as pictures in a few canvases: a frame is one drawImage for
// each tile instead of a rectangle for each column.

import {type ColumnsTile, TILE_COLUMNS} from '../../api/tile_decode';
import type {SubRow} from '../rows/lanes';
import {pictureHeight, tilePixels} from './column_pixels';
import type {Rgb} from '../../core/palette';
import type {StyleBook} from '../../core/style_book';

const PAGE_PX = 256; // height of a page
// Pictures kept; the least recently drawn one is painted over.
const MOST_TALL = 512;

interface Place {
  canvas: HTMLCanvasElement;
  y: number;
}
interface Slot extends Place {
  height: number;
  stamp: number;
}

// Opaque, so that pictures can be drawn over one another.
function fillGround(pixels: Uint8ClampedArray, ground: Rgb): void {
  for (let i = 0; i < pixels.length; i += 4) {
    const alpha = pixels[i + 3] ?? 0;
    if (alpha === 255) continue;
    const rest = 1 - alpha / 255;
    pixels[i] = (pixels[i] ?? 0) * (1 - rest) + ground.r * rest;
    pixels[i + 1] = (pixels[i + 1] ?? 0) * (1 - rest) + ground.g * rest;
    pixels[i + 2] = (pixels[i + 2] ?? 0) * (1 - rest) + ground.b * rest;
    pixels[i + 3] = 255;
  }
}

export class StripAtlas {
  private readonly slots = new Map<ColumnsTile, Slot>();
  // Places by height, the free ones.
  private readonly free = new Map<number, Place[]>();
  private tall = 0; // slots higher than a pixel

  // `stamp` changes with the colours (theme, highlight): the picture is then
  // painted again. `rowPx`: height of the row in device pixels.
  slot(tile: ColumnsTile, row: SubRow, rowPx: number, book: StyleBook,
       highlight: number|null, stamp: number): Slot {
    const height = pictureHeight(tile, rowPx);
    let slot = this.slots.get(tile);
    if (slot && slot.height !== height) {
      this.release(tile);
      slot = undefined;
    }
    if (slot) {
      // Maps keep insertion order: last = most recently drawn.
      this.slots.delete(tile);
      this.slots.set(tile, slot);
      if (slot.stamp === stamp) return slot;
    } else {
      if (height > 1) this.makeRoom();
      slot = {...this.take(height), height, stamp};
      this.slots.set(tile, slot);
      if (height > 1) ++this.tall;
    }
    slot.stamp = stamp;
    const pixels = tilePixels(tile, row, height, book, highlight);
    const {lane, background} = book.theme;
    if (height > 1) fillGround(pixels, row.kind === 'run' ? background : lane);
    const image = new ImageData(pixels as Uint8ClampedArray<ArrayBuffer>, TILE_COLUMNS, height);
    slot.canvas.getContext('2d')?.putImageData(image, 0, slot.y);
    return slot;
  }

  release(tile: ColumnsTile): void {
    const slot = this.slots.get(tile);
    if (!slot) return;
    this.slots.delete(tile);
    if (slot.height > 1) --this.tall;
    this.free.get(slot.height)?.push({canvas: slot.canvas, y: slot.y});
  }

  private makeRoom(): void {
    if (this.tall < MOST_TALL) return;
    for (const [tile, slot] of this.slots) {
      if (slot.height === 1) continue;
      this.release(tile);
      return;
    }
  }

  private take(height: number): Place {
    let places = this.free.get(height);
    if (!places) {
      places = [];
      this.free.set(height, places);
    }
    const spare = places.pop();
    if (spare) return spare;
    const canvas = document.createElement('canvas');
    canvas.width = TILE_COLUMNS;
    const rows = Math.max(1, Math.floor(PAGE_PX / height));
    canvas.height = rows * height;
    for (let row = rows - 1; row > 0; --row) places.push({canvas, y: row * height});
    return {canvas, y: 0};
  }
}
