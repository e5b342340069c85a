import type {ItemsTile} from '../../../viewer/web/src/api/tile_decode';
import type {Lane} from '../../../viewer/web/src/timeline/rows/lanes';
import type {Names} from '../../../viewer/web/src/core/names';
import {TileCache} from '../../../viewer/web/src/timeline/tiles/tile_cache';
import {LIGHT} from '../../../viewer/web/src/core/palette';
import {paintRuler} from '../../../viewer/web/src/timeline/paint/ruler_painter';
import type {StripAtlas} from '../../../viewer/web/src/timeline/paint/strip_atlas';
import type {StyleBook} from '../../../viewer/web/src/core/style_book';
import {TimelinePainter} from '../../../viewer/web/src/timeline/paint/timeline_painter';

interface Text {
  text: string;
  x: number;
}
// A context that keeps the texts; a letter is 6 px wide.
function recorder(): {context: CanvasRenderingContext2D; texts: Text[]} {
  const texts: Text[] = [];
  const context = new Proxy({} as CanvasRenderingContext2D, {
    get: (_, name) =>
        name === 'measureText' ? (text: string) => ({width: 6 * text.length}) :
        name === 'fillText' ? (text: string, x: number) => texts.push({text, x}) :
                              (): void => undefined,
    set: () => true,
  });
  return {context, texts};
}

describe('ruler', () => {
  test('no label is cut, wherever the view begins', () => {
    for (let start = 0; start < 2e9; start += 3.7e6) {
      const {context, texts} = recorder();
      const view = {startNs: start, nsPerPx: 1e6, widthPx: 1000};
      paintRuler(context, view, 28, 1, 0, 3e9, LIGHT);
      expect(texts.length).toBeGreaterThan(2);
      for (const {text, x} of texts) {
        expect(x).toBeGreaterThanOrEqual(0);
        expect(x + 6 * text.length).toBeLessThanOrEqual(1000);
      }
    }
  });
});

describe('labels', () => {
  const names = {
    processes: new Map(), threads: new Map(),
    hooks: new Map([[1, {hook: 1, kind: 1, name: 'server:render_page', location: ''}]]),
  } as unknown as Names;
  const book = {theme: LIGHT, names, item: () => LIGHT.other} as unknown as StyleBook;
  // One segment over the edge of two tiles of 512 ns.
  function painted(beginNs: number, endNs: number): string[] {
    const cache = new TileCache(1 << 20);
    for (const index of [0, 1]) {
      const tile: ItemsTile = {
        row: 3, level: 0, index, kind: 'items', beginNs: 512 * index, columnNs: 1, bytes: 100,
        items: [{beginNs, endNs, key: 1, flags: 0, leaf: 0}],
      };
      cache.put(tile);
    }
    const {context, texts} = recorder();
    const lane: Lane = {
      id: 'thread0', kind: 'thread', label: '', detail: '', owner: 0, y: 0, height: 30, toggle: null, process: -1,
      rows: [{row: 3, kind: 'segment', process: 0, y: 0, height: 16}],
    };
    new TimelinePainter(cache, {} as StripAtlas).paint(context, {
      view: {startNs: 0, nsPerPx: 1, widthPx: 1024}, lanes: [lane], topOf: () => 0, height: 100,
      durationNs: 1024, maxLevel: 54, ratio: 1, highlight: null, stamp: 1, counterTops: new Map(), trees: [],
    }, book);
    return texts.map(({text}) => text);
  }
  test('a label crosses the edge of a tile, whole and once', () => {
    expect(painted(480, 700)).toEqual(['server:render_page']);
  });
  test('with less room the name without its provider, then its begin', () => {
    expect(painted(480, 570)).toEqual(['render_page']);
    expect(painted(480, 530)[0]).toMatch(/^ren.*\u2026$/);
    expect(painted(480, 490)).toEqual([]);
  });
});
