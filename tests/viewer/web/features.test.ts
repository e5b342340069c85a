import {signal} from '@preact/signals-core';
import fc from 'fast-check';

import type {Client} from '../../../viewer/web/src/api/client';
import type {Growth, TraceInfo} from '../../../viewer/web/src/api/schema';
import {Code} from '../../../viewer/web/src/code/code';
import {Compare} from '../../../viewer/web/src/compare/compare';
import {Core} from '../../../viewer/web/src/core/core';
import {COMMANDS} from '../../../viewer/web/src/core/keymap';
import {Names} from '../../../viewer/web/src/core/names';
import {LIGHT} from '../../../viewer/web/src/core/palette';
import {Follow} from '../../../viewer/web/src/follow/follow';
import {Notes} from '../../../viewer/web/src/notes/notes';
import {Query} from '../../../viewer/web/src/query/query';
import {Replay} from '../../../viewer/web/src/replay/replay';
import {Tables} from '../../../viewer/web/src/tables/tables';
import {Timeline} from '../../../viewer/web/src/timeline/timeline';

const DURATION = 2 ** 52;
const TRACE = {
  duration_ns: DURATION, events: ['cpu-clock', 'cycles', 'misses'], cpus: 4, machine_row: 0, counter_rows_from: 100,
  machine_rows: [{kind: 'cpu', row: 1, owner: 0, leaves: 1, depth: 0}], heaviest: [], hues: {names: [], of: ''},
} as unknown as TraceInfo;

// All features that have fields of the address or commands, without requests.
function page() {
  const core = new Core({backend: {hasTrace: true}} as Client, new Names(TRACE), {whole: true} as Growth, {theme: signal(LIGHT), calm: signal(false)});
  const timeline = new Timeline(core);
  const replay = new Replay(core, timeline.rows);
  const tables = new Tables(core, timeline);
  return {core, timeline, replay, tables, code: new Code(core, tables.ranges, timeline.places), compare: new Compare(core, tables.ranges),
          notes: new Notes(core, timeline.flags), query: new Query(core, tables.ranges), follow: new Follow(core, timeline, tables)};
}
const begunAt = (address: string) => {
  const begun = page();
  begun.core.address.read(address, true);
  return begun;
};

describe('address', () => {
  test('a page that begins at the address of another one has the same address', () => {
    const number = (max: number) => fc.integer({min: 0, max});
    fc.assert(fc.property(fc.record({
      from: number(2 ** 50), length: fc.integer({min: 1000, max: 2 ** 50}), y: number(1e6), t: number(2 ** 52),
      event: number(2), cpu: fc.integer({min: -1, max: 3}), process: fc.option(number(1000)), filter: fc.string(),
      opened: fc.uniqueArray(number(1000)), pinned: fc.uniqueArray(number(1000)), loop: fc.boolean(), kind: fc.constantFrom('segment', 'wait', 'dispatch', 'hook'),
    }), ({from, length, y, t, event, cpu, process, filter, opened, pinned, loop, kind}) => {
      const parts = [
        `from=${from}`, `to=${from + length}`, `event=${event}`, `cpu=${cpu}`, `y=${y}`, `sel=${from}-${from + length}`, `cmp=3-9`,
        `item=12-${from}-${from + length}-${kind}-3--7`, 'speed=250000', `t=${t}`, 'step=segment', 'follow=centre', 'tab=changes',
        'all=2', 'row=thread12', 'irq=1', `markers=${from}-`, 'requests=0', 'request=a%2F7', 'rare=5-6', ...(loop ? ['loop=1'] : []), ...(process === null ? [] : [`process=${process}`]),
        ...(opened.length > 0 ? [`open=${opened.join('-')}`] : []), ...(pinned.length > 0 ? [`pin=${pinned.join('-')}`] : []),
        ...(filter === '' ? [] : [`where=${encodeURIComponent(filter)}`]),
      ];
      const first = begunAt(`#${parts.join('&')}`).core.address;
      const [wanted, got] = [new Map(parts.map((part) => part.split('=') as [string, string])), first.parts()];
      for (const key of ['from', 'to']) {
        expect(Number(got.get(key))).toBeCloseTo(Number(wanted.get(key)), -3);
        for (const map of [wanted, got]) map.delete(key);
      }
      expect([...got].sort()).toEqual([...wanted].sort());
      expect(begunAt(first.write()).core.address.parts()).toEqual(first.parts());
    }));
  });
  test('foreign fragments change nothing and never throw', () => {
    const usual = page().core.address.write();
    fc.assert(fc.property(fc.string(), (text) => {
      expect(begunAt(text).core.address.write()).not.toMatch(/NaN|undefined|Infinity/);
    }));
    expect(begunAt('#from=5&to=4&sel=9-3&cmp=7-7&item=1-9-8&item=1-2&t=NaN&y=').core.address.write()).toBe(usual);
    expect(begunAt('#constructor=1&toString=a&follow=<b>&tab=&row=<b>&where=%').core.address.write()).toBe(usual);
  });
  test('a selection in an address may have decimals, as its window', () => {
    expect(begunAt('#sel=10.4-20.6').core.range.chosen.value).toEqual({from: 10, to: 21});
    expect(begunAt('#sel=10.4-10.3').core.range.chosen.value).toBe(null);
    expect(begunAt('#sel=1-2-3').core.range.chosen.value).toBe(null);
  });
  test('Back shows another place; the counter and the speed stay', () => {
    const {core, timeline} = begunAt('#sel=10-20&event=2&speed=4000&item=3-5-6-segment-1-2-8&row=thread2');
    expect(core.selection.selected.value).toEqual({kind: 'segment', row: 3, from: 5, to: 6, process: 1, thread: 2, hook: 8});
    core.address.read('#from=0&to=5000&event=1&speed=1');
    expect(core.selection.selected.value).toBe(null);
    expect(core.focus.lane.value).toBe(null);
    expect(timeline.rows.counter.value.event).toBe(2);
    expect(core.playback.play.value.speed).toBe(4000);
  });
  test('a link of an older page, which had a row and a time, marks the place', () => {
    expect(begunAt('#item=3-5-6').core.selection.selected.value).toMatchObject({row: 3, from: 5, to: 6, thread: null});
  });
});

describe('commands', () => {
  test('each command of the keymap is a feature\'s; the page and the find box have the rest', () => {
    const {commands} = page().core;
    expect(COMMANDS.map(({id}) => id).filter((id) => !commands.has(id)).sort())
        .toEqual(['clear', 'commands', 'drawing', 'filter', 'find', 'help', 'palette', 'picture', 'theme']);
  });
  test('no two features have one command', () => {
    expect(() => page().core.commands.register({pause: () => undefined})).toThrow('two commands pause');
  });
});

describe('the selection', () => {
  test('what was selected last is selected: an item, else the range', () => {
    const {selection, range} = page().core;
    const item = {kind: 'segment' as const, row: 3, process: 1, thread: 2, hook: 5, from: 150, to: 170};
    selection.selectRange(300, 200);
    expect(selection.selected.value).toMatchObject({kind: 'range', from: 200, to: 300, thread: null});
    selection.select(item);
    expect(selection.selected.value).toEqual(item);
    expect(range.chosen.value).toEqual({from: 200, to: 300}); // the tables are still of it
    // A segment: its calls in the range.
    selection.selectRange(10, 20);
    expect(selection.selected.value).toEqual({...item, row: null, thread: null, from: 10, to: 20});
    selection.select({...item, kind: 'dispatch', hook: null});
    selection.selectRange(30, 20);
    expect(selection.selected.value).toMatchObject({kind: 'range', from: 20, to: 30});
    selection.clear();
    expect(selection.selected.value).toBe(null);
  });
});
