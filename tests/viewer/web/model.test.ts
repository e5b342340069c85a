import fc from 'fast-check';

import type {Aggregate, Branches, ProcessBranch, RowItem, ThreadBranch, ThreadItem, TraceInfo} from '../../../viewer/web/src/api/schema';
import type {StripTile, Tile} from '../../../viewer/web/src/api/tile_decode';
import {commandFor, COMMANDS, commandsLike} from '../../../viewer/web/src/core/keymap';
import {hitsOf} from '../../../viewer/web/src/find/find';
import {type Lane, layOut, stuckHeight, totalHeight, visibleLanes} from '../../../viewer/web/src/timeline/rows/lanes';
import {clean, Names, threadName} from '../../../viewer/web/src/core/names';
import {CLOSED_TREE, type Tree} from '../../../viewer/web/src/timeline/rows/process_lanes';
import {advance, faster, usualSpeed} from '../../../viewer/web/src/core/playback';
import {TileCache} from '../../../viewer/web/src/timeline/tiles/tile_cache';

describe('playback', () => {
  const range = {from: 0, to: 1000, loop: false};
  test('a second at a speed of n moves n ns, and the end stops it', () => {
    const play = {at: 100, playing: true, speed: 250};
    expect(advance(play, 1000, range).at).toBe(350);
    expect(advance({...play, speed: 500}, 1000, range).at).toBe(600);
    expect(advance(play, 10_000, range)).toEqual({at: 1000, playing: false, speed: 250});
    const back = {...play, backward: true};
    expect(advance(back, 200, range).at).toBe(50);
    expect(advance(back, 10_000, range)).toEqual({...back, at: range.from, playing: false});
    expect(advance({...play, playing: false}, 1000, range).at).toBe(100);
  });
  test('a loop never leaves its range, whatever the elapsed time', () => {
    fc.assert(fc.property(
        fc.integer({min: 200, max: 399}), fc.integer({min: 0, max: 100_000}),
        fc.integer({min: 1, max: 5000}), fc.boolean(), (at, elapsed, rate, backward) => {
          const next = advance(
              {at, playing: true, speed: rate, backward}, elapsed, {from: 200, to: 400, loop: true});
          expect(next.playing).toBe(true);
          expect(next.at).toBeGreaterThanOrEqual(200);
          expect(next.at).toBeLessThanOrEqual(400);
        }));
  });
  test('speed has steps of 1, 2, 5, both ways', () => {
    expect(faster(1e6, 1)).toBe(2e6);
    expect(faster(2e6, 1)).toBe(5e6);
    expect(faster(5e6, 1)).toBe(1e7);
    expect(faster(3e6, -1)).toBe(2e6);
    expect(faster(1e12, 1)).toBe(1e12);
    expect(faster(100, -1)).toBe(100);
    fc.assert(fc.property(fc.double({min: 200, max: 1e11, noNaN: true}), (speed) => {
      expect(faster(speed, 1)).toBeGreaterThan(speed);
      expect(faster(speed, -1)).toBeLessThan(speed);
    }));
  });
  test('a usual dispatch takes some 50 ms to play', () => {
    const rows = [{row: 0, kind: 'cpu', owner: 0, depth: 0, leaves: 10_000}, {row: 1, kind: 'cpu', owner: 1, depth: 0, leaves: 10_000}];
    const trace = {cpus: 2, duration_ns: 1e9, machine_rows: rows} as TraceInfo;
    expect(usualSpeed(trace)).toBe(2e6); // of 0.1 ms each
    expect(usualSpeed({...trace, machine_rows: []})).toBe(1e8);
  });
});

describe('keymap', () => {
  const key = (code: string, change = {}) =>
      ({code, key: '', shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...change});
  test('keys by place; browser shortcuts are left alone', () => {
    expect(commandFor(key('KeyW'))).toBe('zoom-in');
    expect(commandFor(key('KeyW', {ctrlKey: true}))).toBeUndefined();
    expect(commandFor(key('Period', {shiftKey: true}))).toBe('next-machine');
    expect(commandFor(key('Slash', {key: '?', shiftKey: true}))).toBe('help');
    expect(commandFor(key('ArrowUp', {altKey: true}))).toBe('lift');
    expect(commandFor(key('ArrowLeft', {altKey: true}))).toBeUndefined();
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

function names(processes = 0): Names {
  const trace = {
    cpus: 1, events: ['task-clock', 'page-faults'], counter_rows_from: 1e6, machine_row: 2e6, hues: {names: [], of: ''},
    heaviest: [0, 1, 2, 3],
    machine_rows: [{row: 0, kind: 'quality', owner: 0, depth: 0, leaves: 0}, {row: 1, kind: 'cpu', owner: 0, depth: 0, leaves: 9}],
  } as unknown as Names['trace'];
  const all = new Names(trace);
  for (let process = 0; process < processes; ++process) {
    all.addProcess({process, pid: 100 + process, parent_pid: 1, comm: `comm${process}`, quality: 'exact', in_scope: true, hooked: false, on_cpu_ns: 1});
  }
  return all;
}

test('what only a report has is named by its rows, by those of the last report', () => {
  const all = names(2);
  const rows = (pid: number) => ({
    processes: [{process: 0}, {process: 2, pid, comm: 'forked\n'}], segments: [{process: 3, hook: 1, pid: 7, comm: 'other'}], hooks: [],
    threads: [{thread: 9, tid: pid + 1, pid, comm: 'worker'}],
  }) as unknown as Aggregate;
  for (const pid of [40, 50]) all.addReported(rows(pid));
  expect([0, 2, 3].map((process) => [all.process(process)?.pid, all.process(process)?.comm])).toEqual([[100, 'comm0'], [50, 'forked\u00b7'], [7, 'other']]);
  expect(all.thread(9)).toMatchObject({tid: 51, pid: 50, comm: 'worker'});
});

// Threads 4 p to 4 p + 3 of process p; the second one has segments.
function threadsOf(process: number, change: Partial<ThreadBranch> = {}): Branches<ThreadBranch> {
  const items = [0, 1, 2, 3].map((number): ThreadBranch => {
    const thread = 4 * process + number;
    const row = (kind: 'run'|'segment', depth: number, at: number): RowItem => ({row: 10 * thread + at, kind, owner: thread, depth, leaves: 1});
    return {
      thread, rank: number, window_ns: 1, active: true, kept: false, name: null,
      rows: [row('run', 0, 0), ...(number === 1 ? [row('segment', 0, 1), row('segment', 1, 2)] : [])], ...change,
    };
  });
  return {total: 4, of: 4, active: items.filter((item) => item.active).length, window_ns: 4, from: 0, to: 9, parent: process, items};
}
function processes(count: number, change: (process: number) => Partial<ProcessBranch> = () => ({})): Branches<ProcessBranch> {
  const items = Array.from({length: count}, (_, process): ProcessBranch => ({
    process, rank: process, window_ns: Math.floor(1e6 / (process + 1) ** 2), active: true, kept: false, name: null, hooked: false,
    threads: 4, active_threads: 4, thread: null, ...change(process),
  }));
  return {total: count, of: count, active: count, from: 0, to: 9, parent: -1, items,
          window_ns: items.reduce((sum, item) => sum + item.window_ns, 0)};
}
const OPEN_THREADS = new Map([0, 1, 2, 3, 7].map((process) => [process, threadsOf(process)]));

describe('lanes', () => {
  const counter = {event: 1, cpu: -1};
  const kinds = (lanes: Lane[], kind: string): number[] =>
      lanes.filter((lane) => lane.kind === kind).map((lane) => lane.owner);
  test('the machine has lanes before any process is known', () => {
    const lanes = layOut(names(), counter);
    expect(lanes.map((lane) => lane.id)).toEqual(['cpu0', 'counter']);
  });
  test('lanes follow one another without gap or overlap; rows stay inside', () => {
    const lanes = layOut(names(20), {event: 1, cpu: 0}, CLOSED_TREE, processes(20), OPEN_THREADS);
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
    const {trace} = names();
    const more = new Names({
      ...trace, events: ['task-clock', 'page-faults', 'cycles'],
      machine_rows: [...trace.machine_rows, {row: 900, kind: 'handler', owner: 0, depth: 0, leaves: 3}, {row: 901, kind: 'handler', owner: 0, depth: 1, leaves: 1}],
    });
    const strips = (lanes: Lane[]): string[] => lanes.filter(({kind}) => kind.endsWith('counter')).map(({label}) => label);
    expect(strips(layOut(more, {event: 2, cpu: -1}))).toEqual(['cycles', 'page-faults']);
    const cpu = (handlers: boolean): Lane|undefined =>
        layOut(more, counter, {...CLOSED_TREE, handlers}).find(({id}) => id === 'cpu0');
    expect(cpu(false)?.rows.map(({row}) => row)).toEqual([1]);
    const lane = cpu(true);
    expect(lane?.rows.map(({row}) => row)).toEqual([1, 900, 901]);
    const [first, , last] = lane?.rows ?? [];
    expect((last?.y ?? 0) + (last?.height ?? 0)).toBeLessThanOrEqual(lane?.height ?? 0);
    expect(lane?.rows[1]?.y).toBeGreaterThanOrEqual((first?.y ?? 0) + (first?.height ?? 0));
  });
  test('many CPUs or counters fold to one strip each, and stay while they are low', () => {
    const machine = (cpus: number, events: number): Names => new Names({
      ...names().trace, cpus, events: Array.from({length: events}, (_, event) => `event${event}`),
      machine_rows: Array.from({length: cpus}, (_, cpu): RowItem => ({row: cpu + 1, kind: 'cpu', owner: cpu, depth: 0, leaves: 9})),
    });
    const ids = (lanes: Lane[]): string[] => lanes.map(({id}) => id);
    const folded = layOut(machine(64, 22), counter, CLOSED_TREE, null, undefined, 500);
    expect(ids(folded)).toEqual(['machine', 'counter']);
    expect(folded.every((lane) => lane.stuck && lane.fold?.open === false)).toBe(true);
    expect(stuckHeight(folded)).toBe(totalHeight(folded));
    expect(stuckHeight(layOut(machine(64, 22), counter, CLOSED_TREE, null, undefined, 50))).toBe(0);
    // Open, many CPUs are low rows.
    const open = layOut(machine(64, 22), counter, {...CLOSED_TREE, cpus: true, counters: true});
    expect(ids(open).length).toBe(1 + 64 + 22);
    expect(open.find(({id}) => id === 'cpu63')?.height).toBe(6);
    const few = layOut(machine(2, 3), counter, CLOSED_TREE);
    expect(ids(few)).toEqual(['machine', 'cpu0', 'cpu1', 'counter', 'counter0', 'counter2']);
    expect(ids(layOut(machine(2, 3), counter, {...CLOSED_TREE, cpus: false, counters: false}))).toEqual(['machine', 'counter']);
  });
  test('open by themselves: the three heaviest of the trace, and those with hooks', () => {
    const some = processes(10, (process) => ({hooked: process === 7, rank: process === 7 ? -1 : process}));
    const lanes = layOut(names(10), counter, CLOSED_TREE, some, OPEN_THREADS, 900);
    expect(kinds(lanes, 'process')).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const open = (all: Lane[]): number[] => all.filter((lane) => lane.toggle?.open).map((lane) => lane.owner);
    expect(open(lanes)).toEqual([0, 1, 2, 7]);
    expect(kinds(lanes, 'thread').length).toBe(16);
    // A closed one shows what its threads do together.
    const closed = lanes.find((lane) => lane.id === 'process3');
    expect(closed?.rows.map(({row, kind, full}) => ({row, kind, full}))).toEqual(
        [{row: 2e6 + 1 + 3, kind: 'process', full: 1}]);
    expect(open(layOut(names(10), counter, {...CLOSED_TREE, closed: new Set([7]), opened: new Set([3])}, some, OPEN_THREADS, 900)))
        .toEqual([0, 1, 2, 3]);
  });
  test('the only thread of a process stands for it', () => {
    const only = threadsOf(5).items[1];
    const one = processes(1, () => ({process: 5, threads: 1, thread: only ?? null}));
    const lane = (opened: number[]): Lane|undefined =>
        layOut(names(6), counter, {...CLOSED_TREE, opened: new Set(opened)}, one).find(({kind}) => kind === 'thread');
    expect(lane([])).toMatchObject({id: 'thread21', process: 5, toggle: {open: false}});
    expect(lane([])?.rows.map(({kind}) => kind)).toEqual(['run']);
    expect(lane([5])?.rows.map(({kind}) => kind)).toEqual(['run', 'segment', 'segment']);
  });
  test('light and idle processes fold into one lane that says how many and how much', () => {
    const many = processes(1000, (process) => ({active: process < 500}));
    const lanes = layOut(names(1000), counter, CLOSED_TREE, {...many, items: many.items.slice(0, 60), total: 1400, of: 1400}, OPEN_THREADS);
    const folded = lanes[lanes.length - 1];
    expect(folded?.kind).toBe('fold');
    const shown = kinds(lanes, 'process').length;
    expect(shown).toBeGreaterThanOrEqual(12);
    expect(shown).toBeLessThan(60);
    expect(folded?.label.replace(/\u2009/g, '')).toBe(`${1400 - shown} more`);
    const rest = many.items.slice(shown).reduce((sum, item) => sum + item.window_ns, 0);
    expect(folded?.detail.replace(/\u2009/g, ' ')).toBe(`${(rest / many.window_ns * 100).toFixed(1)} % of the CPU time`);
    const all = layOut(names(1000), counter, {...CLOSED_TREE, unfolded: 1}, many, OPEN_THREADS);
    expect(kinds(all, 'process').length).toBe(1000);
    expect(all[all.length - 1]?.kind).not.toBe('fold');
  });
  test('what was looked for does not fold, nor what the server kept', () => {
    const idle = processes(40, (process) => ({active: process < 2, window_ns: process < 2 ? 1 : 0, kept: process === 30}));
    const lanes = layOut(names(40), counter, {...CLOSED_TREE, shown: new Set([9])}, idle);
    expect(kinds(lanes, 'process')).toEqual([0, 1, 9, 30]);
  });
  test('idle threads fold, but for a few', () => {
    const idle = (count: number): Branches<ThreadBranch> => {
      const all = threadsOf(0);
      return {...all, active: 4 - count, items: all.items.map((item, i) => ({...item, active: i >= count}))};
    };
    const folds = (count: number, tree: Partial<Tree> = {}): Lane[] =>
        layOut(names(1), counter, {...CLOSED_TREE, ...tree}, processes(1), new Map([[0, idle(count)]]), 900);
    expect(kinds(folds(2), 'thread').length).toBe(4);
    expect(kinds(folds(3), 'thread')).toEqual([3]);
    expect(folds(3).find(({kind}) => kind === 'fold')?.label).toBe('3 idle threads');
    expect(kinds(folds(3, {allThreads: new Set([0])}), 'thread').length).toBe(4);
  });
  test('pinned processes come first, in their order; hidden ones are counted with the folded', () => {
    const lanes = layOut(names(1000), counter, {...CLOSED_TREE, pinned: [900, 3, 123456], hidden: new Set([0])}, processes(1000), OPEN_THREADS);
    expect(kinds(lanes, 'process').slice(0, 4)).toEqual([900, 3, 1, 2]);
    expect(lanes.find((lane) => lane.id === 'process900')?.toggle?.pinned).toBe(true);
    const folded = lanes[lanes.length - 1];
    expect(folded?.label.replace(/\u2009/g, '')).toBe(`${1000 - kinds(lanes, 'process').length} more`);
    expect(kinds(layOut(names(1), counter, {...CLOSED_TREE, hidden: new Set([0])}, processes(1)), 'process')).toEqual([]);
  });
  test('ten thousand processes: only what is in sight is returned, all of it', () => {
    const lanes = layOut(names(10_000), counter, {...CLOSED_TREE, unfolded: 10}, processes(10_000));
    for (const top of [0, 777, totalHeight(lanes) - 300]) {
      const seen = visibleLanes(lanes, top, top + 600);
      const all = lanes.filter((lane) => lane.y + lane.height > top && lane.y < top + 600);
      expect(seen).toEqual(all);
      expect(seen.length).toBeLessThan(100);
    }
  });
});

describe('find', () => {
  test('processes first, then hooks, then threads, each as the server has them', () => {
    const item = {on_cpu_ns: 1, quality: 'exact' as const, pid: 100};
    expect(hitsOf({
      processes: [{...item, process: 7, comm: 'co\u0000mm', parent_pid: 1, hooked: false, in_scope: true}],
      hooks: [{hook: 2, calls: 9, name: 'comm0:send'}],
      threads: [{...item, thread: 5, tid: 10005, process: 1, comm: 'comm1'}],
    })).toEqual([
      {kind: 'process', process: 7, thread: null, ns: 1, text: 'co\u00b7mm 100'},
      {kind: 'hook', hook: 2, calls: 9, text: 'comm0:send'},
      {kind: 'process', process: 1, thread: 5, ns: 1, text: 'comm1 10005'},
    ]);
  });
});

describe('names on demand', () => {
  const source = () => {
    const asked: number[][] = [];
    return {
      asked,
      threadsOf: (numbers: readonly number[]): Promise<ThreadItem[]> => {
        asked.push([...numbers]);
        return Promise.resolve(numbers.filter((thread) => thread !== 4).map((thread): ThreadItem => (
            {thread, tid: thread, pid: 1, process: 0, comm: `t${thread}`, on_cpu_ns: 1, quality: 'exact'})));
      },
      processesOf: (): Promise<never[]> => Promise.reject(new Error('gone')),
    };
  };
  const settled = async (all: Names): Promise<void> => {
    while (all.pending > 0) await new Promise((done) => setTimeout(done, 1));
  };
  test('what a frame misses is one request; a hole is asked for once', async () => {
    const from = source();
    const all = new Names(names().trace, from);
    expect(threadName(all, 3)).toBe('unknown thread');
    expect(all.thread(4)).toBeUndefined();
    all.thread(3);
    await settled(all);
    expect(from.asked).toEqual([[3, 4]]);
    expect(threadName(all, 3)).toBe('t3 3');
    expect(all.changed.value).toBe(1);
    all.thread(4);
    all.thread(0xffffffff);
    await settled(all);
    expect(from.asked.length).toBe(1);
  });
  test('thousands are asked for in parts', async () => {
    const from = source();
    const all = new Names(names().trace, from);
    for (let thread = 0; thread < 2500; ++thread) all.thread(thread);
    await settled(all);
    expect(from.asked.map((part) => part.length)).toEqual([1000, 1000, 500]);
  });
  test('after a failure they are asked for again', async () => {
    let calls = 0;
    const all = new Names(names().trace, {...source(), processesOf: () => {
      ++calls;
      return Promise.reject(new Error('gone'));
    }});
    all.process(1);
    await settled(all);
    all.process(1);
    await settled(all);
    expect(calls).toBe(2);
  });
});

describe('commands by name', () => {
  test('all words of the text, in the name or in what it does', () => {
    expect(commandsLike('play back').map(({id}) => id)).toEqual(['play-back', 'reverse']);
    expect(commandsLike('').length).toBe(COMMANDS.length);
    expect(commandsLike('no such')).toEqual([]);
  });
});

describe('names', () => {
  test('control characters and bidirectional overrides become visible dots', () => {
    expect(clean('a\u0000b\u001b[31m\u202ec')).toBe('a\u00b7b\u00b7[31m\u00b7c');
    expect(clean('a\u200bb\u2067c\u061cd\ufeff')).toBe('a\u00b7b\u00b7c\u00b7d\u00b7');
    expect(clean('x'.repeat(10000))).toBe(`${'x'.repeat(199)}\u2026`);
    expect(clean('na\u00efve \u65e5\u672c')).toBe('na\u00efve \u65e5\u672c');
  });
});
