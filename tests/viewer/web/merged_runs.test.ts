import {COLUMN_MERGED, NO_KEY} from '../../../viewer/web/src/api/schema';
import {type StripTile, TILE_COLUMNS} from '../../../viewer/web/src/api/tile_decode';
import {mergedRuns} from '../../../viewer/web/src/timeline/paint/merged_runs';

// Columns of [key, calls, merged].
function tile(index: number, columns: readonly (readonly [number, number, boolean])[]): StripTile {
  const words = new Uint32Array(2 * TILE_COLUMNS);
  for (let i = 0; i < TILE_COLUMNS; ++i) {
    const [key, calls, merged] = columns[i] ?? [NO_KEY, 0, false];
    words[2 * i] = key;
    words[2 * i + 1] = (calls | (key === NO_KEY ? 0 : 255 << 16) | (merged ? COLUMN_MERGED << 24 : 0)) >>> 0;
  }
  return {kind: 'strip', row: 1, level: 0, index, beginNs: index * TILE_COLUMNS, columnNs: 1, bytes: 0, words};
}
const whole = (one: StripTile) => ({tile: one, fromNs: one.beginNs, toNs: one.beginNs + TILE_COLUMNS});

describe('merged runs', () => {
  const view = {startNs: 0, nsPerPx: 1, widthPx: 2 * TILE_COLUMNS};

  it('adds the calls that begin in neighbouring merged columns', () => {
    const runs = mergedRuns([whole(tile(0, [[7, 3, true], [7, 0, false], [7, 2, true], [7, 5, true], [8, 4, true]]))], view);
    expect(runs).toEqual([
      {left: 0, right: 1, calls: 3, more: false, key: 7},
      {left: 2, right: 5, calls: 11, more: false, key: NO_KEY},
    ]);
  });

  it('goes on across tiles, and says where a column has more calls than it can say', () => {
    const left = tile(0, Array.from({length: TILE_COLUMNS}, () => [7, 2, true] as const));
    const right = tile(1, [[7, 0xffff, true]]);
    expect(mergedRuns([whole(left), whole(right)], view)).toEqual(
        [{left: 0, right: TILE_COLUMNS + 1, calls: 2 * TILE_COLUMNS + 0xffff, more: true, key: 7}]);
  });

  it('has the columns in view only, and none of single calls', () => {
    const one = tile(0, Array.from({length: TILE_COLUMNS}, (_, i) => [7, 2, i % 8 !== 0] as const));
    const runs = mergedRuns([whole(one)], {startNs: 10, nsPerPx: 0.1, widthPx: 40});
    expect(runs).toEqual([{left: 0, right: 40, calls: 8, more: false, key: 7}]);
  });
});
