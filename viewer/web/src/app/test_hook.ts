// window.__pv, only with ?test=1: browser tests read it instead of comparing
// pictures.

import type {AppModel} from '../core/app_model';
import {TILE_COLUMNS} from '../api/tile_decode';
import {processOf} from '../core/names';
import {tableOf} from '../tables/range_tables';
import {processRows, threadRows} from '../tables/run_rows';
import {endNs, tileSpan} from '../core/viewport';
import type {TimelineEngine} from '../timeline/timeline_engine';
import {describe} from '../timeline/tooltip';
import {unfoldingInSight} from '../timeline/unfolding_in_sight';

export function installTestHook(model: AppModel, engine: TimelineEngine): void {
  engine.manualClock = true;
  const hook = {
    ready: true,
    index: () => model.client.index,
    // An answer to the page, as it came.
    ask: async(path: string, body?: string): Promise<string> => {
      const init = body === undefined ? {} : {method: 'POST', headers: {'Content-Type': 'application/json'}, body};
      const answer = await model.client.backend.ask(path, init);
      return `${answer.status} ${Array.from(new Uint8Array(answer.body), (byte) => String.fromCharCode(byte)).join('')}`;
    },
    settled: async(): Promise<void> => {
      for (let calm = 0; calm < 3;) {
        await new Promise((done) => setTimeout(done, 30));
        calm = engine.settled ? calm + 1 : 0;
      }
    },
    view: () => ({
      ...model.view.value,
      endNs: endNs(model.view.value),
      scrollY: model.scrollY.value,
      selection: model.selection.value,
      playhead: model.playback.value.at,
      playing: model.playback.value.playing,
      counter: model.counter.value,
      durationNs: model.durationNs,
    }),
    rows: () => engine.lanesInSight().flatMap(
        (lane) => lane.rows.map((row) => ({
          lane: lane.id,
          kind: row.kind,
          row: row.row,
          y: lane.y + row.y - model.scrollY.value,
          height: row.height,
        }))),
    // The tiles drawn for a row: exact items, or columns.
    dump: (row: number) => {
      const scene = engine.scene();
      const kind = engine.lanesInSight().flatMap((lane) => lane.rows).find((part) => part.row === row)?.kind;
      const level = engine.painter.level(scene, kind ?? 'cpu');
      const span = tileSpan(
          scene.view.startNs, endNs(scene.view), level, TILE_COLUMNS, scene.durationNs);
      const tiles = [];
      for (let index = span.first; index <= span.last; ++index) {
        for (const patch of engine.cache.cover({row, level, index}, TILE_COLUMNS)) {
          const tile = patch.tile;
          tiles.push({
            kind: tile.kind,
            level: tile.level,
            beginNs: tile.beginNs,
            columnNs: tile.columnNs,
            items: tile.kind === 'items' ? tile.items : [],
            words: tile.kind === 'items' || tile.kind === 'counter' ? [] : [...tile.words],
            values: tile.kind === 'counter' ? [...tile.values] : [],
            flags: tile.kind === 'counter' ? [...tile.flags] : [],
          });
        }
      }
      return tiles;
    },
    // Fills of processes, then of idle time and of nothing.
    colours: (processes: number[]) => [
      ...processes.map((process) => engine.book.process(process)),
      engine.book.theme.idle, engine.book.theme.lane,
    ].map(({r, g, b}) => [r, g, b]),
    describe: (x: number, y: number) => describe(model, engine, x, y),
    item: () => model.item.value,
    wait: () => model.wait.value,
    recent: () => model.now.recent.value,
    unfolding: () => unfoldingInSight(model, engine),
    state: () => model.now.instant.value,
    aggregate: () => model.tables.aggregate.value,
    table: () => model.tables.aggregate.value && tableOf(model.tables.aggregate.value),
    runRows: () => {
      const data = model.tables.aggregate.value;
      return data && (tableOf(data) === 'threads' ? threadRows(data, (thread) => processOf(model.names, thread)) : processRows(data));
    },
    events: () => model.tables.events.value,
    places: () => model.findPlaces.places.value && {
      all: [...model.findPlaces.places.value.all],
      chosen: [...model.findPlaces.places.value.chosen],
    },
    rare: () => model.rare.items.value.map(({kind, from, to, hook}) => ({kind, from, to, hook})),
    lengths: () => model.lengths.value,
    hoverWait: () => model.hoverWait.answer.value,
    callTree: () => model.callTree.busy.value ? null : model.callTree.answer.value,
    functions: () => model.functions.busy.value ? null : model.functions.answer.value,
    listing: () => model.functions.listing.value,
    comparison: () => model.comparison.answer.value,
    soFar: () => model.now.soFar.value,
    window: () => model.now.window,
    picture: () => engine.picture(),
    drawing: () => engine.drawing(),
    setSpeed: (speed: number) => model.transport.setSpeed(speed),
    tick: (ms: number) => model.transport.tick(ms),
    play: (ms: number) => model.transport.play(ms),
    frames: () => engine.stats,
    net: () => model.client.net,
    cacheBytes: () => engine.cache.bytes,
    pan: (px: number) => model.pan(px),
    scroll: (px: number) => model.scroll(px),
    zoom: (x: number, factor: number) => model.zoom(x, factor),
    run: (command: string) => model.run(command, null),
    setWindow: (from: number, to: number) => model.setWindow(from, to),
    movePlayhead: (at: number) => model.movePlayhead(at),
    realClock: () => (engine.manualClock = false),
  };
  Object.assign(window, {__pv: hook});
}
