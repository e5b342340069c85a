// What the replay marks because it happens now: what begins under the playhead,
// and wakeups. Pure.

import type {Item} from '../../api/tile_decode';
import {NO_KEY, STATE_BLOCKED, STATE_UNKNOWN, STATE_WAITING} from '../../api/schema';

export const FLASH_MS = 250;

// The time that passed under the playhead in the last FLASH_MS.
export interface Passed {
  from: number;
  to: number;
  backward: boolean;
}

export function passed(at: number, nsPerSecond: number, backward: boolean): Passed {
  const way = nsPerSecond * FLASH_MS / 1000;
  return backward ? {from: at, to: at + way, backward} : {from: at - way, to: at, backward};
}

// How long ago the playhead met an instant, as a share of FLASH_MS; null: not in
// that time.
export function ageOf(instant: number, span: Passed): number|null {
  if (instant < span.from || instant > span.to || span.to <= span.from) return null;
  return (span.backward ? instant - span.from : span.to - instant) / (span.to - span.from);
}

export interface Flash {
  beginNs: number;
  endNs: number;
  age: number;
}

// Those in one row. Played backwards, an item begins at its end.
export function flashes(items: readonly Item[], span: Passed): Flash[] {
  const found: Flash[] = [];
  for (const item of items) {
    if ((item.flags & (STATE_WAITING | STATE_BLOCKED | STATE_UNKNOWN)) !== 0) continue;
    const age = ageOf(span.backward ? item.endNs : item.beginNs, span);
    if (age !== null) found.push({beginNs: item.beginNs, endNs: item.endNs, age});
  }
  return found;
}

export interface Spark {
  at: number;
  waker: number; // thread
  woken: number;
  age: number;
}

// The wakeups of a thread, from the items of its run row.
export function sparks(thread: number, items: readonly Item[], span: Passed): Spark[] {
  const found: Spark[] = [];
  for (const item of items) {
    if ((item.flags & STATE_WAITING) === 0 || item.key === NO_KEY) continue;
    const age = ageOf(item.beginNs, span);
    if (age !== null) found.push({at: item.beginNs, waker: item.key, woken: thread, age});
  }
  return found;
}
