// Whose rows a table shows: the report's, or for a while, or for a reason, the
// index's, which are not the same where records were lost or an edge of the range
// cuts counts (API.md, "aggregate").

import {ApiError, isAbort, isLost, isReplaced} from '../api/client';
import type {Aggregate} from '../api/schema';
import type {Core} from '../core/core';
import type {Table} from './selected_row';

// Why there is no report. `again`: that may change.
export interface Instead {
  why: string;
  again?: boolean;
}
// 'report': its rows, or the same; 'reading': the index's until these have come.
export type Source = 'report'|'reading'|Instead;

const RETRY_MS = 300;
const MOST_RETRIES = 3;
const SOON_MS = 300;

// The source of rows that are not final.
export function instead(table: Table, {client, extent}: Core): Source {
  if (!client.backend.hasTrace) return {why: 'the limits of these, where records were lost or an edge cuts counts, are in `countrace view`'};
  if (!extent.isWhole) return {why: 'their limits are there when the whole trace is indexed'};
  if (table === 'waits') return {why: 'the limits of these are in the CSV files of this range'};
  return 'reading';
}

// What a failed request leaves of a source: nothing is read any more, unless another
// request took the place of this one, or one will when the server is back.
export function afterFailure(source: Source, error: unknown): Source {
  if (source !== 'reading' || isAbort(error) || isLost(error)) return source;
  const [why = ''] = (error instanceof ApiError ? error.reason : String(error)).split('\n');
  return {why: why.replace(/\.$/, ''), again: true};
}

// Requests it until no other range has taken its place: ever more rarely, and not for
// ever, as two pages would end each other's. The last to retry has its answer.
export async function readReport(ask: () => Promise<Aggregate>, signal: AbortSignal): Promise<Aggregate|Instead> {
  for (let retries = 0;; ++retries) {
    try {
      const answer = await ask();
      return answer.final ? answer : {why: 'there is no trace beside the index'};
    } catch (error) {
      if (error instanceof ApiError && error.status === 413) return {why: error.reason};
      if (!isReplaced(error)) throw error;
      if (retries === MOST_RETRIES) return {why: 'another page has the trace read for another range', again: true};
      await new Promise((done) => setTimeout(done, RETRY_MS * 2 ** retries));
      while (globalThis.document?.hidden && !signal.aborted) await inSight(signal);
      signal.throwIfAborted();
    }
  }
}

// Whether the report is there at once, as one that the server has kept.
export function isThereSoon(report: Promise<Aggregate|Instead>): Promise<boolean> {
  return Promise.race([
    report.then((answer) => !('why' in answer), () => false),
    new Promise<boolean>((done) => setTimeout(() => done(false), SOON_MS)),
  ]);
}

// A page out of sight does not end what one in sight has read.
function inSight(signal: AbortSignal): Promise<unknown> {
  return new Promise((done) => {
    document.addEventListener('visibilitychange', done, {once: true, signal});
    signal.addEventListener('abort', done, {once: true});
  });
}
