// Steps of the playhead: to the next record, or to the next boundary of a kind,
// of the whole machine or of the focused row.

import type {Client} from '../api/client';
import type {StepAnswer, StepKind, StepLimit} from '../api/schema';
import {formatInstant} from '../core/units';
import type {Lane} from '../timeline/rows/lanes';
import {type Names, threadName} from '../core/names';

export const STEP_KINDS = ['any', 'record', 'hook', 'segment', 'dispatch', 'interrupt', 'loss'] as const;
export type StepChoice = typeof STEP_KINDS[number];

export function stepName(choice: StepChoice): string {
  return choice === 'any' ? 'boundary' : choice;
}

// What a lane limits steps to. A record is of the whole machine.
export function limitOf(lane: Lane|undefined): StepLimit {
  if (!lane) return {};
  if (lane.kind === 'thread') return {thread: lane.owner};
  if (lane.kind === 'process') return {process: lane.process};
  if (lane.kind === 'cpu' && lane.owner >= 0) return {cpu: lane.owner};
  return {};
}

const RECORDS = 200; // of a request; some share their instant

// Up to `count` instants, the nearest first; none: there is none.
export async function stepTimes(
    client: Client, at: number, forward: boolean, choice: StepChoice, limit: StepLimit, count: number): Promise<number[]> {
  if (choice !== 'record') return (await client.step(at, forward, choice, limit, count)).times ?? [];
  const page = await client.events({t: forward ? at + 1 : at, nth: 0}, forward, count === 1 ? 1 : RECORDS);
  const times = [...new Set(page.items.map((item) => item.t))].sort((a, b) => forward ? a - b : b - a);
  return times.slice(0, count);
}

// What the step met, for the live region.
export async function stepOnce(
    client: Client, names: Names, at: number, forward: boolean, choice: StepChoice, limit: StepLimit):
    Promise<{t: number; says: string}|null> {
  if (choice === 'record') {
    const [t] = await stepTimes(client, at, forward, choice, limit, 1);
    return t === undefined ? null : {t, says: `Record at ${formatInstant(t, 1)}`};
  }
  const answer = await client.step(at, forward, choice as StepKind, limit);
  if (!answer.found || answer.t === undefined) return null;
  return {t: answer.t, says: `${whatIs(names, answer)} at ${formatInstant(answer.t, 1)}`};
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
