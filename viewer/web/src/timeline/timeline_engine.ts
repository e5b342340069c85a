// The canvases and their one frame scheduler: dirty bits for each layer; no
// other code draws. Owns tiles, atlas and pointer handling.

import {effect} from '@preact/signals-core';

import type {LossItem} from '../api/schema';
import {type Tile, TILE_COLUMNS} from '../api/tile_decode';
import type {AppModel} from '../core/app_model';
import {type Lane, type SubRow, visibleLanes} from './rows/lanes';
import {clean} from '../core/names';
import {TileCache} from './tiles/tile_cache';
import {TileLoader} from './tiles/tile_loader';
import {endNs, levelFor, tileSpan, toNs, toPx} from '../core/viewport';
import {MinimapPainter} from './paint/minimap_painter';
import {type Extent, type OverlayScene, paintOverlay, type WaitMark} from './paint/overlay_painter';
import type {Brush} from './paint/brush';
import {drawPicture, paintPicture} from './paint/picture';
import {paintRuler} from './paint/ruler_painter';
import {StripAtlas} from './paint/strip_atlas';
import {StyleBook} from '../core/style_book';
import {counterTop} from './tiles/tile_lookup';
import {type Scene, TimelinePainter} from './paint/timeline_painter';
import {paintUnfolding} from './paint/unfolding_painter';
import {formatInstant} from '../core/units';
import {reducedMotion} from '../core/motion';
import {safePalette, theme} from '../core/theme';
import {unfoldingInSight} from './unfolding_in_sight';

const CACHE_BYTES = 24 << 20; // some ten screens
export const RULER_HEIGHT = 28;
export const MINIMAP_HEIGHT = 52;
const GUTTER_WIDTH = 200; // of the labels of a picture

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
  book: StyleBook;
  readonly dispose: () => void; // when another engine takes its place
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

  constructor(private readonly model: AppModel,
              overview: Uint32Array) {
    this.minimapPainter = new MinimapPainter(overview);
    this.book = new StyleBook(model.names, theme.value);
    this.loader = new TileLoader(
        model.client, this.cache, () => {
          this.invalidate();
          this.onFirstTiles();
          this.onFirstTiles = () => undefined;
        },
        (message) => {
          if (!model.lost.peek()) model.error.value = message;
        });
    effect(() => {
      if (!model.lost.value) this.invalidate();
    });
    // The theme and the system's setting live longer than the engine.
    const ends = [
      effect(() => {
        this.book = new StyleBook(model.names, theme.value);
        ++this.stamp;
        this.invalidate();
      }),
      effect(() => {
        model.reducedMotion.value = reducedMotion.value;
      }),
      effect(() => {
        model.safePalette.value = safePalette.value;
      }),
    ];
    this.dispose = () => {
      for (const end of ends) end();
    };
    effect(() => {
      void model.names.changed.value;
      if (this.book.hookCount !== model.names.hooks.size) {
        this.book = new StyleBook(model.names, theme.peek());
        ++this.stamp;
      }
      this.invalidate();
    });
    effect(() => {
      void model.highlight.value;
      ++this.stamp;
      this.invalidate();
    });
    effect(() => {
      void [model.view.value, model.scrollY.value, model.lanes.value, model.viewHeight.value];
      this.invalidate();
    });
    effect(() => {
      void [model.selection.value, model.comparison.before.value, model.playback.value, model.hover.value, model.wait.value, model.hoverWait.answer.value,
            model.item.value, model.findPlaces.places.value];
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
    return !this.scheduled && !this.loader.busy && this.model.pending === 0 &&
        this.model.names.pending === 0 && !this.model.rowTree.waiting;
  }

  lanesInSight(): Lane[] {
    const top = this.model.scrollY.peek();
    return visibleLanes(
        this.model.lanes.peek(), top, top + this.model.viewHeight.peek());
  }

  scene(): Scene {
    const view = this.model.view.peek();
    return {
      view,
      lanes: this.lanesInSight(),
      scrollY: this.model.scrollY.peek(),
      height: this.model.viewHeight.peek(),
      durationNs: this.model.durationNs,
      maxLevel: this.model.names.trace.max_level,
      ratio: devicePixelRatio || 1,
      highlight: this.model.highlight.peek(),
      stamp: this.stamp,
      counterTops: this.model.counterTops.peek(),
    };
  }

  // Lane and row under a point of the canvas.
  hit(x: number, y: number): {lane: Lane; row: SubRow|null; at: number}|null {
    const top = this.model.scrollY.peek();
    const lane = visibleLanes(this.model.lanes.peek(), top + y, top + y + 1)[0];
    if (!lane) return null;
    const inside = top + y - lane.y;
    const row = lane.rows.find(
        (part) => inside >= part.y && inside < part.y + part.height + 1);
    return {lane, row: row ?? null, at: toNs(this.model.view.peek(), x)};
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
    const wait = this.model.wait.peek() ?? this.model.hoverWait.answer.peek();
    if (!wait) return null;
    const view = this.model.view.peek();
    const rowOf = (kind: 'run'|'cpu', owner: number|null): Extent|null => {
      const lane = this.model.lanes.peek().find(
          (one) => one.kind === (kind === 'run' ? 'thread' : 'cpu') && one.owner === owner);
      const part = lane?.rows.find((row) => row.kind === kind);
      return lane && part ? {y: lane.y + part.y - this.model.scrollY.peek(), height: part.height} : null;
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

  private itemMark(): OverlayScene['item'] {
    const item = this.model.item.peek();
    if (!item) return null;
    const view = this.model.view.peek();
    for (const lane of this.lanesInSight()) {
      const part = lane.rows.find((row) => row.row === item.row);
      if (!part) continue;
      const [from, to] = [Math.max(toPx(view, item.from), -4), Math.min(toPx(view, item.to), view.widthPx + 4)];
      return {from, to, y: lane.y + part.y - this.model.scrollY.peek(), height: part.height};
    }
    return null;
  }

  // What is on screen.
  picture(): HTMLCanvasElement|null {
    const {base, overlay, ruler} = this;
    return base && overlay && ruler && paintPicture({...this.pictureFrame(), ruler, layers: [base, overlay]});
  }
  // The same as SVG.
  drawing(): string {
    const scene = this.scene();
    scene.counterTops = this.model.counterTops.peek();
    return drawPicture({
      ...this.pictureFrame(),
      width: scene.view.widthPx,
      height: scene.height,
      rulerHeight: RULER_HEIGHT,
      paintRuler: (brush) => this.paintRuler(brush),
      paintRows: (brush) => {
        // Patterns are of one brush: this painter has no others.
        new TimelinePainter(this.cache, this.atlas).paint(brush, scene, this.book);
        this.paintOver(brush);
      },
    });
  }
  private pictureFrame() {
    const {model} = this;
    const name = clean(model.names.trace.path?.replace(/\/+$/, '').split('/').pop() || 'trace');
    return {
      title: `${name}   ${formatInstant(model.playback.peek().at, 1)}`,
      gutter: GUTTER_WIDTH,
      ratio: devicePixelRatio || 1,
      theme: this.book.theme,
      labels: this.lanesInSight().map(({label, detail, y, height}) => ({text: label, detail, height, y: y - model.scrollY.peek()})),
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
    if (this.model.playback.peek().playing && !this.manualClock) {
      this.model.transport.play(elapsed);
    }
    const begin = performance.now();
    if (this.dirtyBase) this.paintBase();
    if (this.dirtyTop) this.paintTop();
    this.dirtyBase = this.dirtyTop = false;
    ++this.stats.frames;
    this.stats.drawMs.push(performance.now() - begin);
    if (this.stats.drawMs.length > 600) this.stats.drawMs.shift();
    if (this.model.playback.peek().playing && !this.manualClock) {
      this.schedule();
    } else {
      this.lastFrame = 0;
    }
  }

  private paintBase(): void {
    if (!this.base) return;
    const context = fitted(this.base, this.model.view.peek().widthPx, this.model.viewHeight.peek());
    if (!context) return;
    const scene = this.scene();
    const keys = this.painter.wanted(scene);
    const quality = this.qualityKeys();
    if (!this.model.lost.peek()) this.loader.want([...keys, ...quality]);
    scene.counterTops = this.counterTops(scene);
    this.painter.paint(context, scene, this.book);
  }

  // The scales of the counter strips in sight.
  private counterTops(scene: Scene): ReadonlyMap<number, number> {
    const tops = new Map<number, number>();
    for (const {row, kind} of scene.lanes.flatMap((lane) => lane.rows)) {
      if (kind !== 'counter') continue;
      tops.set(row, counterTop(this.cache, row, scene.view, this.painter.level(scene, 'counter'), scene.durationNs));
    }
    const old = this.model.counterTops.peek();
    if (old.size === tops.size && [...tops].every(([row, top]) => old.get(row) === top)) return old;
    this.model.counterTops.value = tops;
    return tops;
  }

  private qualityKeys(): {row: number; level: number; index: number}[] {
    const row = this.model.names.rows.find((item) => item.kind === 'quality');
    if (!row || row.leaves === 0) return [];
    const view = this.model.view.peek();
    const level = levelFor(view.nsPerPx / (devicePixelRatio || 1), this.model.names.trace.max_level);
    const span = tileSpan(view.startNs, endNs(view), level, TILE_COLUMNS, this.model.durationNs);
    const keys = [];
    for (let index = span.first; index <= span.last; ++index) {
      keys.push({row: row.row, level, index});
    }
    return keys;
  }

  private paintOver(context: Brush): void {
    const model = this.model;
    const play = model.playback.peek();
    const scene: OverlayScene = {
      view: model.view.peek(),
      height: model.viewHeight.peek(),
      ratio: devicePixelRatio || 1,
      selection: model.selection.peek(),
      compared: model.comparison.before.peek(),
      durationNs: model.durationNs,
      playhead: play.at,
      playing: play.playing,
      wait: this.waitMark(),
      item: this.itemMark(),
      pointerX: model.hover.peek()?.x ?? null,
      quality: this.qualityKeys().flatMap(
          (key) => this.cache.cover(key, TILE_COLUMNS).map((patch) => patch.tile)),
    };
    paintOverlay(context, scene, this.book.theme);
    const {flashes, sparks} = unfoldingInSight(model, this);
    paintUnfolding(context, flashes, sparks, this.book.theme);
  }
  private paintRuler(context: Brush): void {
    const {model, book} = this;
    paintRuler(context, model.view.peek(), RULER_HEIGHT, devicePixelRatio || 1, model.playback.peek().at, model.durationNs, book.theme);
  }

  private paintTop(): void {
    const model = this.model;
    const view = model.view.peek();
    if (this.overlay) {
      const context = fitted(this.overlay, view.widthPx, model.viewHeight.peek());
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
              selection: model.selection.peek(),
              height: MINIMAP_HEIGHT,
              durationNs: model.durationNs,
              columns: model.names.trace.overview_columns,
              from: view.startNs,
              to: endNs(view),
              playhead: model.playback.peek().at,
              losses: this.losses,
              places: model.findPlaces.places.peek(),
            },
            this.book);
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
