// The whole trace in one strip, from the overview: height = CPU load, colour =
// dominant process. A frame shows the window in view.

import {NO_KEY} from '../../api/schema';
import {stripCoverage, stripKey} from '../../api/tile_decode';
import {css, mix} from '../../core/palette';
import type {StyleBook} from '../../core/style_book';

const TICKS = 8; // height of what was found

// Hits, by columns of the whole trace.
export interface Places {
  all: Uint8Array; // 1: a hit is in this column
  chosen: Uint8Array; // the hit that Enter went to
}

export interface MinimapScene {
  width: number;
  height: number;
  ratio: number;
  durationNs: number;
  columns: number;
  from: number;
  to: number;
  playhead: number;
  selection: {from: number; to: number}|null;
  losses: readonly {begin_ns: number; end_ns: number}[];
  places: Places|null; // of what was found
}

// The bars are painted again only if their size or colours change.
export class MinimapPainter {
  private bars: HTMLCanvasElement|null = null;
  private barsOf = '';
  private book: StyleBook|null = null;

  constructor(private readonly overview: Uint32Array) {}

  paint(context: CanvasRenderingContext2D, scene: MinimapScene, book: StyleBook): void {
    const size = `${scene.width}/${scene.height}/${scene.ratio}`;
    if (!this.bars || this.book !== book || this.barsOf !== size) {
      this.bars ??= document.createElement('canvas');
      this.bars.width = Math.max(1, Math.round(scene.width * scene.ratio));
      this.bars.height = Math.max(1, Math.round(scene.height * scene.ratio));
      const brush = this.bars.getContext('2d');
      if (brush) paintBars(brush, this.overview, scene, book);
      this.book = book;
      this.barsOf = size;
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.bars, 0, 0);
    paintMarks(context, scene, book);
  }
}

function paintBars(
    context: CanvasRenderingContext2D, overview: Uint32Array,
    scene: MinimapScene, book: StyleBook): void {
  const {width, height} = scene;
  const theme = book.theme;
  context.setTransform(scene.ratio, 0, 0, scene.ratio, 0, 0);
  context.fillStyle = css(theme.lane);
  context.fillRect(0, 0, width, height);
  const base = height - 1;
  const room = height - 8;
  // One bar for each pixel: its busiest column gives the colour, their mean the
  // height.
  const pixels = Math.max(1, Math.floor(width));
  for (let x = 0; x < pixels; ++x) {
    const first = Math.floor(x * scene.columns / pixels);
    const last = Math.max(first + 1, Math.floor((x + 1) * scene.columns / pixels));
    let sum = 0;
    let most = -1;
    let key = NO_KEY;
    for (let column = first; column < last; ++column) {
      const coverage = stripCoverage(overview, column) / 255;
      sum += coverage;
      if (coverage > most) {
        most = coverage;
        key = stripKey(overview, column);
      }
    }
    const load = sum / (last - first);
    if (load <= 0) continue;
    context.fillStyle = css(mix(theme.lane, book.process(key), 0.92));
    const bar = Math.max(1, load * room);
    context.fillRect(x, base - bar, 1, bar);
  }
}

function paintMarks(context: CanvasRenderingContext2D, scene: MinimapScene, book: StyleBook): void {
  const {width, height, durationNs} = scene;
  const theme = book.theme;
  context.setTransform(scene.ratio, 0, 0, scene.ratio, 0, 0);
  const px = (at: number): number => at / durationNs * width;
  context.fillStyle = css(theme.loss);
  for (const loss of scene.losses) {
    context.fillRect(px(loss.begin_ns), 0, Math.max(1.5, px(loss.end_ns) - px(loss.begin_ns)), 4);
  }
  if (scene.selection) {
    context.fillStyle = css(theme.accent);
    context.globalAlpha = 0.22;
    context.fillRect(px(scene.selection.from), 0,
                     Math.max(1, px(scene.selection.to) - px(scene.selection.from)), height);
    context.globalAlpha = 1;
  }
  // Shade the part out of view.
  const a = Math.max(0, px(scene.from));
  const b = Math.min(width, px(scene.to));
  context.fillStyle = css(theme.background);
  context.globalAlpha = 0.5;
  context.fillRect(0, 0, a, height);
  context.fillRect(b, 0, width - b, height);
  context.globalAlpha = 1;
  if (scene.places) paintPlaces(context, scene, scene.places, book);
  context.strokeStyle = css(theme.accent);
  context.lineWidth = 1;
  const brush = Math.max(b - a, 3);
  context.strokeRect(a + 0.5, 0.5, brush - 1, height - 1);
  context.fillStyle = css(theme.accent);
  context.fillRect(a, height / 2 - 8, 2, 16);
  context.fillRect(a + brush - 2, height / 2 - 8, 2, 16);
  context.fillStyle = css(theme.loss);
  context.fillRect(px(scene.playhead) - 0.5, 0, 1, height);
}

// Ticks at the foot, of all hits and, higher, of the chosen one.
function paintPlaces(
    context: CanvasRenderingContext2D, {width, height}: MinimapScene,
    {all, chosen}: Places, book: StyleBook): void {
  const {theme} = book;
  context.fillStyle = css(theme.background);
  context.fillRect(0, height - TICKS - 1, width, TICKS + 1);
  const ticks = (places: Uint8Array, top: number): void => {
    for (const [column, here] of places.entries()) {
      const x = Math.floor(column / places.length * width);
      const next = Math.floor((column + 1) / places.length * width);
      if (here) context.fillRect(x, top, Math.max(next - x, 1.5), height - top);
    }
  };
  context.fillStyle = css(mix(theme.background, theme.ink, 0.45));
  ticks(all, height - TICKS + 2);
  context.fillStyle = css(theme.accent);
  ticks(chosen, height - TICKS);
}
