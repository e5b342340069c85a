import type {ListedAddress, ListedLine, ListingAnswer} from '../../../viewer/web/src/api/schema';
import {codeInstructions, codeLines, hottest} from '../../../viewer/web/src/code/code_listing';

const amount = (self: number) => ({self_samples: self, self, self_lo: self, self_hi: self});
const line = (file: string|null, number: number|null, self: number): ListedLine =>
    ({file, line: number, text: file === null ? null : `${file} ${number}`, ...amount(self)});
const address = (at: number, self: number, name = 'f'): ListedAddress =>
    ({address: `0x${at.toString(16)}`, function: name, inlined: name !== 'f', file: 'a.cc', line: 1, instruction: 'nop', ...amount(self)});

function listing(lines: ListedLine[], addresses: ListedAddress[], sources: ListingAnswer['sources'] = []): ListingAnswer {
  return {function: 'f', dso: '/bin/x', notes: [], all: [], sources, events: [{event: 'cpu-clock', ...amount(1), lines, addresses}]};
}
const lines = (answer: ListingAnswer) => answer.events.flatMap((event) => codeLines(answer, event));
const instructions = (answer: ListingAnswer) => answer.events.flatMap((event) => codeInstructions(answer, event));

describe('code listing', () => {
  it('lines around those with samples are there, and what is between pieces is a gap', () => {
    const rows = lines(listing([line('a.cc', 5, 3), line('a.cc', 20, 1)], [], [
      {file: 'a.cc', from: 4, lines: ['four', 'five', 'six']}, {file: 'a.cc', from: 20, lines: ['twenty']}]));
    expect(rows.map(({line, text, self, gap}) => [line, text, self?.self ?? null, gap])).toEqual([
      [4, 'four', null, false], [5, 'a.cc 5', 3, false], [6, 'six', null, false], [20, 'a.cc 20', 1, true]]);
  });
  it('the file with most samples is first; a line that is not known has a row', () => {
    const rows = lines(listing([line('a.cc', 1, 2), line('b.h', 7, 5), line('b.h', 9, 0), line(null, null, 1)], []));
    expect(rows.map(({file, line}) => [file, line])).toEqual([['b.h', 7], ['b.h', 9], ['a.cc', 1], ['', 0]]);
    expect(hottest(rows)).toBe(0);
    expect(hottest([{self: null}])).toBe(-1);
  });
  it('instructions of inlined functions have their name', () => {
    expect(instructions(listing([], [address(16, 2), address(18, 0, 'g')])).map(({address, of, self}) => [address, of, self?.self ?? null]))
        .toEqual([['10', '', 2], ['12', 'g', null]]);
  });
  it('of very many instructions those near a sample are shown', () => {
    const all = Array.from({length: 5000}, (_, at) => address(at, at === 1000 || at === 1030 || at === 4999 ? 1 : 0));
    const rows = instructions(listing([], all));
    expect(rows.map(({address}) => parseInt(address, 16))).toEqual([
      ...Array.from({length: 71}, (_, i) => 980 + i), ...Array.from({length: 21}, (_, i) => 4979 + i)]);
    expect(rows.flatMap(({address, gap}) => gap ? [parseInt(address, 16)] : [])).toEqual([980, 4979]);
  });
});
