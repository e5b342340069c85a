import fc from 'fast-check';

import type {ColumnsTile} from '../../../viewer/web/src/api/tile_decode';
import type {SubRow} from '../../../viewer/web/src/timeline/rows/lanes';
import {pictureHeight, tilePixels} from '../../../viewer/web/src/timeline/paint/column_pixels';
import {LIGHT, type Rgb} from '../../../viewer/web/src/core/palette';
import type {StyleBook} from '../../../viewer/web/src/core/style_book';

const FILLS: Rgb[] = [{r: 10, g: 20, b: 30}, {r: 200, g: 10, b: 10}, {r: 10, g: 200, b: 10}];
const fade = (colour: Rgb): Rgb => ({...colour, b: 255});
const book = {
  theme: LIGHT,
  rank: (process: number) => process,
  process: (process: number) => FILLS[process] ?? LIGHT.other,
  lit: (process: number, highlight: number|null) =>
      highlight === null || highlight === process ? FILLS[process] : fade(FILLS[process] ?? LIGHT.other),
  column: () => FILLS[0],
} as unknown as StyleBook;
const row = (kind: SubRow['kind']): SubRow => ({row: 1, kind, process: 1, y: 0, height: 22});
const base = {row: 1, level: 3, index: 0, beginNs: 0, columnNs: 8, bytes: 0};

// The first column; shares of 255.
function shares(keys: [number, number][], rest: {other?: number; idle?: number} = {}): ColumnsTile {
  const words = new Uint32Array(7 * 512);
  for (let i = 0; i < 4; ++i) {
    words[i] = keys[i]?.[0] ?? 0xffffffff;
    words[4] = ((words[4] ?? 0) | (keys[i]?.[1] ?? 0) << (8 * i)) >>> 0;
  }
  words[5] = (rest.other ?? 0) | (rest.idle ?? 0) << 8;
  words[6] = 5;
  return {...base, kind: 'shares', words};
}
function states(running: number, waiting: number, blocked: number, unknown: number): ColumnsTile {
  const words = new Uint32Array(3 * 512);
  words[2] = (running | waiting << 8 | blocked << 16 | unknown << 24) >>> 0;
  return {...base, kind: 'states', words};
}
// Pixel of the first column, from the top.
function pixel(pixels: Uint8ClampedArray, y: number): Rgb|null {
  const i = 4 * 512 * y;
  return pixels[i + 3] === 0 ? null : {r: pixels[i] ?? 0, g: pixels[i + 1] ?? 0, b: pixels[i + 2] ?? 0};
}

describe('column_pixels', () => {
  test('shares are stacked, the heaviest process of the trace at the bottom', () => {
    // In the column process 1 is the heaviest; in the trace it is process 0.
    const pixels = tilePixels(shares([[1, 120], [0, 75]], {idle: 60}), row('cpu'), 17, book, null);
    const found = Array.from({length: 17}, (_, y) => pixel(pixels, y));
    expect(found.slice(0, 4)).toEqual(Array(4).fill(LIGHT.idle));
    expect(found.slice(4, 12)).toEqual(Array(8).fill(FILLS[1]));
    expect(found.slice(12)).toEqual(Array(5).fill(FILLS[0]));
  });

  test('the colours of a column add up to its shares', () => {
    fc.assert(fc.property(
        fc.integer({min: 0, max: 255}), fc.integer({min: 8, max: 40}), (share, height) => {
          const pixels = tilePixels(
              shares(share > 0 ? [[0, share]] : [], {idle: 255 - share}), row('cpu'), height, book, null);
          let red = 0;
          for (let y = 0; y < height; ++y) red += pixel(pixels, y)?.r ?? 0;
          const found = (LIGHT.idle.r - red / height) / (LIGHT.idle.r - 10);
          // A stack of nearly nothing is drawn a third of a pixel high.
          expect(Math.abs(found - share / 255)).toBeLessThan(0.35 / height + 0.01);
          if (share * height / 255 > 1) expect(Math.abs(found - share / 255)).toBeLessThan(0.01);
          if (share > 0) expect(found).toBeGreaterThan(0.004);
        }));
  });

  test('another process than the highlighted one fades', () => {
    const full = tilePixels(shares([[0, 255]]), row('cpu'), 10, book, 0);
    const faded = tilePixels(shares([[0, 255]]), row('cpu'), 10, book, 2);
    expect(pixel(full, 5)).toEqual(FILLS[0]);
    expect(pixel(faded, 5)).toEqual(fade(FILLS[0] ?? LIGHT.other));
  });

  test('a thread: runs at the bottom, waits above it, is blocked in a thin line', () => {
    const both = tilePixels(states(85, 170, 0, 0), row('run'), 12, book, null);
    expect(pixel(both, 11)).toEqual(FILLS[1]);
    expect(pixel(both, 8)).toEqual(FILLS[1]);
    const waits = [0, 1, 2, 3].map((y) => pixel(both, y));
    expect(waits).toContainEqual(LIGHT.wait); // diagonals: not each pixel
    expect(waits.some((colour) => colour?.r !== LIGHT.wait.r || colour.g !== LIGHT.wait.g)).toBe(true);
    const blocked = tilePixels(states(0, 0, 255, 0), row('run'), 12, book, null);
    expect(pixel(blocked, 11)).toEqual(FILLS[1]);
    for (let y = 0; y < 11; ++y) expect(pixel(blocked, y)).toBeNull();
  });

  test('a process is as high as its threads run, of those that can at once; those that wait are above', () => {
    const floats = new Float32Array(3 * 512);
    floats.set([1, 0.5, 7]);
    const tile: ColumnsTile = {...base, kind: 'threads', floats, words: new Uint32Array(floats.buffer)};
    const pixels = tilePixels(tile, {...row('process'), full: 2}, 20, book, null);
    for (const y of [19, 15, 10]) expect(pixel(pixels, y)).toEqual(FILLS[1]);
    expect([5, 6, 7, 8, 9].map((y) => pixel(pixels, y))).toContainEqual(LIGHT.wait);
    for (const y of [4, 0]) expect(pixel(pixels, y)).toBeNull();
  });

  test('where a thread does not live, nothing is drawn', () => {
    const none = tilePixels(states(0, 0, 0, 0), row('run'), 12, book, null);
    for (let y = 0; y < 12; ++y) expect(pixel(none, y)).toBeNull();
  });

  test('a strip has one colour a column, the slightest is still seen', () => {
    const words = new Uint32Array(2 * 512).fill(0xffffffff, 0, 1);
    const strip: ColumnsTile = {...base, kind: 'strip', words};
    expect(pictureHeight(strip, 22)).toBe(1);
    words[0] = 1;
    words[1] = 1 | 1 << 16;
    const colour = pixel(tilePixels(strip, row('segment'), 1, book, null), 0);
    expect(colour && LIGHT.lane.r - colour.r).toBeGreaterThan(30);
    words[0] = 0xffffffff;
    words[1] = 0;
    expect(pixel(tilePixels(strip, row('segment'), 1, book, null), 0)).toBeNull();
  });
});
