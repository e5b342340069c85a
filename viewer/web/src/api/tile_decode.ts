// Bytes of api/v1/tiles to tiles (API.md, "Tiles"). Each has memory of its own:
// a view of the answer would keep all of it.

export const TILE_COLUMNS = 512;
const HEADER_BYTES = 48;
const ITEM_BYTES = 120; // of an Item, with its two boxed numbers
const ENTRY_BYTES: Partial<Record<number, number>> = {2: 32, 3: 24, 5: 28, 6: 12, 7: 12};

export interface TileKey {
  row: number;
  level: number;
  index: number;
}
interface TileBase extends TileKey {
  beginNs: number;
  columnNs: number;
  bytes: number; // of memory
}
// Columns: key u32; then count u16, coverage u8, flags u8 in one u32.
export interface StripTile extends TileBase {
  kind: 'strip'|'density';
  words: Uint32Array;
}
// Who had a CPU; SHARES_WORDS words for each column (API.md, "Tiles").
export interface SharesTile extends TileBase {
  kind: 'shares';
  words: Uint32Array;
}
// What a thread did; STATES_WORDS words for each column.
export interface StatesTile extends TileBase {
  kind: 'states';
  words: Uint32Array;
}
// What the threads of a process did; 3 words for each column, floats.
export interface ThreadsTile extends TileBase {
  kind: 'threads';
  words: Uint32Array;
  floats: Float32Array; // the same bytes
}
export interface Item {
  beginNs: number;
  endNs: number;
  key: number;
  flags: number;
  leaf: number;
}
export interface ItemsTile extends TileBase {
  kind: 'items';
  items: Item[];
}
// For each column min, max, mean and the limits of the mean as f32, flags as u32.
export const COUNTER_WORDS = 6;
export const COUNTER_FLAGS = 5; // the word of a column that has them
export interface CounterTile extends TileBase {
  kind: 'counter';
  values: Float32Array;
  flags: Uint32Array;
}
export type ColumnsTile = StripTile|SharesTile|StatesTile|ThreadsTile;
export type Tile = ColumnsTile|ItemsTile|CounterTile;

export const stripKey = (words: Uint32Array, column: number): number =>
    words[2 * column] ?? 0xffffffff;
export const stripCount = (words: Uint32Array, column: number): number =>
    (words[2 * column + 1] ?? 0) & 0xffff;
export const stripCoverage = (words: Uint32Array, column: number): number =>
    ((words[2 * column + 1] ?? 0) >>> 16) & 0xff;
export const stripFlags = (words: Uint32Array, column: number): number =>
    (words[2 * column + 1] ?? 0) >>> 24;

const SHARES_WORDS = 7;
const STATES_WORDS = 3;
const THREADS_WORDS = 3;
const byte = (word: number|undefined, number: number): number =>
    ((word ?? 0) >>> (8 * number)) & 0xff;

// All shares are of 255.
export interface Shares {
  keys: {process: number; share: number}[]; // heaviest first
  other: number; // of all further processes
  idle: number;
  outside: number;
  interrupts: number; // a part of the others
  count: number; // dispatches, at most 65,535
}
export function sharesAt(words: Uint32Array, column: number): Shares {
  const at = SHARES_WORDS * column;
  const keys: Shares['keys'] = [];
  for (let i = 0; i < 4; ++i) {
    const share = byte(words[at + 4], i);
    if (share > 0) keys.push({process: words[at + i] ?? 0xffffffff, share});
  }
  const rest = words[at + 5];
  return {
    keys,
    other: byte(rest, 0),
    idle: byte(rest, 1),
    outside: byte(rest, 2),
    interrupts: byte(rest, 3),
    count: (words[at + 6] ?? 0) & 0xffff,
  };
}

export interface States {
  cpu: number; // where it ran most
  count: number; // dispatches, at most 65,535
  running: number;
  waiting: number;
  blocked: number;
  unknown: number;
}
export function statesAt(words: Uint32Array, column: number): States {
  const at = STATES_WORDS * column;
  const shares = words[at + 2];
  return {
    cpu: words[at] ?? 0xffffffff,
    count: (words[at + 1] ?? 0) & 0xffff,
    running: byte(shares, 0),
    waiting: byte(shares, 1),
    blocked: byte(shares, 2),
    unknown: byte(shares, 3),
  };
}

// Numbers of threads are averages over the column.
export interface Threads {
  running: number;
  waiting: number; // for a CPU
  dispatches: number;
}
export function threadsAt(floats: Float32Array, column: number): Threads {
  const at = THREADS_WORDS * column;
  return {running: floats[at] ?? 0, waiting: floats[at + 1] ?? 0, dispatches: floats[at + 2] ?? 0};
}

export function tileName(key: TileKey): string {
  return `${key.row}/${key.level}/${key.index}`;
}

// Throws RangeError if the bytes are not whole tiles.
export function decodeTiles(buffer: ArrayBuffer): Tile[] {
  const tiles: Tile[] = [];
  const view = new DataView(buffer);
  let at = 0;
  while (at < buffer.byteLength) {
    if (at + HEADER_BYTES > buffer.byteLength ||
        view.getUint32(at, true) !== 0x33545650) {
      throw new RangeError(`Not a tile: offset-bytes=${at}`);
    }
    const bytes = view.getUint32(at + 36, true);
    if (bytes < HEADER_BYTES || at + bytes > buffer.byteLength) {
      throw new RangeError(
          `Tile is cut: offset-bytes=${at}, tile-bytes=${bytes}, answer-bytes=${buffer.byteLength}`);
    }
    tiles.push(decodeTile(buffer, view, at, bytes));
    at += bytes;
  }
  return tiles;
}

function decodeTile(
    buffer: ArrayBuffer, view: DataView, at: number, bytes: number): Tile {
  const kind = view.getUint8(at + 4);
  const columns = view.getUint16(at + 6, true);
  const items = view.getUint32(at + 12, true);
  const base = {
    row: view.getUint32(at + 8, true),
    level: view.getUint8(at + 5),
    index: Number(view.getBigUint64(at + 40, true)),
    beginNs: view.getFloat64(at + 16, true),
    columnNs: view.getFloat64(at + 24, true),
    bytes,
  };
  const body = at + HEADER_BYTES;
  const words = (each: number): Uint32Array => new Uint32Array(buffer.slice(body, body + 4 * each * columns));
  const entryBytes = ENTRY_BYTES[kind] ?? 8;
  const wanted = HEADER_BYTES + entryBytes * (kind === 2 ? items : columns);
  if (wanted !== bytes) {
    throw new RangeError(
        `Tile has the wrong size: kind=${kind}, tile-bytes=${bytes}, expected-bytes=${wanted}`);
  }
  switch (kind) {
    case 1:
    case 4:
      return {
        ...base,
        kind: kind === 1 ? 'strip' : 'density',
        words: words(2),
      };
    case 2: {
      const list: Item[] = [];
      for (let i = 0; i < items; ++i) {
        const item = body + 32 * i;
        list.push({
          beginNs: view.getFloat64(item, true),
          endNs: view.getFloat64(item + 8, true),
          key: view.getUint32(item + 16, true),
          flags: view.getUint32(item + 20, true),
          leaf: view.getUint32(item + 28, true),
        });
      }
      return {...base, bytes: ITEM_BYTES * list.length, kind: 'items', items: list};
    }
    case 3: {
      const flags = words(COUNTER_WORDS);
      return {...base, kind: 'counter', values: new Float32Array(flags.buffer), flags};
    }
    case 5:
      return {
        ...base,
        kind: 'shares',
        words: words(SHARES_WORDS),
      };
    case 6:
      return {
        ...base,
        kind: 'states',
        words: words(STATES_WORDS),
      };
    case 7: {
      const own = words(THREADS_WORDS);
      return {...base, kind: 'threads', words: own, floats: new Float32Array(own.buffer)};
    }
    default:
      throw new RangeError(`Unknown tile kind: kind=${kind}`);
  }
}
