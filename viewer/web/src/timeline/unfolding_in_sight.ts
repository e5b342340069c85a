// Which flashes and sparks are in sight.

import type {Item, Tile} from '../api/tile_decode';
import type {Core} from '../core/core';
import {endNs, toPx} from '../core/viewport';
import {flashes, passed, type Spark, sparks} from './paint/unfolding';
import type {FlashMark, SparkMark} from './paint/unfolding_painter';
import type {Lane, SubRow} from './rows/lanes';
import type {Rows} from './rows/rows';

const MOST_SPARKS = 24; // of more, none can be followed
const HIDDEN_PX = 26; // the way of a spark whose waker is out of sight

// What is drawn, and where.
interface Drawn {
  lanesInSight(): Lane[];
  tileAt(row: SubRow, at: number): Tile|null;
}
export interface Unfolding {
  flashes: FlashMark[];
  sparks: SparkMark[];
}

export function unfoldingInSight(core: Core, rows: Rows, engine: Drawn): Unfolding {
  const play = core.playback.play.peek();
  const result: Unfolding = {flashes: [], sparks: []};
  if (!play.playing || core.look.calm.peek()) return result;
  const view = core.view.viewport.peek();
  const span = passed(play.at, play.speed, play.backward ?? false);
  if (span.to < view.startNs || span.from > endNs(view)) return result;
  const places = new Map<number, {y: number; height: number}>(); // of threads
  const woken: Spark[] = [];
  for (const lane of engine.lanesInSight()) {
    for (const row of lane.rows) {
      if (row.kind === 'counter' || row.kind === 'process' || row.kind === 'interrupts') continue;
      const {y, height} = rows.extentOf(lane, row);
      if (height <= 0) continue;
      if (row.kind === 'run') places.set(lane.owner, {y, height});
      // Two tiles where the playhead has just entered one.
      const items = new Set<Item>();
      for (const at of [span.from, play.at, span.to]) {
        const tile = engine.tileAt(row, Math.min(Math.max(at, 0), core.durationNs - 1));
        if (tile?.kind === 'items') for (const item of tile.items) items.add(item);
      }
      const list = [...items];
      for (const {beginNs, endNs: end, age} of flashes(list, span)) {
        const x = Math.max(toPx(view, beginNs), 0);
        const right = Math.min(toPx(view, play.backward ? end : Math.min(end, play.at)), view.widthPx);
        result.flashes.push({x, width: Math.max(right - x, 2), y, height, age});
      }
      if (row.kind === 'run') woken.push(...sparks(lane.owner, list, span));
    }
  }
  if (woken.length > MOST_SPARKS) return result;
  for (const {at, waker, woken: thread, age} of woken) {
    const to = places.get(thread);
    if (!to) continue;
    const from = places.get(waker);
    const toY = to.y + to.height / 2;
    result.sparks.push({x: toPx(view, at), fromY: from ? from.y + from.height / 2 : toY - HIDDEN_PX, toY, age});
  }
  return result;
}
