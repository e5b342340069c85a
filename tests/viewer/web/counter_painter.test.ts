import type {CounterTile} from '../../../viewer/web/src/api/tile_decode';
import {DARK} from '../../../viewer/web/src/core/palette';
import type {Brush} from '../../../viewer/web/src/timeline/paint/brush';
import {paintCounter} from '../../../viewer/web/src/timeline/paint/counter_painter';
import type {Hatches} from '../../../viewer/web/src/timeline/paint/hatches';

// What is stroked, by its dashes: "M0,50 L10,50".
function strokes(columns: readonly {mean: number; lo: number; hi: number}[]): Map<string, string> {
  const values = new Float32Array(6 * 512);
  const flags = new Uint32Array(values.buffer);
  for (let i = 0; i < 512; ++i) {
    const column = columns[i];
    if (column) values.set([column.mean, column.mean, column.mean, column.lo, column.hi], 6 * i);
    else flags[6 * i + 5] = 4;
  }
  const tile: CounterTile = {kind: 'counter', row: 0, level: 0, index: 0, beginNs: 0, columnNs: 10, bytes: 0, values, flags};
  const seen = new Map<string, string>();
  let [dash, path] = ['', ''];
  const brush = new Proxy({} as Record<string, unknown>, {
    get: (all, name: string) => all[name] ?? ((...numbers: [number[]]|number[]) => {
      if (name === 'setLineDash') dash = String(numbers[0]);
      if (name === 'beginPath') path = '';
      if (name === 'moveTo' || name === 'lineTo') path += `${name[0]}${numbers.join(',')} `;
      if (name === 'stroke') seen.set(dash, path.trim());
    }),
  }) as unknown as Brush;
  paintCounter(
      brush, {view: {startNs: 0, nsPerPx: 1, widthPx: 100}, ratio: 1, durationNs: 100, top: 0, height: 100, left: 0, right: 100, most: 100},
      tile, {fillRect: () => undefined} as unknown as Hatches, DARK);
  return seen;
}

describe('a counter\'s strip', () => {
  test('where its dumps are, the mean is a line', () => {
    expect(strokes([{mean: 50, lo: 50, hi: 50}, {mean: 20, lo: 20, hi: 21}]).get('')).toBe('m0,50.5 l10,50.5 l10,80.5 l20,80.5');
  });
  test('between two dumps it was not measured: dots, which go on from the line', () => {
    const seen = strokes([{mean: 50, lo: 50, hi: 50}, {mean: 20, lo: 0, hi: 90}, {mean: 20, lo: 0, hi: Infinity}, {mean: 30, lo: 30, hi: 30}]);
    expect(seen.get('')).toBe('m0,50.5 l10,50.5 m30,80.5 l30,70.5 l40,70.5');
    expect(seen.get('1,2')).toBe('m10,50.5 l10,80.5 l20,80.5 l20,80.5 l30,80.5');
  });
  test('what is not known breaks it', () => {
    const gap = undefined as unknown as {mean: number; lo: number; hi: number};
    expect(strokes([{mean: 50, lo: 50, hi: 50}, gap, {mean: 20, lo: 0, hi: 90}]).get('1,2')).toBe('m20,80.5 l30,80.5');
  });
});
