import fc from 'fast-check';

import {byName, SlotPlaces} from '../../../viewer/web/src/replay/process_slots';

const nameOf = (process: number): string => `name${process % 4}`;
const runs = fc.array(fc.record({process: fc.integer({min: 0, max: 20}), on_cpu_ns: fc.integer({min: 0, max: 100})}), {maxLength: 30});

describe('process slots', () => {
  test('those of one name are together, the most first, none without time', () => {
    const rows = [{process: 1, on_cpu_ns: 5}, {process: 5, on_cpu_ns: 9}, {process: 2, on_cpu_ns: 10}, {process: 3, on_cpu_ns: 0}];
    expect(byName(rows, nameOf)).toEqual([
      {name: 'name1', processes: [5, 1], ns: 14}, {name: 'name2', processes: [2], ns: 10},
    ]);
  });
  test('the time of all slots is that of the processes', () => {
    fc.assert(fc.property(runs, (rows) => {
      const sum = byName(rows, nameOf).reduce((total, slot) => total + slot.ns, 0);
      expect(sum).toBe(rows.reduce((total, row) => total + row.on_cpu_ns, 0));
    }));
  });
  test('while it plays a name that runs on keeps its place', () => {
    fc.assert(fc.property(fc.array(runs, {minLength: 2, maxLength: 6}), (frames) => {
      const places = new SlotPlaces(4); // as many as there are names
      let before: (string|null)[] = [];
      for (const frame of frames) {
        const now = places.place(byName(frame, nameOf), true).map((slot) => slot?.name ?? null);
        for (const [place, name] of before.entries()) if (name !== null) expect(now[place]).toBe(name);
        before = now;
      }
    }));
  });
  test('at rest they are in order, and only what ran is there', () => {
    const places = new SlotPlaces(3);
    places.place(byName([{process: 1, on_cpu_ns: 1}], nameOf), true);
    const slots = places.place(byName([{process: 2, on_cpu_ns: 1}, {process: 3, on_cpu_ns: 2}], nameOf), false);
    expect(slots.map((slot) => slot?.name)).toEqual(['name3', 'name2', undefined]);
  });
});
