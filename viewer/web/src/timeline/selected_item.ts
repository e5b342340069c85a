// What a click on an item of a row selects. Pure.

import {LEAF_IDLE, LEAF_OUTSIDE, STATE_BLOCKED, STATE_UNKNOWN, STATE_WAITING} from '../api/schema';
import type {Item} from '../api/tile_decode';
import type {Names} from '../core/names';
import type {Selected} from '../core/selection';
import type {Lane, SubRow} from './rows/lane_parts';

export function selectedOf(names: Names, lane: Lane, {kind, row, process}: SubRow, item: Item): Selected {
  const place = {row, from: item.beginNs, to: item.endNs};
  const ofThread = {...place, process, thread: lane.owner, hook: null};
  const ofNone: Selected = {...place, kind: 'dispatch', process: null, thread: null, hook: null};
  switch (kind) {
    case 'run':
      if ((item.flags & STATE_UNKNOWN) !== 0) return ofNone;
      return {...ofThread, kind: (item.flags & (STATE_WAITING | STATE_BLOCKED)) !== 0 ? 'wait' : 'dispatch'};
    case 'cpu':
      if ((item.flags & (LEAF_IDLE | LEAF_OUTSIDE)) !== 0) return ofNone;
      return {...place, kind: 'dispatch', process: names.thread(item.key)?.process ?? null, thread: item.key, hook: null};
    case 'segment':
    case 'hook':
      // The handlers of a CPU are of no thread.
      return lane.kind === 'thread' ? {...ofThread, kind, hook: item.key} : {...ofNone, kind, hook: item.key};
    default: return ofNone;
  }
}
