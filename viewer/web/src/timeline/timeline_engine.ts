// The canvases and their one frame scheduler: dirty bits for each layer; no
// other code draws. Owns tiles, atlas and pointer handling.

import {effect, signal} from '@preact/signals-core';

import type {LossItem} from '../api/schema';
import {type Tile, TILE_COLUMNS} from '../api/tile_decode';
import type {Core} from '../core/core';
import type {Selected} from '../core/selection';
import type {Lane, SubRow} from './rows/lanes';
import {clean} from '../core/names';
import {TileCache} from './tiles/tile_cache';
import {TileLoader} from './tiles/tile_loader';
import {endNs, levelFor, tileSpan, toNs, toPx} from '../core/viewport';
import {MinimapPainter} from './paint/minimap_painter';
import {type Extent, type OverlayScene, paintOverlay, type WaitMark} from './paint/overlay_painter';
import type {Brush} from './paint/brush';
import {drawPicture, paintPicture} from './paint/picture';
import {paintFlags, paintFlagsOnRuler} from './paint/flag_painter';
import {paintRuler} from './paint/ruler_painter';
import {StripAtlas} from './paint/strip_atlas';
import {columnAt, counterTop} from './tiles/tile_lookup';
import {type Scene, TimelinePainter} from './paint/timeline_painter';
import {paintUnfolding} from './paint/unfolding_painter';
import {formatInstant} from '../core/units';
import type {Timeline} from './timeline';
import {unfoldingInSight} from './unfolding_in_sight';

const CACHE_BYTES = 24 << 20; // some ten screens
export const RULER_HEIGHT = 28;
export const MINIMAP_HEIGHT = 52;
const GUTTER_WIDTH = 200; // of the labels of a picture
const LEAST_LABEL_PX = 12; // lower lanes have no text

export interface FrameStats {
  frames: number;
  drawMs: number[]; // the last 600
}

export class TimelineEngine {
  readonly atlas = new StripAtlas();
  readonly cache = new TileCache(CACHE_BYTES, (tile) => {
    if (tile.kind !== 'items' && tile.kind !== 'counter') this.atlas.release(tile);
  });
  readonly loader: TileLoader;
  readonly painter = new TimelinePainter(this.cache, this.atlas);
  readonly stats: FrameStats = {frames: 0, drawMs: []};
  readonly dispose: () => void; // when another engine takes its place
  onPlay: (elapsedMs: number) => void = () => undefined; // once a frame, while it plays
  readonly arrived = signal(0); // answers with tiles
  // In tests the clock is moved by hand (window.__pv.tick).
  manualClock = false;
  losses: readonly LossItem[] = []; // loaded after the first paint
  onFirstTiles: () => void = () => undefined;

  private readonly minimapPainter: MinimapPainter;
  private base: HTMLCanvasElement|null = null;
  private overlay: HTMLCanvasElement|null = null;
  private ruler: HTMLCanvasElement|null = null;
  private minimap: HTMLCanvasElement|null = null;
  private stamp = 1;
  private dirtyBase = true;
  private dirtyTop = true;
  private scheduled = false;
  private lastFrame = 0;

  private readonly core: Core;

  constructor(readonly timeline: Timeline, overview: Uint32Array) {
    const {core} = timeline;
    this.core = core;
    this.minimapPainter = new MinimapPainter(overview);
    this.loader = new TileLoader(
        core.client, this.cache, () => {
          ++this.arrived.value;
          this.invalidate();
          this.onFirstTiles();
          this.onFirstTiles = () => undefined;
        },
        (message) => {
          if (!core.requests.lost.peek()) core.requests.error.value = message;
        });
    effect(() => {
      if (!core.requests.lost.value) this.invalidate();
    });
    // The theme lives longer than the engine.
    this.dispose = effect(() => {
      void core.book.value;
      ++this.stamp;
      this.invalidate();
    });
    effect(() => {
      void core.names.changed.value;
      this.invalidate();
    });
    effect(() => {
      void core.focus.process.value;
      ++this.stamp;
      this.invalidate();
    });
    effect(() => {
      void [core.view.viewport.value, core.view.scrollY.value, timeline.rows.lanes.value, core.view.height.value, timeline.trees.shown.value];
      this.invalidate();
    });
    effect(() => {
      void [core.range.chosen.value, core.range.compared.value, core.playback.play.value, core.focus.pointer.value, core.selection.wait.value, timeline.hoverWait.answer.value,
            core.selection.selected.value, timeline.places.value, timeline.flags.value, timeline.samples.shown.value, timeline.stacks.shown.value];
      this.dirtyTop = true;
      this.schedule();
    });
  }

  attach(base: HTMLCanvasElement, overlay: HTMLCanvasElement,
         ruler: HTMLCanvasElement, minimap: HTMLCanvasElement): void {
    [this.base, this.overlay, this.ruler, this.minimap] = [base, overlay, ruler, minimap];
    this.invalidate();
  }

  invalidate(): void {
    this.dirtyBase = true;
    this.dirtyTop = true;
    this.schedule();
  }

  get settled(): boolean {
    return !this.scheduled && !this.loader.busy && this.core.requests.pending === 0 &&
        this.core.names.pending === 0 && !this.timeline.rowTree.waiting;
  }

  lanesInSight(): Lane[] {
    return this.timeline.rows.inSight();
  }

  scene(): Scene {
    const view = this.core.view.viewport.peek();
    return {
      view,
      lanes: this.lanesInSight(),
      topOf: (lane) => this.timeline.rows.topOf(lane),
      height: this.core.view.height.peek(),
      durationNs: this.core.durationNs,
      maxLevel: this.core.names.trace.max_level,
      ratio: devicePixelRatio || 1,
      highlight: this.core.focus.process.peek(),
      stamp: this.stamp,
      counterTops: this.timeline.counterTops.peek(),
      trees: this.timeline.trees.inSight(),
    };
  }

  // Lane and row under a point of the canvas; `y`: from the lane's top.
  hit(x: number, y: number): {lane: Lane; row: SubRow|null; at: number; y: number}|null {
    const lane = this.timeline.rows.laneAt(y);
    if (!lane) return null;
    const inside = y - this.timeline.rows.topOf(lane);
    const row = lane.rows.find(
        (part) => inside >= part.y && inside < part.y + part.height + 1);
    return {lane, row: row ?? null, at: toNs(this.core.view.viewport.peek(), x), y: inside};
  }

  // The tile that holds `at` of a row, as drawn now.
  tileAt({row, kind}: SubRow, at: number): Tile|null {
    const scene = this.scene();
    const level = this.painter.level(scene, kind);
    const span = tileSpan(at, at + 1, level, TILE_COLUMNS, scene.durationNs);
    const patches = this.cache.cover({row, level, index: span.first}, TILE_COLUMNS);
    return patches.find((patch) => patch.fromNs <= at && at < patch.toNs)?.tile ?? null;
  }

  private waitMark(): WaitMark|null {
    // What is selected, else what is under the pointer.
    const wait = this.core.selection.wait.peek() ?? this.timeline.hoverWait.answer.peek();
    if (!wait) return null;
    const view = this.core.view.viewport.peek();
    const rowOf = (kind: 'run'|'cpu', owner: number|null): Extent|null => {
      const lane = this.timeline.rows.lanes.peek().find(
          (one) => one.kind === (kind === 'run' ? 'thread' : 'cpu') && one.owner === owner);
      const part = lane?.rows.find((row) => row.kind === kind);
      return lane && part ? this.timeline.rows.extentOf(lane, part) : null;
    };
    const byThread = wait.woken_by === 'thread';
    return {
      from: toPx(view, wait.begin_ns),
      to: toPx(view, wait.end_ns),
      row: rowOf('run', wait.thread),
      cpu: rowOf('cpu', wait.cpu),
      wakeUp: byThread ? {
        at: toPx(view, wait.state === 'waiting' ? wait.begin_ns : wait.end_ns),
        waker: rowOf('run', wait.waker),
      } : null,
    };
  }

  // Where the selected item is drawn: in the row where it was clicked, else in
  // that of its thread.
  private itemMark(): OverlayScene['item'] {
    const item = this.core.selection.selected.peek();
    if (!item || item.kind === 'range') return null;
    const view = this.core.view.viewport.peek();
    for (const lane of this.lanesInSight()) {
      const part = lane.rows.find((row) => item.row !== null ? row.row === item.row :
          lane.kind === 'thread' && lane.owner === item.thread && this.hasCall(row, item));
      if (!part) continue;
      const [from, to] = [Math.max(toPx(view, item.from), -4), Math.min(toPx(view, item.to), view.widthPx + 4)];
      return {from, to, ...this.timeline.rows.extentOf(lane, part)};
    }
    return null;
  }
  // Segments have a row for each depth, waits and dispatches the thread's.
  private hasCall(row: SubRow, {kind, hook, from, to}: Selected): boolean {
    if (kind !== 'segment' || row.kind !== 'segment') return row.kind === 'run' && kind !== 'segment';
    const middle = (from + to) / 2;
    const tile = this.tileAt(row, middle);
    if (tile?.kind === 'items') return tile.items.some((item) => item.beginNs === from && item.key === hook);
    return tile?.kind === 'strip' && columnAt(tile, middle)?.key === hook;
  }
  // The middle of it, if it is in sight.
  selectedPoint(): {x: number; y: number}|null {
    const mark = this.itemMark();
    const {widthPx} = this.core.view.viewport.peek();
    if (!mark || mark.to < 0 || mark.from > widthPx) return null;
    const y = mark.y + mark.height / 2;
    return y < 0 || y > this.core.view.height.peek() ? null : {x: (Math.max(mark.from, 0) + Math.min(mark.to, widthPx)) / 2, y};
  }

  // What is on screen.
  picture(): HTMLCanvasElement|null {
    const {base, overlay, ruler} = this;
    return base && overlay && ruler && paintPicture({...this.pictureFrame(), ruler, layers: [base, overlay]});
  }
  // The same as SVG.
  drawing(): string {
    const scene = this.scene();
    return drawPicture({
      ...this.pictureFrame(),
      width: scene.view.widthPx,
      height: scene.height,
      rulerHeight: RULER_HEIGHT,
      paintRuler: (brush) => this.paintRuler(brush),
      paintRows: (brush) => {
        // Patterns are of one brush: this painter has no others.
        new TimelinePainter(this.cache, this.atlas).paint(brush, scene, this.core.book.value);
        this.paintOver(brush);
      },
    });
  }
  private pictureFrame() {
    const {core} = this;
    const name = clean(core.names.trace.path?.replace(/\/+$/, '').split('/').pop() || 'trace');
    return {
      title: `${name}   ${formatInstant(core.playback.play.peek().at, 1)}`,
      gutter: GUTTER_WIDTH,
      ratio: devicePixelRatio || 1,
      theme: this.core.book.value.theme,
      labels: this.lanesInSight().map((lane) => ({
        text: lane.height < LEAST_LABEL_PX ? '' : lane.label, detail: lane.detail, height: lane.height, y: this.timeline.rows.topOf(lane),
      })),
    };
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame((now) => this.frame(now));
  }

  private frame(now: number): void {
    this.scheduled = false;
    const elapsed = this.lastFrame === 0 ? 16 : Math.min(now - this.lastFrame, 250);
    this.lastFrame = now;
    if (this.core.playback.play.peek().playing && !this.manualClock) {
      this.onPlay(elapsed);
    }
    const begin = performance.now();
    if (this.dirtyBase) this.paintBase();
    if (this.dirtyTop) this.paintTop();
    this.dirtyBase = this.dirtyTop = false;
    ++this.stats.frames;
    this.stats.drawMs.push(performance.now() - begin);
    if (this.stats.drawMs.length > 600) this.stats.drawMs.shift();
    if (this.core.playback.play.peek().playing && !this.manualClock) {
      this.schedule();
    } else {
      this.lastFrame = 0;
    }
  }

  private paintBase(): void {
    if (!this.base) return;
    const context = fitted(this.base, this.core.view.viewport.peek().widthPx, this.core.view.height.peek());
    if (!context) return;
    const scene = this.scene();
    const keys = this.painter.wanted(scene);
    const quality = this.qualityKeys();
    if (!this.core.requests.lost.peek()) this.loader.want([...keys, ...quality]);
    scene.counterTops = this.counterTops(scene);
    this.painter.paint(context, scene, this.core.book.value);
  }

  // The scales of the counter strips in sight.
  private counterTops(scene: Scene): ReadonlyMap<number, number> {
    const tops = new Map<number, number>();
    for (const {row, kind} of scene.lanes.flatMap((lane) => lane.rows)) {
      if (kind !== 'counter') continue;
      tops.set(row, counterTop(this.cache, row, scene.view, this.painter.level(scene, 'counter'), scene.durationNs));
    }
    const old = this.timeline.counterTops.peek();
    if (old.size === tops.size && [...tops].every(([row, top]) => old.get(row) === top)) return old;
    this.timeline.counterTops.value = tops;
    return tops;
  }

  private qualityKeys(): {row: number; level: number; index: number}[] {
    const row = this.core.names.rows.find((item) => item.kind === 'quality');
    if (!row || row.leaves === 0) return [];
    const view = this.core.view.viewport.peek();
    const level = levelFor(view.nsPerPx / (devicePixelRatio || 1), this.core.names.trace.max_level);
    const span = tileSpan(view.startNs, endNs(view), level, TILE_COLUMNS, this.core.durationNs);
    const keys = [];
    for (let index = span.first; index <= span.last; ++index) {
      keys.push({row: row.row, level, index});
    }
    return keys;
  }

  private paintOver(context: Brush): void {
    const {core, timeline} = this;
    const play = core.playback.play.peek();
    const scene: OverlayScene = {
      view: core.view.viewport.peek(),
      height: core.view.height.peek(),
      ratio: devicePixelRatio || 1,
      selection: core.range.chosen.peek(),
      compared: core.range.compared.peek(),
      durationNs: core.durationNs,
      playhead: play.at,
      playing: play.playing,
      wait: this.waitMark(),
      item: this.itemMark(),
      pointerX: core.focus.pointer.peek()?.x ?? null,
      quality: this.qualityKeys().flatMap(
          (key) => this.cache.cover(key, TILE_COLUMNS).map((patch) => patch.tile)),
    };
    paintOverlay(context, scene, this.core.book.value.theme);
    timeline.samples.paint(context, scene.view, core.book.value.theme);
    timeline.stacks.paint(context, scene.view, core.book.value.theme);
    paintFlags(context, timeline.flags.peek(), scene.view, scene.height, core.book.value.theme);
    const {flashes, sparks} = unfoldingInSight(core, timeline.rows, this);
    paintUnfolding(context, flashes, sparks, this.core.book.value.theme);
  }
  private paintRuler(context: Brush): void {
    const {core} = this;
    paintRuler(context, core.view.viewport.peek(), RULER_HEIGHT, devicePixelRatio || 1, core.playback.play.peek().at, core.durationNs, core.book.value.theme);
    paintFlagsOnRuler(context, this.timeline.flags.peek(), core.view.viewport.peek(), RULER_HEIGHT, core.book.value.theme);
  }

  private paintTop(): void {
    const {core, timeline} = this;
    const view = core.view.viewport.peek();
    if (this.overlay) {
      const context = fitted(this.overlay, view.widthPx, core.view.height.peek());
      if (context) this.paintOver(context);
    }
    if (this.ruler) {
      const context = fitted(this.ruler, view.widthPx, RULER_HEIGHT);
      if (context) this.paintRuler(context);
    }
    if (this.minimap) {
      const width = this.minimap.clientWidth;
      const context = fitted(this.minimap, width, MINIMAP_HEIGHT);
      if (context) {
        this.minimapPainter.paint(
            context, {
              width,
              ratio: devicePixelRatio || 1,
              selection: core.range.chosen.peek(),
              height: MINIMAP_HEIGHT,
              extent: core.extent,
              columns: core.names.trace.overview_columns,
              from: view.startNs,
              to: endNs(view),
              playhead: core.playback.play.peek().at,
              losses: this.losses,
              places: timeline.places.peek(),
            },
            this.core.book.value);
      }
    }
  }
}

function fitted(canvas: HTMLCanvasElement, width: number, height: number):
    CanvasRenderingContext2D|null {
  const ratio = devicePixelRatio || 1;
  const w = Math.max(1, Math.round(width * ratio));
  const h = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  return canvas.getContext('2d');
}
