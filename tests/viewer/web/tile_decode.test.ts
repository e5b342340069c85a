import {COUNTER_FLAGS, COUNTER_WORDS, decodeTiles, sharesAt, statesAt, threadsAt, stripCount, stripCoverage, stripFlags, stripKey, tileName} from '../../../viewer/web/src/api/tile_decode';

// Writes a tile as specified in API.md, byte by byte.
function tile(kind: number, columns: number, items: number, body: (view: DataView) => void,
              entry: number): ArrayBuffer {
  const count = kind === 2 ? items : columns;
  const buffer = new ArrayBuffer(48 + entry * count);
  const view = new DataView(buffer);
  [...'PVT3'].forEach((letter, i) => { view.setUint8(i, letter.charCodeAt(0)); });
  view.setUint8(4, kind);
  view.setUint8(5, 20);
  view.setUint16(6, columns, true);
  view.setUint32(8, 7, true);
  view.setUint32(12, items, true);
  view.setFloat64(16, 3 * 512 * 2 ** 20, true);
  view.setFloat64(24, 2 ** 20, true);
  view.setUint32(32, 99, true);
  view.setUint32(36, buffer.byteLength, true);
  view.setBigUint64(40, 3n, true);
  body(new DataView(buffer, 48));
  return buffer;
}

function join(...parts: ArrayBuffer[]): ArrayBuffer {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(new Uint8Array(part), at);
    at += part.byteLength;
  }
  return bytes.buffer;
}

const strip = (): ArrayBuffer => tile(1, 512, 0, (view) => {
  view.setUint32(8 * 5, 42, true);
  view.setUint16(8 * 5 + 4, 1234, true);
  view.setUint8(8 * 5 + 6, 200);
  view.setUint8(8 * 5 + 7, 9);
}, 8);
const items = (): ArrayBuffer => tile(2, 0, 2, (view) => {
  view.setFloat64(32, 1e15 + 1, true);
  view.setFloat64(40, 1e15 + 3, true);
  view.setUint32(48, 4100, true);
  view.setUint32(52, 1, true);
  view.setUint32(60, 77, true);
}, 32);
const counter = (): ArrayBuffer => tile(3, 512, 0, (view) => {
  view.setFloat32(24 * 511 + 8, 2.5, true);
  view.setFloat32(24 * 511 + 16, Infinity, true);
  view.setUint32(24 * 511 + 20, 3, true);
}, 24);

describe('tile_decode', () => {
  test('several tiles in one answer, fields where API.md says', () => {
    const [a, b, c] = decodeTiles(join(strip(), items(), counter()));
    expect(a?.kind).toBe('strip');
    if (a?.kind !== 'strip') throw new Error('kind');
    expect(tileName(a)).toBe('7/20/3');
    expect(stripKey(a.words, 5)).toBe(42);
    expect(stripCount(a.words, 5)).toBe(1234);
    expect(stripCoverage(a.words, 5)).toBe(200);
    expect(stripFlags(a.words, 5)).toBe(9);
    if (b?.kind !== 'items') throw new Error('kind');
    // Exact to the nanosecond far into the trace.
    expect(b.items[1]).toEqual(
        {beginNs: 1e15 + 1, endNs: 1e15 + 3, key: 4100, flags: 1, leaf: 77});
    if (c?.kind !== 'counter') throw new Error('kind');
    expect(c.values[COUNTER_WORDS * 511 + 2]).toBe(2.5);
    expect(c.values[COUNTER_WORDS * 511 + 4]).toBe(Infinity);
    expect(c.flags[COUNTER_WORDS * 511 + COUNTER_FLAGS]).toBe(3);
  });

  test('shares of processes and of states are where API.md says', () => {
    const [who, what] = decodeTiles(join(
        tile(5, 512, 0, (view) => {
          view.setUint32(28 * 3, 42, true);
          view.setUint32(28 * 3 + 4, 7, true);
          for (const [i, value] of [200, 20, 0, 0, 5, 29, 1, 9].entries()) {
            view.setUint8(28 * 3 + 16 + i, value);
          }
          view.setUint16(28 * 3 + 24, 300, true);
        }, 28),
        tile(6, 512, 0, (view) => {
          view.setUint32(12 * 511, 3, true);
          view.setUint16(12 * 511 + 4, 17, true);
          for (const [i, value] of [1, 2, 3, 4].entries()) view.setUint8(12 * 511 + 8 + i, value);
        }, 12)));
    if (who?.kind !== 'shares' || what?.kind !== 'states') throw new Error('kind');
    expect(sharesAt(who.words, 3)).toEqual({
      keys: [{process: 42, share: 200}, {process: 7, share: 20}],
      other: 5, idle: 29, outside: 1, interrupts: 9, count: 300,
    });
    expect(statesAt(what.words, 511)).toEqual(
        {cpu: 3, count: 17, running: 1, waiting: 2, blocked: 3, unknown: 4});
  });

  test('threads of a process are floats', () => {
    const [threads] = decodeTiles(tile(7, 512, 0, (view) => {
      for (const [i, value] of [1.5, 0.25, 3].entries()) view.setFloat32(12 * 9 + 4 * i, value, true);
    }, 12));
    if (threads?.kind !== 'threads') throw new Error('kind');
    expect(threadsAt(threads.floats, 9)).toEqual({running: 1.5, waiting: 0.25, dispatches: 3});
  });

  test('an answer cut anywhere but between tiles throws', () => {
    const whole = join(strip(), items());
    for (let size = 1; size < whole.byteLength; size += 13) {
      if (size === strip().byteLength) continue;
      expect(() => decodeTiles(whole.slice(0, size))).toThrow(RangeError);
    }
    expect(decodeTiles(new ArrayBuffer(0))).toEqual([]);
  });

  test('a tile whose size does not fit its kind throws', () => {
    const bad = strip();
    new DataView(bad).setUint8(4, 3);
    expect(() => decodeTiles(bad)).toThrow(/wrong size/);
  });
});
