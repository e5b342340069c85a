// Whose rows a table shows: the report's, or for a while, or for a reason, the
// index's, which are not the same where records were lost or an edge of the range
// cuts counts (API.md, "aggregate").

import {ApiError, isReplaced} from '../api/client';
import type {Aggregate} from '../api/schema';
import type {Core} from '../core/core';
import type {Table} from './selected_row';

// 'report': its rows, or the same; 'reading': the index's until these have come.
export type Source = 'report'|'reading'|{why: string};

const RETRY_MS = 300;
const LONGEST_RETRY_MS = 10_000;

// The source of rows that are not final.
export function instead(table: Table, {client, extent}: Core): Source {
  if (!client.backend.hasTrace) return {why: 'the limits of these, where records were lost or an edge cuts counts, are in `countrace view`'};
  if (!extent.isWhole) return {why: 'their limits are there when the whole trace is indexed'};
  if (table === 'waits') return {why: 'the limits of these are in the CSV files of this range'};
  return 'reading';
}

// Requests it until no other range has taken its place: ever more rarely, so that of two
// pages each has its answer. Returns why there is none.
export async function readReport(ask: () => Promise<Aggregate>, signal: AbortSignal): Promise<Aggregate|string> {
  for (let pause = RETRY_MS;; pause = Math.min(2 * pause, LONGEST_RETRY_MS)) {
    try {
      const answer = await ask();
      return answer.final ? answer : 'there is no trace beside the index';
    } catch (error) {
      if (error instanceof ApiError && error.status === 413) return error.reason;
      if (!isReplaced(error)) throw error;
      await new Promise((done) => setTimeout(done, pause));
      signal.throwIfAborted();
    }
  }
}
