// Draws the lanes of the visible window from cached tiles, and returns the
// tiles that were missing. Its only state is the atlas; time and place are
// arguments.

import {LEAF_IDLE, LEAF_INFERRED, LEAF_OUTSIDE, NO_KEY, STATE_BLOCKED, STATE_UNKNOWN, STATE_WAITING} from '../../api/schema';
import {type ColumnsTile, type Item, type ItemsTile, TILE_COLUMNS, type TileKey} from '../../api/tile_decode';
import type {Lane, SubRow} from '../rows/lanes';
import {hookName, type Names, processName, processOf, threadName} from '../../core/names';
import type {Patch, TileCache} from '../tiles/tile_cache';
import {endNs, fit, levelFor, tileSpan, toPx, type Viewport} from '../../core/viewport';
import type {Brush} from './brush';
import {paintCounter} from './counter_painter';
import {Hatches} from './hatches';
import {paintMerged} from './merged_painter';
import {mergedRuns} from './merged_runs';
import {css, mix, type Rgb, textOn} from '../../core/palette';
import {paintRequest} from './request_painter';
import type {StripAtlas} from './strip_atlas';
import type {StyleBook} from '../../core/style_book';
import {paintTrees, type TreeStrip} from './tree_painter';

export interface Scene {
  view: Viewport;
  lanes: readonly Lane[]; // visible ones, those over others last
  topOf(lane: Lane): number;
  height: number;
  durationNs: number;
  maxLevel: number;
  ratio: number; // device pixels per CSS pixel
  highlight: number|null;
  stamp: number;
  counterTops: ReadonlyMap<number, number>; // scales of counter rows, per second
  trees: readonly TreeStrip[];
}

interface Label {
  item: Item;
  left: number;
  right: number;
  fill: Rgb;
}

const LEAST_LABEL = 23; // px of an item; a narrower one has no room for letters

// Levels between the drawn tiles and the ones kept as a reserve.
const COARSER = 4;
const NOT_RUNNING = STATE_WAITING | STATE_BLOCKED | STATE_UNKNOWN;

export const LABEL_FONT = '11px "Inter", "IBM Plex Sans", system-ui, "DejaVu Sans", sans-serif';

export class TimelinePainter {
  private readonly hatches = new Hatches();

  // Labels of the row that is painted, by begin.
  private readonly labels = new Map<number, Label>();

  constructor(private readonly cache: TileCache,
              private readonly atlas: StripAtlas) {}

  // Tiles to load, most important first: those in view; coarser ones, so that
  // no later move shows an empty row; their neighbours.
  wanted(scene: Scene): TileKey[] {
    const {view} = scene;
    const width = endNs(view) - view.startNs;
    const keys: TileKey[] = [];
    const add = (coarser: number, fromNs: number, toNs: number, zoom = scene): void => {
      for (const lane of scene.lanes) {
        for (const row of lane.rows) {
          const at = Math.min(this.level(zoom, row.kind) + coarser, scene.maxLevel);
          const span = tileSpan(fromNs, toNs, at, TILE_COLUMNS, scene.durationNs);
          for (let index = span.first; index <= span.last; ++index) {
            keys.push({row: row.row, level: at, index});
          }
        }
      }
    };
    add(0, view.startNs, endNs(view));
    add(COARSER, view.startNs - width, endNs(view) + width);
    add(0, view.startNs - width / 2, view.startNs);
    add(0, endNs(view), endNs(view) + width / 2);
    // The reserve of the whole trace, for who comes by a link and zooms out.
    add(COARSER, 0, scene.durationNs, {...scene, view: fit(scene.durationNs, view.widthPx)});
    return keys;
  }

  // Shares are drawn as the mean of the columns of a pixel. Where a column has
  // one key, the mean of two would be the colour of a third.
  level(scene: Scene, kind: SubRow['kind']): number {
    const fine = kind === 'cpu' || kind === 'process' || kind === 'run';
    return levelFor(scene.view.nsPerPx / scene.ratio, scene.maxLevel, fine);
  }

  paint(context: Brush, scene: Scene, book: StyleBook): void {
    const {view} = scene;
    const theme = book.theme;
    context.setTransform(scene.ratio, 0, 0, scene.ratio, 0, 0);
    context.fillStyle = css(theme.background);
    context.fillRect(0, 0, view.widthPx, scene.height);
    context.imageSmoothingEnabled = false;
    const left = Math.max(0, toPx(view, 0));
    const right = Math.min(view.widthPx, toPx(view, scene.durationNs));
    for (const lane of scene.lanes) {
      const top = scene.topOf(lane);
      if (lane.stuck) {
        context.fillStyle = css(theme.background);
        context.fillRect(0, top, view.widthPx, lane.height);
      }
      context.beginGroup?.(`${lane.label} ${lane.detail}`.trim());
      for (const row of lane.rows) {
        if (row.kind === 'cpu' || row.kind === 'process' || row.kind === 'counter' || row.kind === 'level') {
          context.fillStyle = css(theme.lane);
          context.fillRect(left, top + row.y, right - left, row.height);
        }
        this.paintRow(context, scene, book, row, top + row.y);
      }
      if (lane.request) paintRequest(context, lane.request, top, lane.height, view, book);
      context.fillStyle = css(theme.line);
      context.fillRect(0, top + lane.height - 1, view.widthPx, 1);
      context.endGroup?.();
    }
    paintTrees(context, scene.trees, view, theme);
  }

  private paintRow(
      context: Brush, scene: Scene, book: StyleBook,
      row: SubRow, top: number): void {
    const level = this.level(scene, row.kind);
    const span = tileSpan(
        scene.view.startNs, endNs(scene.view), level, TILE_COLUMNS,
        scene.durationNs);
    this.labels.clear();
    const patches: Patch[] = [];
    for (let index = span.first; index <= span.last; ++index) {
      for (const patch of this.cache.cover({row: row.row, level, index}, TILE_COLUMNS)) {
        this.paintPatch(context, scene, book, row, top, patch);
        patches.push(patch);
      }
    }
    // After all tiles: a label may cross the edge of one.
    context.font = LABEL_FONT;
    context.textBaseline = 'middle';
    if (row.kind === 'segment') {
      paintMerged(context, mergedRuns(patches, scene.view), row, top, scene.view.widthPx, book);
    }
    for (const label of this.labels.values()) {
      this.paintLabel(context, scene, book, row, top, label);
    }
  }

  private paintPatch(
      context: Brush, scene: Scene, book: StyleBook,
      row: SubRow, top: number, patch: Patch): void {
    const {tile} = patch;
    // Device-pixel edges, so that neighbouring tiles meet without a seam.
    const snap = (x: number): number => Math.round(x * scene.ratio) / scene.ratio;
    const x0 = snap(Math.max(toPx(scene.view, patch.fromNs), -1));
    const x1 = snap(Math.min(toPx(scene.view, patch.toNs), scene.view.widthPx + 1));
    if (x1 <= x0) return;
    switch (tile.kind) {
      case 'strip':
      case 'density':
      case 'shares':
      case 'states':
      case 'threads':
        return this.paintColumns(context, scene, book, row, top, tile, patch, x0, x1);
      case 'items':
        return this.paintItems(context, scene, book, row, top, tile, x0, x1);
      case 'counter':
        return paintCounter(
            context, {
              view: scene.view,
              ratio: scene.ratio,
              durationNs: scene.durationNs,
              top,
              height: row.height,
              left: x0,
              right: x1,
              most: scene.counterTops.get(row.row) ?? 0,
            },
            tile, this.hatches, book.theme);
    }
  }

  private paintColumns(
      context: Brush, scene: Scene, book: StyleBook,
      row: SubRow, top: number, tile: ColumnsTile, patch: Patch, x0: number,
      x1: number): void {
    const slot = this.atlas.slot(
        tile, row, Math.round(row.height * scene.ratio), book, scene.highlight, scene.stamp);
    const fromNs = Math.max(patch.fromNs, scene.view.startNs + x0 * scene.view.nsPerPx);
    const toNs = Math.min(patch.toNs, scene.view.startNs + x1 * scene.view.nsPerPx);
    const sx = (fromNs - tile.beginNs) / tile.columnNs;
    const sw = (toNs - fromNs) / tile.columnNs;
    if (sw <= 0) return;
    const ratio = sw / ((x1 - x0) * scene.ratio); // columns for each pixel
    const draw = (shift: number): void => {
      const from = Math.min(Math.max(sx + shift, 0), TILE_COLUMNS - sw);
      context.drawImage(
          slot.canvas, from, slot.y, sw, slot.height, x0, top, x1 - x0, row.height);
    };
    if (ratio <= 1.001 || slot.height === 1) return draw(0);
    // Linear interpolation at two places a quarter of a pixel from its centre:
    // up to two columns for each pixel have equal weights within 5 %.
    context.imageSmoothingEnabled = true;
    draw(-ratio / 4);
    context.globalAlpha = 0.5;
    draw(ratio / 4);
    context.globalAlpha = 1;
    context.imageSmoothingEnabled = false;
  }

  private paintItems(
      context: Brush, scene: Scene, book: StyleBook,
      row: SubRow, top: number, tile: ItemsTile, x0: number, x1: number): void {
    const {view} = scene;
    const theme = book.theme;
    context.save();
    context.beginPath();
    context.rect(x0, top, x1 - x0, row.height);
    context.clip();
    for (const item of tile.items) {
      const left = toPx(view, item.beginNs);
      const right = toPx(view, item.endNs);
      if (right < x0 || left > x1) continue;
      const fill = book.item(row, item.key, item.flags, scene.highlight);
      if (row.kind === 'hook') {
        context.fillStyle = css(theme.muted);
        context.fillRect(Math.round(left), top, 1, row.height);
        continue;
      }
      if (row.kind === 'run' && (item.flags & NOT_RUNNING) !== 0) {
        this.paintState(context, scene, book, row, item, top, Math.max(left, x0), Math.min(right, x1), fill);
        this.label({item, left, right, fill: theme.background});
        continue;
      }
      context.fillStyle = css(fill);
      // One pixel between neighbours, so that equal ones are seen as two.
      const gap = right - left >= 3 ? 1 : 0;
      // Cut: canvases and SVG compute with 24 bits, and a call of a second may be 10^10 px long.
      const from = Math.max(left, x0 - 4);
      context.fillRect(from, top, Math.max(Math.min(right - gap, x1 + 4) - from, 1 / scene.ratio), row.height);
      const isUnknown = row.kind === 'level' && (item.flags & LEAF_OUTSIDE) !== 0;
      if (((item.flags & LEAF_INFERRED) !== 0 || isUnknown) && right - left > 6) {
        this.hatches.fillRect(context, theme.muted, 0.55, Math.max(left, x0), top, Math.min(right, x1) - gap, row.height);
      }
      this.label({item, left, right: right - gap, fill});
    }
    context.restore();
  }

  private label(label: Label): void {
    if (label.right - label.left >= LEAST_LABEL) this.labels.set(label.item.beginNs, label);
  }

  // A thread that lives and does not run.
  private paintState(
      context: Brush, scene: Scene, book: StyleBook,
      row: SubRow, item: Item, top: number, left: number, right: number,
      fill: Rgb): void {
    const width = Math.max(right - left, 1 / scene.ratio);
    if ((item.flags & STATE_BLOCKED) !== 0) {
      context.fillStyle = css(fill);
      context.fillRect(left, top + row.height - 1, width, 1);
      return;
    }
    if ((item.flags & STATE_WAITING) !== 0) {
      context.fillStyle = css(mix(book.theme.background, book.theme.wait, 0.45));
      context.fillRect(left, top, width, row.height);
      this.hatches.fillRect(context, book.theme.wait, 1, left, top, left + width, row.height);
      return;
    }
    this.hatches.fillRect(context, book.theme.muted, 0.35, left, top, left + width, row.height);
  }

  private paintLabel(
      context: Brush, scene: Scene, book: StyleBook,
      row: SubRow, top: number, {item, left, right, fill}: Label): void {
    if (row.height < 12 || (item.flags & LEAF_IDLE) !== 0) return;
    const from = Math.max(left, 0) + 5;
    const room = Math.min(right, scene.view.widthPx) - from - 4;
    if (room < 14) return;
    const texts = labelTexts(book.names, row, item);
    const whole = texts.find((text) => textWidth(context, text) <= room);
    // The name of a call, beside a line, is whole or not there.
    const shown = whole ?? (row.kind === 'run' ? '' : clip(context, texts[texts.length - 1] ?? '', room));
    if (shown === '') return;
    context.fillStyle = css(row.kind === 'run' ? book.theme.muted : textOn(fill));
    context.fillText(shown, from, top + row.height / 2 + 0.5);
  }
}

// What an item may be labelled with, longest first.
function labelTexts(names: Names, row: SubRow, item: Item): string[] {
  if ((item.flags & LEAF_OUTSIDE) !== 0) return [row.kind === 'level' ? 'not known' : 'outside'];
  if (row.kind === 'cpu') {
    return [threadName(names, item.key), processName(names, processOf(names, item.key))];
  }
  if (row.kind === 'interrupts') return [];
  if (row.kind === 'level') return [threadName(names, item.key)];
  if (row.kind === 'run') {
    return (item.flags & STATE_BLOCKED) !== 0 && item.key !== NO_KEY ?
        [shortName(hookName(names, item.key))] : [];
  }
  const name = hookName(names, item.key);
  return [name, shortName(name)];
}

// "read" of "syscall:read".
function shortName(name: string): string {
  return name.slice(name.lastIndexOf(':') + 1);
}

const widths = new Map<string, number>();

function textWidth(context: Brush, text: string): number {
  let width = widths.get(text);
  if (width === undefined) {
    width = context.measureText(text).width;
    if (widths.size > 5000) widths.clear();
    widths.set(text, width);
  }
  return width;
}

function clip(context: Brush, text: string, room: number): string {
  const width = textWidth(context, text);
  if (width <= room) return text;
  const keep = Math.floor(text.length * room / width) - 1;
  return keep >= 2 ? `${text.slice(0, keep)}\u2026` : '';
}
