import fc from 'fast-check';

import type {Item} from '../../../viewer/web/src/api/tile_decode';
import {NO_KEY, STATE_BLOCKED, STATE_WAITING} from '../../../viewer/web/src/api/schema';
import {ageOf, flashes, passed, sparks} from '../../../viewer/web/src/timeline/paint/unfolding';

const item = (beginNs: number, endNs: number, flags = 0, key = 1): Item => ({beginNs, endNs, key, flags, leaf: 0});

describe('unfolding', () => {
  it('what begins under the playhead flashes for 250 ms', () => {
    const items = [item(740, 900), item(760, 2000), item(1000, 1100), item(1001, 1200), item(800, 900, STATE_BLOCKED)];
    // 1,000 ns of trace a second: 250 ns in 250 ms.
    expect(flashes(items, passed(1000, 1000, false)).map(({beginNs, age}) => [beginNs, age]))
        .toEqual([[760, 0.96], [1000, 0]]);
    // Backwards, their ends come first.
    expect(flashes(items, passed(1000, 1000, true)).map(({endNs, age}) => [endNs, age]))
        .toEqual([[1100, 0.4], [1200, 0.8]]);
  });
  it('wakeups whose waker is known spark', () => {
    const items = [item(900, 950, STATE_WAITING, 7), item(910, 950, STATE_WAITING, NO_KEY), item(920, 950, 0, 7)];
    expect(sparks(3, items, passed(1000, 1000, false))).toEqual([{at: 900, waker: 7, woken: 3, age: 0.4}]);
  });
  it('an age is within the time that passed, forwards and backwards', () => {
    fc.assert(fc.property(
        fc.integer({min: 0, max: 1e6}), fc.integer({min: 0, max: 1e6}), fc.integer({min: 1, max: 1e7}), fc.boolean(),
        (instant, at, rate, backward) => {
          const age = ageOf(instant, passed(at, rate, backward));
          const since = (backward ? instant - at : at - instant) / rate;
          if (age === null) expect(since < 0 || since > 0.25).toBe(true);
          else expect(age).toBeCloseTo(since / 0.25, 6);
        }));
  });
});
