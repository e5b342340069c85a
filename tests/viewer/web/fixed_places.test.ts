import fc from 'fast-check';

import {placesAfter} from '../../../viewer/web/src/replay/fixed_places';

describe('fixed places', () => {
  test('who has a place keeps it; the first of the ranked all have one', () => {
    const ranking = fc.uniqueArray(fc.integer({min: 0, max: 20}), {maxLength: 15});
    fc.assert(fc.property(fc.array(ranking, {maxLength: 20}), fc.integer({min: 1, max: 8}), (steps, count) => {
      let places: (number|null)[] = [];
      for (const ranked of steps) {
        const next = placesAfter(places, ranked, count);
        expect(next.length).toBe(count);
        const held = next.filter((thing) => thing !== null);
        expect(new Set(held).size).toBe(held.length);
        for (const thing of ranked.slice(0, count)) {
          expect(next).toContain(thing);
          if (places.includes(thing)) expect(next.indexOf(thing)).toBe(places.indexOf(thing));
        }
        places = next;
      }
    }));
  });
});
