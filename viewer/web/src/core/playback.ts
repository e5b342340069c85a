// The playhead and how it moves: proportional to time, with an injected clock so
// that tests control the time; what a step is, and what the window does meanwhile.

import {type Signal, signal} from '@preact/signals-core';

import type {TraceInfo} from '../api/schema';
import type {Span} from './range';

export const STEP_KINDS = ['any', 'record', 'hook', 'segment', 'dispatch', 'interrupt', 'loss'] as const;
export type StepChoice = typeof STEP_KINDS[number];
export function stepName(choice: StepChoice): string {
  return choice === 'any' ? 'boundary' : choice;
}
export const FOLLOWS = ['page', 'centre', 'fixed'] as const; // how the window follows it
export type Follow = typeof FOLLOWS[number];

export class Playback {
  readonly play: Signal<Play>;
  readonly loop = signal(false);
  readonly skipIdle = signal(false); // when playing
  readonly byEvents = signal(false); // it plays from boundary to boundary
  readonly stepKind: Signal<StepChoice> = signal('any');
  readonly follow: Signal<Follow> = signal('page');
  // Threads on a CPU at the playhead, while it plays.
  readonly running: Signal<ReadonlySet<number>> = signal(new Set());
  runBegin = 0; // the playhead when it began to play; 0: since then set by hand

  limits: Span; // where it may be: in the trace, or in the time of all that are in step

  constructor(durationNs: number, readonly usualSpeed = REAL_TIME) {
    this.limits = {from: 0, to: durationNs};
    this.play = signal({at: 0, playing: false, speed: usualSpeed});
  }

  // By hand.
  moveTo(at: number): void {
    this.runBegin = 0;
    this.play.value = {...this.play.value, at: Math.min(Math.max(at, this.limits.from), this.limits.to)};
  }
  pause(): void {
    this.play.value = {...this.play.value, playing: false};
  }
  setSpeed(speed: number): void {
    this.play.value = {...this.play.value, speed: Math.min(Math.max(speed, SLOWEST), FASTEST)};
  }
}

export interface Play {
  readonly at: number; // ns since trace start
  readonly playing: boolean;
  readonly speed: number; // trace time in a second of playing, ns
  readonly backward?: boolean;
}

export interface PlayRange {
  from: number;
  to: number;
  loop: boolean;
}

// Position after `elapsedMs` of wall time.
export function advance(play: Play, elapsedMs: number, range: PlayRange): Play {
  if (!play.playing) return play;
  const way = play.speed * elapsedMs / 1000;
  if (play.backward) return retreat(play, play.at - way, range);
  const next = play.at + way;
  if (next < range.to) return {...play, at: Math.max(next, range.from)};
  if (range.loop && range.to > range.from) {
    return {...play, at: range.from + (next - range.from) % (range.to - range.from)};
  }
  return {...play, at: range.to, playing: false};
}

function retreat(play: Play, next: number, range: PlayRange): Play {
  if (next > range.from) return {...play, at: Math.min(next, range.to)};
  if (range.loop && range.to > range.from) {
    return {...play, at: range.to - (range.from - next) % (range.to - range.from)};
  }
  return {...play, at: range.from, playing: false};
}

// Speeds are trace time in a second: 1e6 is 1,000 times slower than it was.
export const REAL_TIME = 1e9;
export const SLOWEST = 100;
const FASTEST = 1e12;
// Between them the list has the powers of ten, slowest last.
export const SPEEDS = [1e10, REAL_TIME, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3] as const;

// The next of 1, 2, 5, 10, 20, ... ns.
export function faster(speed: number, steps: 1|-1): number {
  const power = 10 ** Math.floor(Math.log10(speed) - 1);
  const near = [5, 10, 20, 50, 100, 200].map((digit) => digit * power);
  const next = steps > 0 ? near.find((one) => one > speed * 1.01) : near.reverse().find((one) => one < speed * 0.99);
  return Math.min(Math.max(next ?? speed, SLOWEST), FASTEST);
}

const SWITCH_MS = 50; // a usual dispatch takes so long to play

// One at which a CPU's thread changes each 50 ms; without dispatches the trace
// takes ten seconds.
export function usualSpeed({cpus, duration_ns: durationNs, machine_rows: rows}: TraceInfo): number {
  const dispatches = rows.reduce((sum, row) => sum + (row.kind === 'cpu' ? row.leaves : 0), 0);
  const exact = dispatches > 0 ? durationNs * cpus / dispatches * 1000 / SWITCH_MS : durationNs / 10;
  return faster(exact * 1.2, -1);
}
