import fc from 'fast-check';

import type {HookItem} from '../../../viewer/web/src/api/schema';
import type {StripTile, Tile} from '../../../viewer/web/src/api/tile_decode';
import {commandFor, COMMANDS} from '../../../viewer/web/src/model/keymap';
import {find} from '../../../viewer/web/src/model/find';
import {CLOSED_TREE, type Lane, layOut, totalHeight, visibleLanes} from '../../../viewer/web/src/model/lanes';
import {clean, type Names} from '../../../viewer/web/src/model/names';
import {advance, faster, SPEEDS} from '../../../viewer/web/src/model/playback';
import {TileCache} from '../../../viewer/web/src/model/tile_cache';
import {decodeHash, encodeHash} from '../../../viewer/web/src/model/url_hash';

describe('playback', () => {
  const range = {from: 0, to: 1000, loop: false};
  test('a second at rate r moves r ns, and the end stops it', () => {
    const play = {at: 100, playing: true, speed: 1};
    expect(advance(play, 1000, 250, range).at).toBe(350);
    expect(advance({...play, speed: 2}, 1000, 250, range).at).toBe(600);
    expect(advance(play, 10_000, 250, range)).toEqual({at: 1000, playing: false, speed: 1});
    const back = {...play, backward: true};
    expect(advance(back, 200, 250, range).at).toBe(50);
    expect(advance(back, 10_000, 250, range)).toEqual({...back, at: range.from, playing: false});
    expect(advance({...play, playing: false}, 1000, 250, range).at).toBe(100);
  });
  test('a loop never leaves its range, whatever the elapsed time', () => {
    fc.assert(fc.property(
        fc.integer({min: 200, max: 399}), fc.integer({min: 0, max: 100_000}),
        fc.integer({min: 1, max: 5000}), fc.boolean(), (at, elapsed, rate, backward) => {
          const next = advance(
              {at, playing: true, speed: 1, backward}, elapsed, rate, {from: 200, to: 400, loop: true});
          expect(next.playing).toBe(true);
          expect(next.at).toBeGreaterThanOrEqual(200);
          expect(next.at).toBeLessThanOrEqual(400);
        }));
  });
  test('speed steps stay within the list', () => {
    expect(faster(1, 1)).toBe(2);
    expect(faster(10, 1)).toBe(10);
    expect(faster(SPEEDS[0], -1)).toBe(SPEEDS[0]);
  });
});

describe('url_hash', () => {
  test('round trip', () => {
    fc.assert(fc.property(fc.record({
      from: fc.integer({min: 0, max: 2 ** 50}),
      length: fc.integer({min: 1, max: 2 ** 50}),
      y: fc.integer({min: 0, max: 1e6}),
      t: fc.integer({min: 0, max: 2 ** 52}),
      event: fc.integer({min: 0, max: 15}),
      cpu: fc.integer({min: -1, max: 500}),
    }), ({from, length, y, t, event, cpu}) => {
      const view = {from, to: from + length, y, t, event, cpu, speed: 0.25,
                    selection: [from, from + length] as [number, number],
                    toggled: [Math.floor(from), 7], unfolded: true};
      expect(decodeHash(encodeHash(view))).toEqual(view);
    }));
  });
  test('foreign fragments give nothing and never throw', () => {
    fc.assert(fc.property(fc.string(), (text) => {
      const view = decodeHash(text);
      for (const value of Object.values(view)) {
        if (typeof value === 'number') expect(Number.isFinite(value)).toBe(true);
      }
    }));
    expect(decodeHash('#from=5&to=4&sel=9-3&t=NaN&y=')).toEqual({});
  });
});

describe('keymap', () => {
  const key = (code: string, change = {}) =>
      ({code, key: '', shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...change});
  test('keys by place; browser shortcuts are left alone', () => {
    expect(commandFor(key('KeyW'))).toBe('zoom-in');
    expect(commandFor(key('KeyW', {ctrlKey: true}))).toBeUndefined();
    expect(commandFor(key('Period', {shiftKey: true}))).toBe('next-segment');
    expect(commandFor(key('Slash', {key: '?', shiftKey: true}))).toBe('help');
  });
  test('every command that a key gives is in the help', () => {
    const codes = ['KeyW', 'KeyS', 'KeyA', 'KeyD', 'ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight',
                   'Digit0', 'KeyF', 'Space', 'Period', 'Comma', 'Minus', 'Equal', 'Home', 'End',
                   'KeyJ', 'KeyK', 'KeyL', 'KeyO', 'KeyI', 'KeyQ', 'Escape'];
    const known = new Set(COMMANDS.map((command) => command.id));
    for (const code of codes) {
      for (const shiftKey of [false, true]) {
        const command = commandFor(key(code, {shiftKey}));
        if (command) expect(known).toContain(command);
      }
    }
    expect(new Set(COMMANDS.map((command) => command.keys)).size).toBe(COMMANDS.length);
  });
});

function strip(level: number, index: number, bytes = 100): StripTile {
  return {kind: 'strip', row: 1, level, index, beginNs: index * 512 * 2 ** level,
          columnNs: 2 ** level, bytes, words: new Uint32Array(0)};
}

describe('tile_cache', () => {
  test('missing tiles are covered by a coarser one, then by finer ones', () => {
    const cache = new TileCache(1e9);
    cache.put(strip(12, 3));
    const coarse = cache.cover({row: 1, level: 10, index: 13}, 512);
    expect(coarse).toHaveLength(1);
    expect(coarse[0]?.tile.level).toBe(12);
    expect(coarse[0]?.fromNs).toBe(13 * 512 * 1024);
    const fine = new TileCache(1e9);
    fine.put(strip(9, 26));
    fine.put(strip(9, 27));
    const patches = fine.cover({row: 1, level: 10, index: 13}, 512);
    expect(patches.map((patch) => patch.fromNs)).toEqual([26 * 512 * 512, 27 * 512 * 512]);
    expect(fine.cover({row: 2, level: 10, index: 13}, 512)).toEqual([]);
  });
  test('the least recently used tile goes first and its bytes with it', () => {
    const evicted: Tile[] = [];
    const cache = new TileCache(300, (tile) => evicted.push(tile));
    for (const index of [0, 1, 2]) cache.put(strip(5, index));
    cache.get({row: 1, level: 5, index: 0});
    cache.put(strip(5, 3));
    expect(evicted.map((tile) => tile.index)).toEqual([1]);
    expect(cache.bytes).toBe(300);
    cache.put(strip(5, 3));
    expect(cache.bytes).toBe(300);
  });
});

function names(threads: number): Names {
  const rows = [{row: 0, kind: 'quality' as const, owner: 0, depth: 0, leaves: 0},
                {row: 1, kind: 'cpu' as const, owner: 0, depth: 0, leaves: 9}];
  const all: Names['rows'] = [...rows];
  for (let thread = 0; thread < threads; ++thread) {
    all.push({row: all.length, kind: 'run', owner: thread, depth: 0, leaves: 1});
    if (thread % 2 === 1) {
      for (const depth of [0, 1]) {
        all.push({row: all.length, kind: 'segment', owner: thread, depth, leaves: 1});
      }
    }
  }
  return {
    trace: {cpus: 1, counter_rows_from: 1e6, machine_row: 2e6} as Names['trace'],
    events: ['task-clock', 'page-faults'],
    // Process p has the threads 4 p to 4 p + 3; the first has the most time.
    processes: new Map(Array.from({length: Math.ceil(threads / 4)}, (_, process) => [process, {
      process, pid: 100 + process, parent_pid: 1, comm: `comm${process}`, quality: 'exact', in_scope: true, hooked: false,
      on_cpu_ns: 4e6 / (process + 1) ** 2,
    }])),
    threads: new Map(Array.from({length: threads}, (_, thread) => [thread, {
      thread, tid: thread % 4 === 0 ? 100 + thread / 4 : 10_000 + thread, pid: 100 + Math.floor(thread / 4),
      process: Math.floor(thread / 4), comm: `comm${Math.floor(thread / 4)}`, quality: 'exact',
      on_cpu_ns: 1e6 / (Math.floor(thread / 4) + 1) ** 2,
    }])),
    hooks: new Map(),
    rows: all,
    hooked: new Set(),
  };
}

describe('lanes', () => {
  test('lanes follow one another without gap or overlap; rows stay inside', () => {
    const lanes = layOut(names(20), {event: 1, cpu: 0});
    let y = 0;
    for (const lane of lanes) {
      expect(lane.y).toBe(y);
      y += lane.height;
      for (const row of lane.rows) {
        expect(row.y).toBeGreaterThanOrEqual(0);
        expect(row.y + row.height).toBeLessThanOrEqual(lane.height);
      }
    }
    expect(totalHeight(lanes)).toBe(y);
    // event 1 of CPU 0: 1 * (cpus + 1) + 0 + 1.
    expect(lanes.find((lane) => lane.kind === 'counter')?.rows[0]?.row).toBe(1e6 + 3);
  });
  test('each event that is no clock has a strip; handlers are under their CPU on demand', () => {
    const more: Names = {...names(4), events: ['task-clock', 'page-faults', 'cycles']};
    more.rows.push({row: 900, kind: 'handler', owner: 0, depth: 0, leaves: 3}, {row: 901, kind: 'handler', owner: 0, depth: 1, leaves: 1});
    const strips = (lanes: Lane[]): string[] => lanes.filter(({kind}) => kind.endsWith('counter')).map(({label}) => label);
    expect(strips(layOut(more, {event: 2, cpu: -1}))).toEqual(['cycles', 'page-faults']);
    const cpu = (handlers: boolean): Lane|undefined =>
        layOut(more, {event: 1, cpu: -1}, {...CLOSED_TREE, handlers}).find(({id}) => id === 'cpu0');
    expect(cpu(false)?.rows.map(({row}) => row)).toEqual([1]);
    const lane = cpu(true);
    expect(lane?.rows.map(({row}) => row)).toEqual([1, 900, 901]);
    const [first, , last] = lane?.rows ?? [];
    expect((last?.y ?? 0) + (last?.height ?? 0)).toBeLessThanOrEqual(lane?.height ?? 0);
    expect(lane?.rows[1]?.y).toBeGreaterThanOrEqual((first?.y ?? 0) + (first?.height ?? 0));
  });
  const counter = {event: 0, cpu: -1};
  const kinds = (lanes: Lane[], kind: string): number[] =>
      lanes.filter((lane) => lane.kind === kind).map((lane) => lane.owner);
  test('threads with segments come first in their process', () => {
    expect(kinds(layOut(names(4), counter), 'thread')).toEqual([1, 3, 0, 2]);
  });
  test('open by themselves: the three heaviest processes, and those with hooks, which come first', () => {
    const hooked = {...names(40), hooked: new Set([7])};
    const lanes = layOut(hooked, counter);
    expect(kinds(lanes, 'process')).toEqual([7, 0, 1, 2, 3, 4, 5, 6, 8, 9]);
    const open = lanes.filter((lane) => lane.toggle?.open).map((lane) => lane.owner);
    expect(open).toEqual([7, 0, 1, 2]);
    expect(kinds(lanes, 'thread').length).toBe(16);
    // A closed one shows what its threads do together.
    const closed = lanes.find((lane) => lane.id === 'process3');
    expect(closed?.rows.map(({row, kind, full}) => ({row, kind, full}))).toEqual(
        [{row: 2e6 + 1 + 3, kind: 'process', full: 1}]);
    const toggled = layOut(hooked, counter, {...CLOSED_TREE, toggled: new Set([7, 3])});
    expect(toggled.filter((lane) => lane.toggle?.open).map((lane) => lane.owner)).toEqual([0, 1, 2, 3]);
  });
  test('in view: processes that do not run there fold, in the order of the others', () => {
    const inView = new Map([[8, 3e6], [2, 1e6]]);
    const lanes = layOut(names(40), counter, {...CLOSED_TREE, inView: true, pinned: [5]}, inView);
    expect(kinds(lanes, 'process')).toEqual([5, 2, 8]);
    const folded = lanes[lanes.length - 1];
    expect(folded?.label).toBe('7 more');
    expect(folded?.detail.replaceAll('\u2009', '')).toBe('0% of the CPU time in view');
    expect(kinds(layOut(names(40), counter, CLOSED_TREE, inView), 'process').length).toBe(10);
  });
  test('light processes fold into one lane that says how many and how much', () => {
    const many = names(4000);
    const lanes = layOut(many, counter);
    const folded = lanes[lanes.length - 1];
    expect(folded?.kind).toBe('fold');
    const shown = kinds(lanes, 'process').length;
    expect(folded?.label.replace(/\u2009/g, '')).toBe(`${1000 - shown} more`);
    let rest = 0;
    let all = 0;
    for (const item of many.processes.values()) {
      all += item.on_cpu_ns ?? 0;
      if (item.process >= shown) rest += item.on_cpu_ns ?? 0;
    }
    expect(folded?.detail.replace(/\u2009/g, ' ')).toBe(`${(rest / all * 100).toFixed(1)} % of the CPU time`);
    const unfolded = layOut(many, counter, {...CLOSED_TREE, unfolded: true});
    expect(kinds(unfolded, 'process').length).toBe(1000);
  });
  test('pinned processes come first, in their order; hidden ones are counted with the folded', () => {
    const lanes = layOut(names(4000), counter, {...CLOSED_TREE, pinned: [900, 3, 123456], hidden: new Set([0])});
    expect(kinds(lanes, 'process').slice(0, 4)).toEqual([900, 3, 1, 2]);
    expect(lanes.find((lane) => lane.id === 'process900')?.toggle?.pinned).toBe(true);
    const folded = lanes[lanes.length - 1];
    expect(folded?.label.replace(/\u2009/g, '')).toBe(`${1000 - kinds(lanes, 'process').length} more`);
    expect(kinds(layOut(names(4), counter, {...CLOSED_TREE, hidden: new Set([0])}), 'process')).toEqual([]);
  });
  test('ten thousand threads: only what is in sight is returned, all of it', () => {
    const lanes = layOut(names(10_000), counter, {...CLOSED_TREE, unfolded: true});
    for (const top of [0, 777, totalHeight(lanes) - 300]) {
      const seen = visibleLanes(lanes, top, top + 600);
      const all = lanes.filter((lane) => lane.y + lane.height > top && lane.y < top + 600);
      expect(seen).toEqual(all);
      expect(seen.length).toBeLessThan(100);
    }
  });
});

describe('find', () => {
  test('by a part of the name or by number, processes first, the heaviest first', () => {
    const all = names(400);
    expect(find(all, ' COMM1 ')[0]).toEqual({kind: 'process', process: 1, thread: null, text: 'comm1 101'});
    const hits = find(all, 'comm1');
    expect(hits.flatMap((hit) => hit.kind === 'process' && hit.thread === null ? [hit.process] : []))
        .toEqual([1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    expect(hits.findIndex((hit) => hit.kind === 'process' && hit.thread !== null)).toBe(11);
    expect(find(all, '10005')).toEqual([{kind: 'process', process: 1, thread: 5, text: 'comm1 10005'}]);
    expect(find(all, '')).toEqual([]);
    expect(find(all, 'nothing like it')).toEqual([]);
    expect(find(all, 'comm').length).toBe(200);
  });
});

describe('find, hooks', () => {
  test('segments and hooks by name, those with the most calls first, after the processes', () => {
    const hook = (number: number, name: string, calls: number): HookItem =>
        ({hook: number, origin: 'program', kind: 2, name, location: '', calls});
    const all: Names = {
      ...names(4),
      hooks: new Map([
        [1, hook(1, 'comm0:parse', 5)], [2, hook(2, 'comm0:send', 9)], [3, hook(3, 'comm0:never', 0)],
      ]),
    };
    expect(find(all, 'comm0').slice(0, 3)).toEqual([
      {kind: 'process', process: 0, thread: null, text: 'comm0 100'},
      {kind: 'hook', hook: 2, calls: 9, text: 'comm0:send'},
      {kind: 'hook', hook: 1, calls: 5, text: 'comm0:parse'},
    ]);
    expect(find(all, ':PARSE')).toEqual([{kind: 'hook', hook: 1, calls: 5, text: 'comm0:parse'}]);
  });
});

describe('names', () => {
  test('control characters and bidirectional overrides become visible dots', () => {
    expect(clean('a\u0000b\u001b[31m\u202ec')).toBe('a\u00b7b\u00b7[31m\u00b7c');
    expect(clean('na\u00efve \u65e5\u672c')).toBe('na\u00efve \u65e5\u672c');
  });
});
