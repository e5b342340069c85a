import fc from 'fast-check';

import {RowOrder} from '../../../viewer/web/src/timeline/rows/row_order';

const rows = fc.uniqueArray(fc.integer({min: 0, max: 30})).chain((numbers) =>
    fc.shuffledSubarray(numbers, {minLength: numbers.length})
        .map((order) => order.map((number, rank) => ({number, rank}))));
const numberOf = (row: {number: number}): number => row.number;

describe('row order', () => {
  test('first by rank; those that were there keep their order, new ones are behind', () => {
    fc.assert(fc.property(rows, rows, (first, second) => {
      const order = new RowOrder();
      const before = order.arrange(first, numberOf).map(numberOf);
      expect(before).toEqual(first.map(numberOf));
      const after = order.arrange(second, numberOf).map(numberOf);
      expect([...after].sort()).toEqual(second.map(numberOf).sort());
      const known = before.filter((number) => after.includes(number));
      expect(after).toEqual([...known, ...second.map(numberOf).filter((number) => !before.includes(number))]);
      order.forget();
      expect(order.arrange(second, numberOf).map(numberOf)).toEqual(second.map(numberOf));
    }));
  });
});
