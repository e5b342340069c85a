// SQL over the tables of the trace, as `countrace query` takes it: in the
// selection, or in the whole trace. The server limits its time and memory.

import {type Signal, signal} from '@preact/signals-core';

import {ApiError, type TimeSpan} from '../api/client';
import type {Core} from '../core/core';
import type {RangeTables} from '../tables/range_tables';

export interface QueryRows {
  columns: readonly string[];
  rows: readonly (readonly string[])[];
  cut: boolean; // there are more
  said: string; // beside them
  // What was asked.
  sql: string;
  range: TimeSpan|null;
}

export const FIRST_SQL = 'SELECT comm, pid, on_cpu_ns FROM processes ORDER BY on_cpu_ns DESC LIMIT 20';

export class Query {
  readonly sql = signal(FIRST_SQL);
  readonly answer: Signal<QueryRows|null> = signal(null);
  readonly refused: Signal<string|null> = signal(null);
  readonly busy = signal(false);
  readonly wantsFocus = signal(false); // the keyboard goes to the text

  private abort: AbortController|null = null;

  constructor(readonly core: Core, private readonly tables: RangeTables) {
    core.commands.register({
      query: () => {
        core.page.panelOpen.value = true;
        this.wantsFocus.value = true;
        this.tables.show('query');
      },
    });
  }

  // The text and the answer of a page with a shorter index.
  takeOver(old: Query): void {
    for (const part of ['sql', 'answer', 'refused'] as const) (this[part] as Signal<unknown>).value = old[part].peek();
    if (old.busy.peek()) void this.run();
  }
  async run(): Promise<void> {
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    this.busy.value = true;
    await this.core.requests.guard(async () => {
      try {
        const [sql, range] = [this.sql.peek(), this.core.range.chosen.peek()];
        const {csv, cut, said} = await this.core.client.query(sql, range, abort.signal);
        const [columns = [], ...rows] = linesOf(csv);
        this.answer.value = {columns, rows, cut, said, sql, range};
        this.refused.value = null;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        this.answer.value = null;
        this.refused.value = error.reason;
      }
    });
    if (this.abort === abort) this.busy.value = false;
  }
}

// The cells of a CSV text, by line (RFC 4180).
export function linesOf(csv: string): string[][] {
  const lines: string[][] = [];
  let line: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r\n|$)/gy;
  for (let match = cell.exec(csv); match && cell.lastIndex <= csv.length; match = cell.exec(csv)) {
    const [all, quoted, plain = '', end] = match;
    if (all === '') break;
    line.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ',') continue;
    lines.push(line);
    line = [];
  }
  return lines;
}
