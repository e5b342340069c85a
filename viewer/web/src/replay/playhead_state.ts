// What the server says of the playhead's instant.

import {computed, type ReadonlySignal, type Signal, signal} from '@preact/signals-core';

import type {Aggregate, Frame, FrameRequest, InstantState} from '../api/schema';
import type {Beside, Show} from './beside';
import {placesAfter} from './fixed_places';
import {FrameBuffer} from './frame_buffer';
import type {Core} from '../core/core';
import {processName} from '../core/names';
import type {Steps} from './stepping';
import {byName, type Slot, SlotPlaces} from './process_slots';
import {RecentRates} from './recent_rates';

const SO_FAR_PROCESSES = 8; // with a bar in the now panel
const THREADS = 12; // with their stacks
const RECENT_PROCESSES = 40;
const SLOTS = 10;
const RECENTLY = 1 / 50; // of the window

interface ShownFrame extends Frame {
  t: number;
  idle: readonly [number, number]|null;
  showBeside: Show|null; // the same instant of the trace beside this one
}

// The instants around the state's at which no CPU has a thread.
export function idleAround(state: InstantState): readonly [number, number]|null {
  let [begin, end] = [0, Number.MAX_SAFE_INTEGER];
  for (const cpu of state.cpus) {
    const idle = cpu.known && (cpu.thread ?? null) === null && !cpu.in_interrupt;
    if (!idle || cpu.begin_ns === undefined || cpu.end_ns === undefined) return null;
    begin = Math.max(begin, cpu.begin_ns);
    end = Math.min(end, cpu.end_ns - 1);
  }
  return state.cpus.length > 0 ? [begin, end] : null;
}

export class PlayheadState {
  readonly instant: Signal<InstantState|null> = signal(null);
  readonly instantOf: Signal<number|null> = signal(null); // playhead of `instant`
  readonly soFar: Signal<Aggregate|null> = signal(null); // between `since` and the playhead
  readonly recent: Signal<Aggregate|null> = signal(null); // just before the playhead
  readonly rates: RecentRates;
  // The highest rate of each event that was shown: the scale of its line.
  readonly topRates: Signal<readonly number[]> = signal([]);
  // While it plays: by CPU, how many dispatches began since the frame before.
  readonly beats: Signal<readonly number[]> = signal([]);
  // `recent` by name: in their places while it plays, else in order.
  readonly slots: ReadonlySignal<readonly (Slot|null)[]>;
  // Null: there is none, or its page loads what is shown here (`isLed`).
  beside: Beside|null = null;
  isLed = false;
  private shownWindow = 0; // of `recent`

  // While it plays: the threads and processes that have a place in the panel.
  readonly threadPlaces: Signal<readonly (number|null)[]> = signal([]);
  readonly processPlaces: Signal<readonly (number|null)[]> = signal([]);

  private busy = false;
  private wanted: number|null = null;

  constructor(private readonly core: Core, private readonly steps: Steps) {
    const {names, playback} = core;
    this.rates = new RecentRates(core);
    const places = new SlotPlaces(Math.min(SLOTS, names.trace.processes));
    this.slots = computed(() => {
      void names.changed.value;
      return places.place(byName(this.recent.value?.processes ?? [], (process) => processName(names, process)), playback.play.peek().playing);
    });
  }

  // What is requested of an instant.
  private request(): FrameRequest {
    const view = this.core.view.viewport.peek();
    return {
      threads: THREADS,
      processes: SO_FAR_PROCESSES,
      recent_processes: RECENT_PROCESSES,
      since: this.since(),
      window: Math.max(1, Math.round(view.nsPerPx * view.widthPx * RECENTLY)),
    };
  }
  // Where the sums begin: with the selection, or where a run began.
  since(): number {
    const range = this.core.range.chosen.peek();
    const at = this.core.playback.play.peek().at;
    return range && at >= range.from && at <= range.to ? range.from : this.core.playback.runBegin;
  }
  get window(): number {
    return this.request().window;
  }
  // In step with other traces the playhead may be where this one has nothing.
  private inside(at: number): number {
    return Math.min(Math.max(at, 0), this.core.durationNs);
  }
  // A run begins where the playhead is.
  beginRun(at = this.core.playback.play.peek().at): void {
    this.core.playback.runBegin = Math.round(at);
  }

  // Bars of `soFar`.
  get barRows(): number {
    return Math.min(SO_FAR_PROCESSES, this.core.names.trace.processes);
  }
  // The state at an instant. At the ends of the trace, where nothing is on
  // record, the nearest at which something is.
  private async stateNear(at: number): Promise<InstantState> {
    const state = await this.core.client.state(Math.min(at, this.core.durationNs - 1), THREADS, this.window);
    if (at > 0 || state.threads.length > 0 || state.cpus.some((cpu) => cpu.known)) {
      return state;
    }
    const step = await this.core.client.step(at, true, 'dispatch');
    return step.found && step.t !== undefined ? this.core.client.state(step.t, THREADS, this.window) : state;
  }

  // What the replay shows: all of it arrived before the playhead moves there.
  readonly frames = new FrameBuffer<ShownFrame>(async (wanted, {since, window, stepNs}) => {
    let frames: ShownFrame[]|null = null;
    await this.core.requests.guard(async () => {
      const times = 'times' in wanted ? wanted.times : await this.steps.times(wanted.after, stepNs >= 0, wanted.count);
      const [answers, beside] = times.length === 0 ? [[], null] :
          await Promise.all([this.framesOf(times, since, window), this.beside?.frames(times, this.core.playback.runBegin) ?? null]);
      const both = answers.slice(0, beside?.length ?? answers.length);
      frames = both.map((frame, i) => ({...frame, showBeside: beside?.[i] ?? null}));
    });
    if (frames === null) throw new Error('no frames');
    return frames;
  });
  private async framesOf(times: readonly number[], since: number, window: number): Promise<ShownFrame[]> {
    // After its last instant a trace has no state.
    const known = times.map((at) => Math.min(Math.floor(this.inside(at)), this.core.durationNs - 1));
    const answers = await this.core.client.frames(known, {...this.request(), since: this.inside(since), window});
    // In one request, as each that comes draws the whole page.
    await this.core.names.know(
        answers.flatMap((frame) => [...frame.so_far.processes, ...frame.recent.processes].map((row) => row.process)),
        answers.flatMap(({state}) => [...state.cpus.flatMap((cpu) => cpu.thread ?? []), ...state.threads.map((one) => one.thread)]));
    return answers.map((frame, i) => {
      const t = Math.floor(times[i] ?? 0);
      return {...frame, t, idle: t === known[i] ? idleAround(frame.state) : null, showBeside: null};
    });
  }
  // For the page that leads this one.
  async framesFor(times: readonly number[]): Promise<Show[]> {
    const frames = await this.framesOf(times, this.since(), this.window);
    return frames.map((frame) => () => this.show(frame));
  }

  show(frame: ShownFrame): void {
    const before = this.instant.peek()?.cpus ?? [];
    this.beats.value = frame.state.cpus.map((cpu, i) => Math.abs(cpu.dispatches - (before[i]?.dispatches ?? cpu.dispatches)));
    this.instant.value = frame.state;
    this.instantOf.value = frame.t;
    this.soFar.value = frame.so_far;
    this.recent.value = frame.recent;
    this.shownWindow = this.window;
    this.raiseTops();
    this.threadPlaces.value = placesAfter(
        this.threadPlaces.peek(), frame.state.threads.map((thread) => thread.thread),
        Math.min(THREADS, this.core.names.trace.threads));
    this.processPlaces.value = placesAfter(
        this.processPlaces.peek(), frame.so_far.processes.map((row) => row.process), SO_FAR_PROCESSES);
    frame.showBeside?.();
  }

  private raiseTops(): void {
    const rates = this.instant.peek()?.events.map((event) => event.rate ?? 0) ?? [];
    const tops = this.topRates.peek();
    if (rates.some((rate, i) => rate > (tops[i] ?? 0))) {
      this.topRates.value = rates.map((rate, i) => Math.max(rate, tops[i] ?? 0));
    }
  }

  // What is on record of an instant; the result shows it.
  async stateAt(wanted: number): Promise<Show> {
    const {since, window} = this.request();
    const [from, at] = [this.inside(since), Math.floor(this.inside(wanted))];
    const {client} = this.core;
    const [state, soFar, recent] = await Promise.all([
      this.stateNear(at),
      client.heaviest(Math.min(from, at), Math.max(from, at), SO_FAR_PROCESSES),
      client.heaviest(at - window, at, RECENT_PROCESSES),
    ]);
    return () => {
      this.beats.value = [];
      this.instant.value = state;
      this.instantOf.value = Math.floor(wanted);
      this.soFar.value = soFar;
      this.recent.value = recent;
      this.shownWindow = window;
      this.raiseTops();
    };
  }
  // A frame of the replay is there already, for one.
  shows(at: number): boolean {
    const {since, window} = this.request();
    const [from, to] = [this.inside(since), Math.floor(this.inside(at))];
    const sums = this.soFar.peek();
    return this.instantOf.peek() === Math.floor(at) && this.shownWindow === window &&
        sums?.from === Math.min(from, to) && sums.to === Math.max(from, to);
  }

  // Frames move the playhead of a replay, so a state that arrives late, of where
  // it was, is older than what is shown: also when it has been paused since.
  private isPassed(at: number): boolean {
    const now = this.core.playback.play.peek();
    return now.at !== at && (now.playing || this.wanted === null);
  }

  // At most one request under way; a newer one replaces a waiting one.
  load(at: number): void {
    if (this.isLed || this.shows(at) && (this.beside?.shows(at) ?? true)) return;
    this.wanted = at;
    if (this.busy) return;
    this.busy = true;
    void this.core.requests.guard(async () => {
      try {
        while (this.wanted !== null) {
          const wanted = this.wanted;
          this.wanted = null;
          const [show, showBeside] = await Promise.all([this.stateAt(wanted), this.beside?.state(wanted, this.core.playback.runBegin)]);
          if (this.isLed) return; // the other page leads now, and loads for both
          if (this.isPassed(wanted)) continue; // a frame of the replay is shown
          show();
          showBeside?.();
        }
      } finally {
        this.busy = false;
      }
    });
  }
}
