// Columns of tiles as pixels, for the atlas. A stack of shares is exact: a pixel
// that two shares meet in has both colours, by their parts of it. Pure.

import {NO_KEY} from '../../api/schema';
import {type ColumnsTile, sharesAt, statesAt, stripCoverage, stripFlags, stripKey, threadsAt, TILE_COLUMNS} from '../../api/tile_decode';
import type {SubRow} from '../rows/lanes';
import {mix, type Rgb, runColour} from '../../core/palette';
import type {StyleBook} from '../../core/style_book';

// A column with a very small busy part must still be visible. Segments are pale
// already and nest: they need more.
const LEAST_SHARE = {cpu: 0, run: 0, interrupts: 0.35, process: 0, segment: 0.55, hook: 0.45, counter: 0, level: 0.55} as const;
const LEAST_PX = 0.35; // of a stack
const COLUMN_OUTSIDE = 8;

// Height of a tile's picture in pixels: a strip has one colour for each column.
export function pictureHeight(tile: ColumnsTile, rowPx: number): number {
  return tile.kind === 'strip' || tile.kind === 'density' ? 1 : Math.max(rowPx, 1);
}

// RGBA of all columns, from the top row down; transparent where nothing is.
export function tilePixels(
    tile: ColumnsTile, row: SubRow, height: number, book: StyleBook,
    highlight: number|null): Uint8ClampedArray {
  const pixels = new Uint8ClampedArray(4 * TILE_COLUMNS * height);
  const stack = new Stack(pixels, height);
  for (let column = 0; column < TILE_COLUMNS; ++column) {
    stack.begin(column);
    if (tile.kind === 'shares') stackShares(stack, tile.words, column, book, highlight);
    else if (tile.kind === 'states') stackStates(stack, tile.words, column, row, book, highlight);
    else if (tile.kind === 'threads') stackThreads(stack, tile.floats, column, row, book, highlight);
    else stackStrip(stack, tile.words, column, row, book);
  }
  return pixels;
}

// One column, filled from the bottom.
class Stack {
  private column = 0;
  private at = 0; // pixels from the bottom

  constructor(private readonly pixels: Uint8ClampedArray,
              readonly height: number) {}

  begin(column: number): void {
    this.column = column;
    this.at = 0;
  }

  add(px: number, colour: Rgb): void {
    const to = Math.min(this.at + px, this.height);
    for (let y = Math.floor(this.at); y < to; ++y) {
      const part = Math.min(to, y + 1) - Math.max(this.at, y);
      this.blend(y, colour, part);
    }
    this.at = Math.max(to, this.at);
  }
  addRest(colour: Rgb): void {
    this.add(this.height - this.at, colour);
  }
  // Diagonals: its hue alone would not do.
  addHatched(px: number, colour: Rgb, ground: Rgb): void {
    const to = Math.min(this.at + px, this.height);
    for (let y = Math.floor(this.at); y < to; ++y) {
      const part = Math.min(to, y + 1) - Math.max(this.at, y);
      this.blend(y, (this.column + y) % 4 < 2 ? colour : ground, part);
    }
    this.at = Math.max(to, this.at);
  }

  // Adds a part of a pixel; the parts of one add up to at most 1.
  blend(y: number, colour: Rgb, part: number): void {
    const i = 4 * ((this.height - 1 - y) * TILE_COLUMNS + this.column);
    const {pixels} = this;
    const before = (pixels[i + 3] ?? 0) / 255;
    const all = before + part;
    if (all <= 0) return;
    const merge = (old: number, fresh: number): number =>
        (old * before + fresh * part) / all;
    pixels[i] = merge(pixels[i] ?? 0, colour.r);
    pixels[i + 1] = merge(pixels[i + 1] ?? 0, colour.g);
    pixels[i + 2] = merge(pixels[i + 2] ?? 0, colour.b);
    pixels[i + 3] = 255 * Math.min(all, 1);
  }
}

// Heaviest process of the trace at the bottom, so that the order is the same in
// all columns of all rows.
function stackShares(
    stack: Stack, words: Uint32Array, column: number, book: StyleBook,
    highlight: number|null): void {
  const {keys, other, idle, outside} = sharesAt(words, column);
  const busy = keys.reduce((sum, key) => sum + key.share, other);
  const all = busy + idle + outside;
  if (all === 0) return;
  // Shares of nearly nothing are 1: the sum may be slightly above 255.
  const unit = stack.height / Math.max(all, 255);
  const swell = busy > 0 ? Math.max(1, LEAST_PX / (busy * unit)) : 1;
  keys.sort((a, b) => book.rank(a.process) - book.rank(b.process));
  for (const {process, share} of keys) {
    stack.add(share * unit * swell, book.lit(process, highlight));
  }
  const {theme} = book;
  stack.add(other * unit * swell,
            highlight === null ? theme.other : mix(theme.idle, theme.other, 0.18));
  stack.add(outside * unit, theme.outside);
  // What is missing from 255 by rounding is idle, not a hole.
  if (idle > 0 && all >= 250) stack.addRest(theme.idle);
  else stack.add(idle * unit, theme.idle);
}

// Running at the bottom, then waiting, then not known. Blocked: nothing but a
// thin line.
function stackStates(
    stack: Stack, words: Uint32Array, column: number, row: SubRow,
    book: StyleBook, highlight: number|null): void {
  const {cpu, running, waiting, blocked, unknown} = statesAt(words, column);
  const all = running + waiting + blocked + unknown;
  if (all === 0) return;
  const {theme} = book;
  const process = book.lit(row.process, highlight);
  const unit = stack.height / Math.max(all, 255);
  if (running > 0) {
    stack.add(Math.max(running * unit, LEAST_PX), runColour(process, cpu, theme));
  }
  if (waiting > 0) {
    stack.addHatched(Math.max(waiting * unit, LEAST_PX), theme.wait, mix(theme.background, theme.wait, 0.45));
  }
  if (unknown > 0) {
    stack.addHatched(unknown * unit, mix(theme.background, theme.muted, 0.4), theme.background);
  }
  if (blocked > 0) stack.blend(0, process, Math.max(0, 1 - (all - blocked) * unit));
}

// The threads of a process that run, at the bottom, and those that wait. The
// row is full when as many run or wait as can run at once.
function stackThreads(
    stack: Stack, floats: Float32Array, column: number, row: SubRow,
    book: StyleBook, highlight: number|null): void {
  const {running, waiting} = threadsAt(floats, column);
  const unit = stack.height / (row.full ?? 1);
  const {theme} = book;
  if (running > 0) stack.add(Math.max(running * unit, LEAST_PX), book.lit(row.process, highlight));
  if (waiting > 0) {
    stack.addHatched(Math.max(waiting * unit, LEAST_PX), theme.wait, mix(theme.background, theme.wait, 0.45));
  }
}

function stackStrip(
    stack: Stack, words: Uint32Array, column: number, row: SubRow,
    book: StyleBook): void {
  const key = stripKey(words, column);
  const coverage = stripCoverage(words, column);
  if (row.kind === 'level' && (stripFlags(words, column) & COLUMN_OUTSIDE) !== 0) {
    // Whether it is up is not known, of what is not covered.
    if (coverage > 0) stack.add(stack.height * coverage / 255, book.column(row, key));
    return stack.addHatched(stack.height, book.theme.outside, book.theme.lane);
  }
  if (key === NO_KEY && coverage === 0) return;
  const share = Math.max(coverage / 255, LEAST_SHARE[row.kind]);
  stack.addRest(mix(book.theme.lane, book.column(row, key), share));
}
