// The samples of the functions' table as a tree of calls: which of its pictures is
// shown, its rows, the function that is chosen in it, and when that was sampled.

import {effect, type ReadonlySignal, type Signal, signal} from '@preact/signals-core';

import type {Sampled} from '../api/client';
import type {SampleTreeAnswer, TreeRow} from '../api/schema';
import {PLACE_COLUMNS} from '../find/find_places';
import type {Core} from '../core/core';
import type {Places} from '../timeline/paint/minimap_painter';

export const PICTURES = ['table', 'flame', 'icicle', 'sandwich'] as const;
export type Picture = typeof PICTURES[number];
export type Chosen = Pick<TreeRow, 'function'|'dso'>;

const REST_MS = 150; // after the last move of a drag

export class SampledTree {
  readonly picture: Signal<Picture> = signal('table');
  // From the outermost function in; of a sandwich, what the chosen one calls.
  readonly calls: Signal<SampleTreeAnswer|null> = signal(null);
  readonly callers: Signal<SampleTreeAnswer|null> = signal(null);
  readonly chosen: Signal<Chosen|null> = signal(null);
  readonly busy = signal(false);

  private abort: AbortController|null = null;
  private timesAbort: AbortController|null = null;
  private timer: ReturnType<typeof setTimeout>|undefined;

  // `ask`: as of the table of functions. `of`: which samples.
  constructor(private readonly core: Core, private readonly event: ReadonlySignal<number>, private readonly isShown: ReadonlySignal<boolean>,
              private readonly places: Signal<Places|null>, private readonly of: () => Sampled,
              private readonly ask: (abort: AbortController, work: () => Promise<void>) => Promise<void>) {}

  start(): void {
    const {core, event, isShown} = this;
    const follow = (): void => void [core.range.chosen.value, core.focus.process.value, core.focus.thread.value, event.value, core.requests.lost.value];
    effect(() => {
      follow();
      const chosen = this.picture.value === 'sandwich' ? this.chosen.value : null;
      clearTimeout(this.timer);
      this.abort?.abort();
      if (core.requests.lost.value || !isShown.value || this.picture.value === 'table') return;
      this.busy.value = true;
      this.timer = setTimeout(() => void this.load(chosen), REST_MS);
    });
    let marked = false;
    effect(() => {
      follow();
      const chosen = this.chosen.value;
      this.timesAbort?.abort();
      if (chosen && !core.requests.lost.value) void this.mark(chosen);
      else if (marked) this.places.value = null;
      marked = chosen !== null;
    });
  }

  private async load(chosen: Chosen|null): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    const {core: {client}, event} = this;
    await this.ask(abort, async () => {
      const name = chosen?.function ?? '';
      this.calls.value = await client.sampleTree(this.of(), {event: event.peek(), callers: false, function: name}, abort.signal);
      this.callers.value = chosen && await client.sampleTree(this.of(), {event: event.peek(), callers: true, function: name}, abort.signal);
    });
    if (this.abort === abort) this.busy.value = false;
  }
  // Ticks on the top strip, where the function was sampled.
  private async mark(chosen: Chosen): Promise<void> {
    const abort = new AbortController();
    this.timesAbort = abort;
    await this.ask(abort, async () => {
      const {columns} = await this.core.client.sampleTimes(this.of(), {event: this.event.peek(), ...chosen, columns: PLACE_COLUMNS}, abort.signal);
      const marks = columns && Uint8Array.from(columns, (count) => count > 0 ? 1 : 0);
      this.places.value = marks && {all: marks, chosen: marks};
    });
  }
}

export interface Box {
  row: TreeRow;
  from: number; // shares of all
  to: number;
}
// Where each row of a tree lies: inside its caller, largest first.
export function boxesOf(rows: readonly TreeRow[], all: number): Box[] {
  const ends: number[] = [0]; // by depth: where the next one begins
  return rows.map((row) => {
    const from = ends[row.depth] ?? 0;
    const to = from + (all > 0 ? row.total / all : 0);
    ends[row.depth] = to;
    ends[row.depth + 1] = from;
    return {row, from, to};
  });
}
