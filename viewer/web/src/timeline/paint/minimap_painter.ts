// The whole trace in one strip, from the overview: height = CPU load, colour =
// dominant process. What is not read yet is hatched: height = bytes recorded. A
// frame shows the window in view.

import {NO_KEY, type Recorded} from '../../api/schema';
import {stripCoverage, stripKey} from '../../api/tile_decode';
import {css, mix} from '../../core/palette';
import type {Extent} from '../../core/extent';
import type {StyleBook} from '../../core/style_book';
import {Hatches} from './hatches';

const TICKS = 8; // height of what was found
const TEXT = 18; // room for one, above the bars

// Hits, by columns of the whole trace.
export interface Places {
  all: Uint8Array; // 1: a hit is in this column
  chosen: Uint8Array; // the hit that Enter went to
}

export interface MinimapScene {
  width: number;
  height: number;
  ratio: number;
  extent: Extent;
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
  private readonly hatches = new Hatches();

  constructor(private readonly overview: Uint32Array) {}

  paint(context: CanvasRenderingContext2D, scene: MinimapScene, book: StyleBook): void {
    const size = `${scene.width}/${scene.height}/${scene.ratio}`;
    if (!this.bars || this.book !== book || this.barsOf !== size) {
      this.bars ??= document.createElement('canvas');
      this.bars.width = Math.max(1, Math.round(scene.width * scene.ratio));
      this.bars.height = Math.max(1, Math.round(scene.height * scene.ratio));
      const brush = this.bars.getContext('2d');
      if (brush) paintBars(brush, this.overview, scene, book);
      const {recorded} = scene.extent;
      if (brush && recorded) paintUnread(brush, scene, recorded, this.hatches, book);
      this.book = book;
      this.barsOf = size;
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.bars, 0, 0);
    paintMarks(context, scene, book);
  }
}

// Pixels of what is read.
function readWidth({width, extent}: MinimapScene): number {
  return width * (extent.durationNs / extent.wholeNs);
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
  const pixels = Math.max(1, Math.floor(readWidth(scene)));
  for (let x = 0; x < pixels; ++x) {
    const [first, last] = columnsAt(x, pixels, scene.columns);
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

// The columns of a pixel.
function columnsAt(x: number, pixels: number, columns: number): [first: number, last: number] {
  const first = Math.floor(x * columns / pixels);
  return [first, Math.max(first + 1, Math.floor((x + 1) * columns / pixels))];
}

// Behind what is read: bytes of the kernel's records, on top of them those of
// threads' hooks, and at the upper edge where some were lost.
function paintUnread(
    context: CanvasRenderingContext2D, scene: MinimapScene,
    {cpu_bytes, thread_bytes, lost}: Recorded, hatches: Hatches, {theme}: StyleBook): void {
  const {width, height} = scene;
  const from = Math.ceil(readWidth(scene));
  hatches.fillRect(context, theme.muted, 0.35, from, 0, width, height);
  const most = cpu_bytes.reduce((top, bytes, column) => Math.max(top, bytes + (thread_bytes[column] ?? 0)), 1);
  const kernel = css(mix(theme.lane, theme.ink, 0.5));
  const hooks = css(mix(theme.lane, theme.ink, 0.3));
  for (let x = from; x < width; ++x) {
    const [first, last] = columnsAt(x, width, cpu_bytes.length);
    const bar = (bytes: readonly number[]): number =>
        bytes.slice(first, last).reduce((sum, one) => sum + one, 0) / (last - first) / most * (height - TEXT - 1);
    const [low, high] = [bar(cpu_bytes), bar(thread_bytes)];
    const all = low + high > 0 ? Math.max(low + high, 1) : 0;
    context.fillStyle = hooks;
    context.fillRect(x, height - 1 - all, 1, all);
    context.fillStyle = kernel;
    context.fillRect(x, height - 1 - low, 1, low);
    context.fillStyle = css(theme.loss);
    if (lost.slice(first, last).includes(1)) context.fillRect(x, 0, 1.5, 4);
  }
  context.fillStyle = css(theme.ink);
  context.font = '11px system-ui, sans-serif';
  const text = 'not read yet';
  if (context.measureText(text).width < width - from - 8) context.fillText(text, from + 4, TEXT - 4);
}

function paintMarks(context: CanvasRenderingContext2D, scene: MinimapScene, book: StyleBook): void {
  const {height} = scene;
  const theme = book.theme;
  context.setTransform(scene.ratio, 0, 0, scene.ratio, 0, 0);
  const width = readWidth(scene);
  const px = (at: number): number => at / scene.extent.durationNs * width;
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
  if (scene.places) paintPlaces(context, {width, height}, scene.places, book);
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
    context: CanvasRenderingContext2D, {width, height}: Pick<MinimapScene, 'width'|'height'>,
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
