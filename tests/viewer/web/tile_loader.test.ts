import {ApiError, type Client} from '../../../viewer/web/src/api/client';
import {type Tile, type TileKey, tileName} from '../../../viewer/web/src/api/tile_decode';
import {TileCache} from '../../../viewer/web/src/timeline/tiles/tile_cache';
import {TileLoader} from '../../../viewer/web/src/timeline/tiles/tile_loader';

const keys = (count: number): TileKey[] => Array.from({length: count}, (_, row) => ({row, level: 3, index: 0}));

// A page that requests `wanted` after each answer, as the painter does, until no
// request is under way. `answer` gives the tiles of a request, or throws.
async function settle(wanted: TileKey[], answer: (keys: readonly TileKey[]) => Tile[]) {
  const cache = new TileCache(1 << 20);
  const requests: number[] = [];
  const errors: string[] = [];
  const tries = new Map<string, number>();
  const client = {
    async tiles(asked: readonly TileKey[]) {
      requests.push(asked.length);
      if (requests.length > 2000) throw new Error('an endless loop');
      for (const key of asked) tries.set(tileName(key), (tries.get(tileName(key)) ?? 0) + 1);
      return answer(asked);
    },
  } as unknown as Client;
  const loader: TileLoader = new TileLoader(client, cache, () => loader.want(wanted), (message) => errors.push(message));
  loader.want(wanted);
  while (loader.busy) await new Promise((done) => setTimeout(done, 0));
  return {cache, requests, errors, tries};
}
const tileOf = (key: TileKey): Tile => ({...key, bytes: 48}) as unknown as Tile;

describe('TileLoader', () => {
  it('gives a tile that cannot be decoded up after three tries, and has all others', async () => {
    const wanted = keys(100);
    const {cache, errors, tries} = await settle(wanted, (asked) => {
      if (asked.some(({row}) => row === 42)) throw new RangeError('Unknown tile kind: kind=9');
      return asked.map(tileOf);
    });
    expect(wanted.filter((key) => !cache.has(key)).map(({row}) => row)).toEqual([42]);
    expect(tries.get(tileName(wanted[42]!))).toBe(3);
    expect(errors).toEqual(['A part of the timeline cannot be loaded: Unknown tile kind: kind=9']);
  });

  it('stops when the server refuses all, and says so once', async () => {
    const {requests, errors, tries} = await settle(keys(600), () => {
      throw new ApiError(500, '500 no', 'no');
    });
    expect(Math.max(...tries.values())).toBe(3);
    expect(requests.length).toBeLessThan(700);
    expect(errors.length).toBe(1);
  });

  it('stops when answers have other tiles than those requested', async () => {
    const {errors, tries} = await settle(keys(3), () => [tileOf({row: 99, level: 1, index: 0})]);
    expect([...tries.values()]).toEqual([3, 3, 3]);
    expect(errors).toEqual(['A part of the timeline cannot be loaded: The answer has none of the tiles']);
  });

  it('requests what did not fit again', async () => {
    const wanted = keys(10);
    const {cache, requests, errors} = await settle(wanted, (asked) => asked.slice(0, 4).map(tileOf));
    expect(wanted.every((key) => cache.has(key))).toBe(true);
    expect(requests).toEqual([10, 6, 2]);
    expect(errors).toEqual([]);
  });
});
