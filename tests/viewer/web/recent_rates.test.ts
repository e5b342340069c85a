import type {Client} from '../../../viewer/web/src/api/client';
import {COUNTER_EMPTY} from '../../../viewer/web/src/api/schema';
import type {CounterTile, TileKey} from '../../../viewer/web/src/api/tile_decode';
import type {Core} from '../../../viewer/web/src/core/core';
import {RATE_COLUMNS, RecentRates, sparkPath} from '../../../viewer/web/src/replay/recent_rates';

// Tiles whose column `i` has the rate `i`, but that each tenth is not known.
function rates() {
  const asked: TileKey[][] = [];
  const client = {
    tiles: async (keys: readonly TileKey[]): Promise<CounterTile[]> => {
      asked.push([...keys]);
      return keys.map((key) => {
        const values = new Float32Array(6 * 512);
        const flags = new Uint32Array(values.buffer);
        for (let i = 0; i < 512; ++i) {
          const column = key.index * 512 + i;
          values[6 * i + 2] = column;
          flags[6 * i + 5] = column % 10 === 0 ? COUNTER_EMPTY : 0;
        }
        return {...key, kind: 'counter', beginNs: 0, columnNs: 2 ** key.level, bytes: 0, values, flags};
      });
    },
  } as unknown as Client;
  const core = {
    client, durationNs: 1e9, names: {events: ['a', 'b'], trace: {counter_rows_from: 7, cpus: 2, max_level: 54}},
    requests: {lost: {peek: () => false}, guard: (work: () => Promise<void>) => work()},
  } as unknown as Core;
  return {recent: new RecentRates(core), asked};
}

describe('the rates before the playhead', () => {
  test('are the columns that end at it, over the edge of a tile, too; requested once', async () => {
    const {recent, asked} = rates();
    const [at, window] = [520 * 1024 + 3, 40 * 1024]; // columns of 2^10 ns, a tile ends at column 512
    expect(recent.of(1, at, window).every((rate) => rate === null)).toBe(true);
    recent.load(at, window);
    recent.load(at, window);
    await Promise.resolve();
    await Promise.resolve();
    expect(asked).toEqual([[7, 10].flatMap((row) => [0, 1].map((index) => ({row, level: 10, index})))]);
    const shown = recent.of(1, at, window);
    expect(shown).toEqual(Array.from({length: RATE_COLUMNS}, (_, i) => (481 + i) % 10 === 0 ? null : 481 + i));
    recent.load(at + 1024, window);
    expect(asked.length).toBe(1);
  });
  test('before the trace nothing is known', () => {
    const {recent} = rates();
    expect(recent.of(0, 5, 40).slice(0, 34)).toEqual(Array.from({length: 34}, () => null));
  });
  test('a line breaks where a rate is not known', () => {
    expect(sparkPath([0, 10, null, 5], 10, 14)).toBe('M0 13.0h.5L1 1.0M3 7.0h.5');
  });
});
