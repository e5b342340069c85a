import {linesOf} from '../../../viewer/web/src/query/query';

describe('answers of queries', () => {
  test('cells with commas, quotes and lines are one each', () => {
    expect(linesOf('a,"b, ""c"""\r\n1,"two\r\nlines"\r\n,\r\n')).toEqual([['a', 'b, "c"'], ['1', 'two\r\nlines'], ['', '']]);
  });
  test('an empty cell alone is a line, no text is none', () => {
    expect(linesOf('a\r\n\r\n1\r\n')).toEqual([['a'], [''], ['1']]);
    expect(linesOf('')).toEqual([]);
  });
});
