// Steps of the playhead: to the next record, or to the next boundary of a kind,
// of the whole machine or of the focused row.

import type {StepAnswer, StepLimit} from '../api/schema';
import type {Core} from '../core/core';
import {formatInstant} from '../core/units';
import type {Lane} from '../timeline/rows/lanes';
import type {Rows} from '../timeline/rows/rows';
import {type Names, threadName} from '../core/names';

// What a lane limits steps to. A record is of the whole machine.
export function limitOf(lane: Lane|undefined): StepLimit {
  if (!lane) return {};
  if (lane.kind === 'thread') return {thread: lane.owner};
  if (lane.kind === 'process') return {process: lane.process};
  if (lane.kind === 'cpu' && lane.owner >= 0) return {cpu: lane.owner};
  return {};
}

const RECORDS = 200; // of a request; some share their instant

// `limit` empty: on the whole machine.
export class Steps {
  constructor(private readonly core: Core, private readonly rows: Rows) {}

  // What the focused lane limits steps to.
  limit(): StepLimit {
    return limitOf(this.rows.focusedLane());
  }

  // Up to `count` instants, the nearest first; none: there is none.
  async times(at: number, forward: boolean, count: number, limit = this.limit()): Promise<number[]> {
    const {client, playback} = this.core;
    const kind = playback.stepKind.peek();
    if (kind !== 'record') return (await client.step(at, forward, kind, limit, count)).times ?? [];
    const page = await client.events({t: forward ? at + 1 : at, nth: 0}, forward, count === 1 ? 1 : RECORDS);
    const times = [...new Set(page.items.map((item) => item.t))].sort((a, b) => forward ? a - b : b - a);
    return times.slice(0, count);
  }

  // What the next step meets, for the live region.
  async next(at: number, forward: boolean, limit: StepLimit): Promise<{t: number; says: string}|null> {
    const {client, names, playback} = this.core;
    const kind = playback.stepKind.peek();
    if (kind === 'record') {
      const [t] = await this.times(at, forward, 1, limit);
      return t === undefined ? null : {t, says: `Record at ${formatInstant(t, 1)}`};
    }
    const answer = await client.step(at, forward, kind, limit);
    if (!answer.found || answer.t === undefined) return null;
    return {t: answer.t, says: `${whatIs(names, answer)} at ${formatInstant(answer.t, 1)}`};
  }
}

function whatIs(names: Names, answer: StepAnswer): string {
  const owner = answer.owner ?? -1;
  const edge = answer.edge === 'end' ? 'ends' : 'begins';
  switch (answer.kind) {
    case 'cpu': return `Dispatch on CPU ${owner} ${edge}`;
    case 'run': return `Dispatch of ${threadName(names, owner)} ${edge}`;
    case 'segment': return `Segment of ${threadName(names, owner)} ${edge}`;
    case 'hook': return `Hook of ${threadName(names, owner)}`;
    case 'handler': return `Interrupt on CPU ${owner} ${edge}`;
    case 'quality': return `Loss ${edge}`;
    default: return 'Boundary';
  }
}
