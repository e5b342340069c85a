// window.__pv, only with ?test=1: browser tests read it instead of comparing
// pictures.

import type {Application} from './application';
import {TILE_COLUMNS} from '../api/tile_decode';
import {processOf} from '../core/names';
import {tableOf} from '../tables/range_tables';
import {processRows, threadRows} from '../tables/run_rows';
import {endNs, tileSpan} from '../core/viewport';
import {describe} from '../timeline/describe';
import {unfoldingInSight} from '../timeline/unfolding_in_sight';

export function installTestHook(app: Application): void {
  app.engine.manualClock = true;
  Object.assign(window, {__pv: {ready: true, ...timelineOf(app), ...answersOf(app), ...commandsOf(app)}});
}

// What is drawn.
function timelineOf({core, engine, timeline}: Application) {
  return {
    view: () => ({
      ...core.view.viewport.value,
      endNs: endNs(core.view.viewport.value),
      scrollY: core.view.scrollY.value,
      selection: core.range.chosen.value,
      playhead: core.playback.play.value.at,
      playing: core.playback.play.value.playing,
      counter: timeline.rows.counter.value,
      durationNs: core.durationNs,
    }),
    rows: () => engine.lanesInSight().flatMap(
        (lane) => lane.rows.map((row) => ({
          lane: lane.id,
          kind: row.kind,
          row: row.row,
          y: timeline.rows.topOf(lane) + row.y,
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
      ...processes.map((process) => core.book.value.process(process)),
      core.book.value.theme.idle, core.book.value.theme.lane,
    ].map(({r, g, b}) => [r, g, b]),
    describe: (x: number, y: number) => describe(core, engine, x, y),
    unfolding: () => unfoldingInSight(core, timeline.rows, engine),
    places: () => timeline.places.value && {
      all: [...timeline.places.value.all],
      chosen: [...timeline.places.value.chosen],
    },
    stacks: () => timeline.stacks.shown.value && timeline.stacks.inSight(),
    samples: () => timeline.samples.shown.value && {...timeline.samples.shown.value, threads: [...timeline.samples.shown.value.threads]},
    trees: () => timeline.trees.shown.value,
    rare: () => timeline.rare.items.value.map(({kind, from, to, hook}) => ({kind, from, to, hook})),
    hoverWait: () => timeline.hoverWait.answer.value,
    picture: () => engine.picture(),
    drawing: () => engine.drawing(),
    frames: () => engine.stats,
    cacheBytes: () => engine.cache.bytes,
  };
}

// What was asked of the trace, as the panels and tables have it.
function answersOf({core, code, compare, replay, tables}: Application) {
  return {
    index: () => core.client.index,
    // An answer to the page, as it came.
    ask: async(path: string, body?: string): Promise<string> => {
      const init = body === undefined ? {} : {method: 'POST', headers: {'Content-Type': 'application/json'}, body};
      const answer = await core.client.backend.ask(path, init);
      return `${answer.status} ${Array.from(new Uint8Array(answer.body), (byte) => String.fromCharCode(byte)).join('')}`;
    },
    net: () => core.client.net,
    item: () => core.selection.selected.value,
    wait: () => core.selection.wait.value,
    recent: () => replay.now.recent.value,
    state: () => replay.now.instant.value,
    aggregate: () => tables.ranges.aggregate.value,
    table: () => tables.ranges.aggregate.value && tableOf(tables.ranges.aggregate.value),
    runRows: () => {
      const data = tables.ranges.aggregate.value;
      return data && (tableOf(data) === 'threads' ? threadRows(data, (thread) => processOf(core.names, thread)) : processRows(data));
    },
    events: () => tables.records.shown.value,
    lengths: () => core.selection.lengths.value,
    callTree: () => tables.callTree.busy.value ? null : tables.callTree.answer.value,
    functions: () => code.functions.busy.value ? null : code.functions.answer.value,
    listing: () => code.functions.listing.value,
    comparison: () => compare.answer.value,
    soFar: () => replay.now.soFar.value,
    window: () => replay.now.window,
  };
}

function commandsOf({core, engine, replay}: Application) {
  return {
    settled: async(): Promise<void> => {
      for (let calm = 0; calm < 3;) {
        await new Promise((done) => setTimeout(done, 30));
        calm = engine.settled ? calm + 1 : 0;
      }
    },
    // 1: the window in sight takes ten seconds.
    setSpeed: (speed: number) => {
      const {nsPerPx, widthPx} = core.view.viewport.peek();
      core.playback.setSpeed(speed * nsPerPx * widthPx / 10);
    },
    tick: (ms: number) => replay.transport.tick(ms),
    play: (ms: number) => replay.transport.play(ms),
    pan: (px: number) => core.view.pan(px),
    scroll: (px: number) => core.view.scroll(px),
    zoom: (x: number, factor: number) => core.view.zoom(x, factor),
    run: (command: string) => core.commands.run(command, null),
    setWindow: (from: number, to: number) => core.view.setWindow(from, to),
    movePlayhead: (at: number) => core.playback.moveTo(at),
    realClock: () => (engine.manualClock = false),
  };
}
