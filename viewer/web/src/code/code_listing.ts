// A function's listing as rows: its source lines by file, with the lines around,
// and its instructions. Pure.

import type {ListingAnswer, ListingEvent, SelfAmount} from '../api/schema';

const MOST_INSTRUCTIONS = 4000; // of more, those near a sample
const AROUND = 20;

export interface CodeLine {
  file: string; // empty: no line is known
  line: number; // 0: not known
  text: string|null; // null: the file is not there
  self: SelfAmount|null; // null: no sample
  gap: boolean; // lines are left out before it
}
export interface CodeInstruction {
  address: string;
  file: string;
  line: number; // 0: not known
  of: string; // the function that is inlined here; empty: the function itself
  text: string; // empty: it was not disassembled
  self: SelfAmount|null;
  gap: boolean;
}

// The lines of one event, by file, then by number.
export function codeLines(listing: ListingAnswer, event: ListingEvent): CodeLine[] {
  const lines = new Map<string, Map<number, CodeLine>>();
  const add = (line: CodeLine): void => {
    const file = lines.get(line.file) ?? new Map<number, CodeLine>();
    file.set(line.line, line);
    lines.set(line.file, file);
  };
  for (const {file, from, lines: texts} of listing.sources) {
    for (const [i, text] of texts.entries()) add({file, line: from + i, text, self: null, gap: false});
  }
  for (const row of event.lines) {
    add({file: row.file ?? '', line: row.line ?? 0, text: row.text, self: row, gap: false});
  }
  const self = (file: ReadonlyMap<number, CodeLine>): number =>
      [...file.values()].reduce((sum, line) => sum + (line.self?.self ?? 0), 0);
  // The file with most samples first.
  return [...lines.values()].sort((a, b) => self(b) - self(a)).flatMap((file) => {
    const rows = [...file.values()].sort((a, b) => a.line - b.line);
    rows.forEach((row, i) => {
      row.gap = i > 0 && row.line !== (rows[i - 1]?.line ?? 0) + 1;
    });
    return rows;
  });
}

export function codeInstructions(listing: ListingAnswer, event: ListingEvent): CodeInstruction[] {
  const all = event.addresses.map((row): CodeInstruction => ({
    address: row.address.replace(/^0x/, ''), file: row.file ?? '', line: row.line ?? 0,
    of: row.function === listing.function ? '' : row.function,
    text: row.instruction ?? '', self: row.self_samples > 0 ? row : null, gap: false,
  }));
  if (all.length <= MOST_INSTRUCTIONS) return all;
  const near = new Set(all.flatMap(({self}, i) => self ? Array.from({length: 2 * AROUND + 1}, (_, k) => i - AROUND + k) : []));
  let last = -1;
  return all.flatMap((row, i) => {
    if (!near.has(i)) return [];
    row.gap = i !== last + 1;
    last = i;
    return [row];
  });
}

// The hottest of rows; -1: none has a sample.
export function hottest(rows: readonly {self: SelfAmount|null}[]): number {
  let best = -1;
  rows.forEach(({self}, i) => {
    if (self && self.self > (rows[best]?.self?.self ?? 0)) best = i;
  });
  return best;
}
