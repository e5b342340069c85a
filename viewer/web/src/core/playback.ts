// The playhead and how it moves: proportional to time, with an injected clock so
// that tests control the time; what a step is, and what the window does meanwhile.

import {type Signal, signal} from '@preact/signals-core';

export const STEP_KINDS = ['any', 'record', 'hook', 'segment', 'dispatch', 'interrupt', 'loss'] as const;
export type StepChoice = typeof STEP_KINDS[number];
export function stepName(choice: StepChoice): string {
  return choice === 'any' ? 'boundary' : choice;
}
export const FOLLOWS = ['page', 'centre', 'fixed'] as const; // how the window follows it
export type Follow = typeof FOLLOWS[number];

export class Playback {
  readonly play: Signal<Play> = signal({at: 0, playing: false, speed: 1});
  readonly loop = signal(false);
  readonly skipIdle = signal(false); // when playing
  readonly byEvents = signal(false); // it plays from boundary to boundary
  readonly stepKind: Signal<StepChoice> = signal('any');
  readonly follow: Signal<Follow> = signal('page');
  // Threads on a CPU at the playhead, while it plays.
  readonly running: Signal<ReadonlySet<number>> = signal(new Set());
  runBegin = 0; // the playhead when it began to play; 0: since then set by hand

  constructor(private readonly durationNs: number) {}

  // By hand.
  moveTo(at: number): void {
    this.runBegin = 0;
    this.play.value = {...this.play.value, at: Math.min(Math.max(at, 0), this.durationNs)};
  }
  pause(): void {
    this.play.value = {...this.play.value, playing: false};
  }
  setSpeed(speed: number): void {
    this.play.value = {...this.play.value, speed};
  }
}

export interface Play {
  readonly at: number; // ns since trace start
  readonly playing: boolean;
  readonly speed: number; // multiplies the automatic rate
  readonly backward?: boolean;
}

export interface PlayRange {
  from: number;
  to: number;
  loop: boolean;
}

// Trace time in a second of playing at speed 1: ten seconds for the window.
export function autoRate({nsPerPx, widthPx}: {nsPerPx: number; widthPx: number}): number {
  return nsPerPx * widthPx / 10;
}

// Position after `elapsedMs` of wall time at `nsPerSecond` of trace time.
export function advance(
    play: Play, elapsedMs: number, nsPerSecond: number,
    range: PlayRange): Play {
  if (!play.playing) return play;
  const way = nsPerSecond * play.speed * elapsedMs / 1000;
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

export const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 10] as const;

export function faster(speed: number, steps: number): number {
  const index = SPEEDS.findIndex((known) => known >= speed);
  const wanted = Math.min(
      Math.max((index < 0 ? SPEEDS.length - 1 : index) + steps, 0),
      SPEEDS.length - 1);
  return SPEEDS[wanted] ?? 1;
}
