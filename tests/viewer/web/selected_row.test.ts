import {signal} from '@preact/signals-core';

import {ApiError, type Client} from '../../../viewer/web/src/api/client';
import {type Aggregate, type Growth, LEAF_IDLE, NO_KEY, STATE_BLOCKED, STATE_WAITING, type TraceInfo, type WaitAnswer} from '../../../viewer/web/src/api/schema';
import {Core} from '../../../viewer/web/src/core/core';
import {Names} from '../../../viewer/web/src/core/names';
import {LIGHT} from '../../../viewer/web/src/core/palette';
import type {Selected} from '../../../viewer/web/src/core/selection';
import {RangeTables} from '../../../viewer/web/src/tables/range_tables';
import {selectedRow} from '../../../viewer/web/src/tables/selected_row';
import type {Lane} from '../../../viewer/web/src/timeline/rows/lanes';
import {selectedOf} from '../../../viewer/web/src/timeline/selected_item';

const TRACE = {duration_ns: 1000, events: [], machine_rows: [{kind: 'cpu', row: 1, owner: 0}], heaviest: [], hues: {names: [], of: ''}} as unknown as TraceInfo;
const item = (kind: Selected['kind'], hook: number|null = 7): Selected => ({kind, process: 1, thread: 3, hook, row: 12, from: 10, to: 20});
const data = (tables: Partial<Aggregate>) => ({processes: [], segments: [], hooks: [], final: true, ...tables}) as unknown as Aggregate;

describe('the item of a row', () => {
  const names = {thread: (thread: number) => thread === 5 ? {process: 2} : undefined} as unknown as Names;
  const lane = {kind: 'thread', owner: 3} as Lane;
  const of = (kind: 'run'|'cpu'|'segment'|'hook', key: number, flags = 0, on = lane) =>
      selectedOf(names, on, {kind, row: 12, process: 1, y: 0, height: 9}, {beginNs: 10, endNs: 20, key, flags, leaf: 0});
  test('a run of a thread is a dispatch, or why it does not run', () => {
    expect(of('run', 0)).toEqual({...item('dispatch'), hook: null});
    expect(of('run', NO_KEY, STATE_WAITING)).toEqual({...item('wait'), hook: null});
    expect(of('run', 7, STATE_BLOCKED).kind).toBe('wait');
  });
  test('a dispatch of a CPU is of the thread, if there is one', () => {
    expect(of('cpu', 5)).toMatchObject({kind: 'dispatch', thread: 5, process: 2});
    expect(of('cpu', 6)).toMatchObject({thread: 6, process: null});
    expect(of('cpu', 5, LEAF_IDLE)).toMatchObject({kind: 'dispatch', thread: null, process: null});
  });
  test('a segment is of a thread; a handler of a CPU is of none', () => {
    expect(of('segment', 7)).toEqual(item('segment'));
    expect(of('segment', 7, 0, {kind: 'cpu', owner: 0} as Lane)).toMatchObject({hook: 7, thread: null, process: null});
  });
});

describe('the row of what is selected', () => {
  test('by process and segment, thread or process; none where it is not', () => {
    const rows = data({segments: [{process: 1, hook: 7}], hooks: [{process: 1, hook: 7}], threads: [{thread: 3}], processes: [{process: 1}]} as never);
    expect(selectedRow(rows, 'segments', item('segment'), null)).toBe('1/7');
    expect(selectedRow(rows, 'segments', item('segment', 8), null)).toBe(null);
    expect(selectedRow(rows, 'threads', item('segment'), null)).toBe(null);
    expect(selectedRow(rows, 'hooks', item('hook'), null)).toBe('1/7');
    expect(selectedRow(rows, 'threads', item('dispatch'), null)).toBe('t3');
    expect(selectedRow(rows, 'processes', item('dispatch'), null)).toBe('p1');
    expect(selectedRow(rows, 'segments', item('range'), null)).toBe(null);
  });
  test('a wait is in the row of what ended it, or of what had the CPU longest', () => {
    const row = (state: string, by: string, thread: number|null, call: number|null) => ({process: 1, state, by, by_thread: thread, call});
    const waits = data({waits: [
      row('waiting', 'thread', 8, null), row('waiting', 'thread', 9, null), row('waiting', 'idle', null, null),
      row('blocked', 'thread', 8, 4), row('blocked', 'thread', 8, 5), row('blocked', 'other', null, 4),
    ]} as never);
    const waiting = {state: 'waiting', call: null, holders: [{thread: 8, ns: 3}, {thread: 9, ns: 5}], idle_ns: 4, outside_ns: 0, unknown_ns: 0, throttled_ns: 0, interrupts_ns: 0} as unknown as WaitAnswer;
    const found = (wait: Partial<WaitAnswer>) => selectedRow(waits, 'waits', item('wait', null), {...waiting, ...wait});
    expect(found({})).toBe('1/waiting/thread/9/null');
    expect(found({idle_ns: 6})).toBe('1/waiting/idle/null/null');
    expect(found({state: 'blocked', call: 5, woken_by: 'thread', waker: 8})).toBe('1/blocked/thread/8/5');
    expect(found({state: 'blocked', call: 4, woken_by: 'thread', waker: 9})).toBe('1/blocked/other/null/4');
    expect(selectedRow(waits, 'waits', item('wait', null), null)).toBe(null);
  });
});

describe('the table of what is selected', () => {
  const all = Array.from({length: 1250}, (_, hook) => ({process: 1, hook}));
  async function page() {
    const client = {
      aggregate: (_: number, __: number, {table, offset, limit}: {table: string; offset: number; limit: number}) => Promise.resolve(data({
        segments: table === 'segments' ? all.slice(offset, offset + limit) as never : [], segments_total: table === 'segments' ? all.length : null,
      })),
      durations: () => new Promise(() => undefined),
    };
    const core = new Core(client as unknown as Client, new Names(TRACE), {whole: true} as Growth, {theme: signal(LIGHT), calm: signal(false)});
    const tables = new RangeTables(core);
    tables.start();
    const settled = () => new Promise((done) => setTimeout(done, 60));
    await settled();
    return {core, tables, settled};
  }
  test('its table is shown, on the page that has its row; then the user turns pages', async () => {
    const {core, tables, settled} = await page();
    expect(tables.tab.peek()).toBe('processes');
    core.selection.select(item('segment', 1234));
    await settled();
    await settled();
    expect([tables.tab.peek(), tables.offset.peek()]).toEqual(['segments', 1200]);
    await settled();
    expect(tables.aggregate.peek()?.segments.some(({hook}) => hook === 1234)).toBe(true);
    tables.offset.value = 0;
    await settled();
    expect(tables.offset.peek()).toBe(0);
    tables.show('threads');
    await settled();
    expect(tables.tab.peek()).toBe('threads');
  });
  test('rows of the report have it on a page of their own, which comes into view', async () => {
    const asked: boolean[] = [];
    let replaced = 0; // so many answers by the report
    const client = {
      backend: {hasTrace: true},
      aggregate: (_: number, __: number, {offset, limit, byReport}: {offset: number; limit: number; byReport: boolean}) => {
        asked.push(byReport);
        if (byReport && replaced-- > 0) return Promise.reject(new ApiError(409, '409', ''));
        const rows = byReport ? [...all].reverse() : all;
        return Promise.resolve(data({final: byReport, segments: rows.slice(offset, offset + limit) as never, segments_total: all.length}));
      },
      durations: () => new Promise(() => undefined),
    };
    const core = new Core(client as unknown as Client, new Names(TRACE), {whole: true} as Growth, {theme: signal(LIGHT), calm: signal(false)});
    const tables = new RangeTables(core);
    tables.show('segments');
    core.selection.select(item('segment', 149));
    tables.start();
    const settled = () => new Promise((done) => setTimeout(done, 60));
    for (let i = 0; i < 6; ++i) await settled();
    // It is on the second page of the rows of the index, on the twelfth of the report.
    expect([tables.offset.peek(), tables.source.peek()]).toEqual([1100, 'report']);
    expect(tables.aggregate.peek()?.segments.some(({hook}) => hook === 149)).toBe(true);
    // A range that was not read is searched by the index, or not at all.
    asked.length = 0;
    core.page.panelOpen.value = false;
    core.range.chosen.value = {from: 1, to: 900};
    core.selection.select(item('segment', 249));
    for (let i = 0; i < 6; ++i) await settled();
    expect(asked).not.toContain(true);
    expect(tables.offset.peek()).toBe(200);
    core.page.panelOpen.value = true;
    for (let i = 0; i < 6; ++i) await settled();
    // Another page's report ends the search in this one.
    replaced = 1;
    core.selection.select(item('segment', 1249));
    await settled();
    expect([replaced, core.requests.error.peek(), tables.source.peek()]).toEqual([0, null, 'report']);
  });
  test('a table of other things stays, and so does one with a row for it', async () => {
    const {core, tables} = await page();
    core.selection.select(item('dispatch'));
    expect(tables.tab.peek()).toBe('processes');
    tables.show('events');
    core.selection.select(item('segment'));
    expect(tables.tab.peek()).toBe('events');
  });
});
