// What the page of one trace gives to the page that shows several (pair.tsx).

import {effect, type ReadonlySignal} from '@preact/signals-core';

import type {Client} from '../api/client';
import {besideAll, type Show} from './beside';
import type {Replay} from './replay';
import {endNs} from '../core/viewport';

const STEPS = 120; // of an answer

// Where a page is.
export interface Position {
  at: number;
  from: number; // the window
  to: number;
  runBegin: number; // where it began to play; 0: nowhere
}

export interface Stage {
  readonly name: string;
  readonly beginNs: bigint; // on the clock of the boot
  readonly hostname: string; // empty: not known
  readonly clockBeganNs: bigint; // ns since 1970
  position(): Position;
  // Calls `changed` when the playhead or the window moves, and when the page
  // shows another index: of more of the trace.
  watch(changed: (longer: boolean) => void): void;
  // From here on this page loads what all show: `there` is the same instant of
  // another trace.
  lead(others: readonly {stage: Stage; there: (at: number) => number}[]): void;
  // Another page leads.
  beLed(): void;
  // Stops playing, and is there. What it shows of it, the page that leads loads.
  follow(position: Position): void;
  // The time that it may show, more than that of its trace.
  spread(from: number, to: number): void;
  // Loads what all show, unless they do.
  load(): void;
  state(at: number, runBegin: number): Promise<Show>;
  frames(times: readonly number[], runBegin: number): Promise<readonly Show[]>;
  shows(at: number): boolean;
  segments(): Promise<string[]>;
  // When the call of a segment begins, counted from 1; null: there are not so many.
  call(segment: string, number: number): Promise<number|null>;
  // Resolves when the whole trace is shown.
  whole(): Promise<void>;
}

// Counts instants at which calls begin.
export async function callOf(client: Pick<Client, 'hooks'|'hits'|'call'>, segment: string, number: number): Promise<number|null> {
  const begins = new Set<number>();
  for (const {hook} of (await client.hooks()).filter(({name}) => name === segment)) {
    // A step goes to what is after an instant, also after the first one.
    if ((await client.hits(hook, 0, 1, 1)).total > 0) begins.add(0);
    for (let at = 0, more = number; more > 0;) {
      const {times = []} = await client.call(hook, at, true, Math.min(more, STEPS));
      for (const time of times) begins.add(time);
      more = times.length < STEPS ? 0 : more - times.length;
      at = times[times.length - 1] ?? 0;
    }
  }
  return [...begins].sort((a, b) => a - b)[number - 1] ?? null;
}

// `shown`: the replay of the page, a new one for each index.
export function stageOf(shown: ReadonlySignal<Replay>): Stage {
  const inside = (at: number): number => {
    const {from, to} = shown.peek().core.playback.limits;
    return Math.min(Math.max(at, from), to);
  };
  return {
    name: shown.value.core.names.trace.path?.replace(/\/+$/, '').split('/').pop() || 'trace',
    beginNs: BigInt(shown.value.core.names.trace.begin_ns),
    hostname: shown.value.core.names.trace.hostname ?? '',
    clockBeganNs: BigInt(shown.value.core.names.trace.realtime_offset_ns ?? 0),
    position: () => ({
      at: shown.value.core.playback.play.value.at,
      from: shown.value.core.view.viewport.value.startNs,
      to: endNs(shown.value.core.view.viewport.value),
      runBegin: shown.value.core.playback.runBegin,
    }),
    watch(changed) {
      let last = shown.peek();
      effect(() => {
        const replay = shown.value;
        const {core} = replay;
        void [core.playback.play.value, core.view.viewport.value];
        const longer = replay !== last;
        last = replay;
        changed(longer);
      });
    },
    lead(others) {
      const {now} = shown.peek();
      now.isLed = false;
      now.beside = besideAll(others.map(({stage, there}) => {
        const begin = (runBegin: number): number => runBegin === 0 ? 0 : there(runBegin);
        return {
          state: (at, runBegin) => stage.state(there(at), begin(runBegin)),
          frames: (times, runBegin) => stage.frames(times.map(there), begin(runBegin)),
          shows: (at) => stage.shows(there(at)),
        };
      }));
    },
    beLed() {
      const {now} = shown.peek();
      now.isLed = true;
      now.beside = null;
    },
    follow({at, from, to, runBegin}) {
      const {core, now} = shown.peek();
      if (core.playback.play.peek().playing) core.playback.pause();
      core.playback.moveTo(at);
      now.beginRun(inside(runBegin));
      core.view.place(from, to);
    },
    spread(from, to) {
      const {view, playback} = shown.peek().core;
      view.limits = playback.limits = {from: Math.floor(from), to: Math.ceil(to)};
    },
    load: () => shown.peek().now.load(shown.peek().core.playback.play.peek().at),
    state(at, runBegin) {
      const {now} = shown.peek();
      now.beginRun(inside(runBegin));
      return now.stateAt(inside(at));
    },
    frames(times, runBegin) {
      const {now} = shown.peek();
      now.beginRun(inside(runBegin));
      return now.framesFor(times.map(inside));
    },
    shows: (at) => shown.peek().now.shows(inside(at)),
    async segments() {
      const {core} = shown.value;
      return (await core.client.longest()).items.map(({hook}) => hook)
          .map((hook) => core.names.hooks.get(hook)?.name ?? '').filter((name) => name !== '');
    },
    call: (segment, number) => callOf(shown.value.core.client, segment, number),
    whole: () => new Promise((done) => {
      effect(() => {
        if (shown.value.core.extent.isWhole) done();
      });
    }),
  };
}
