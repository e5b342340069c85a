// What the server says of the playhead's instant.

import {type Signal, signal} from '@preact/signals-core';

import type {Aggregate, Frame, InstantState} from '../api/schema';
import {placesAfter} from './fixed_places';
import {FrameBuffer} from './frame_buffer';
import type {AppModel} from './app_model';

const SO_FAR_PROCESSES = 8; // with a bar in the now panel
const THREADS = 12; // with their stacks

interface ShownFrame extends Frame {
  t: number;
  idle: readonly [number, number]|null;
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
  readonly soFar: Signal<Aggregate|null> = signal(null); // start to playhead

  // While it plays: the threads and processes that have a place in the panel.
  readonly threadPlaces: Signal<readonly (number|null)[]> = signal([]);
  readonly processPlaces: Signal<readonly (number|null)[]> = signal([]);

  private busy = false;
  private wanted: number|null = null;

  constructor(private readonly model: AppModel) {}

  // The state at an instant. At the ends of the trace, where nothing is on
  // record, the nearest at which something is.
  private async stateNear(at: number): Promise<InstantState> {
    const state = await this.model.client.state(Math.min(at, this.model.durationNs - 1), THREADS);
    if (at > 0 || state.threads.length > 0 || state.cpus.some((cpu) => cpu.known)) {
      return state;
    }
    const step = await this.model.client.step(at, true, 'dispatch');
    return step.found && step.t !== undefined ? this.model.client.state(step.t, THREADS) : state;
  }

  // What the replay shows: all of it arrived before the playhead moves there.
  readonly frames = new FrameBuffer<ShownFrame>(async (times) => {
    let answers: Frame[] = [];
    await this.model.guard(async () => {
      answers = await this.model.client.frames(times, THREADS, SO_FAR_PROCESSES);
    });
    if (answers.length === 0) throw new Error('no frames');
    return answers.map((frame) => ({...frame, t: frame.state.t, idle: idleAround(frame.state)}));
  });

  show(frame: ShownFrame): void {
    this.instant.value = frame.state;
    this.instantOf.value = frame.t;
    this.soFar.value = frame.so_far;
    this.threadPlaces.value = placesAfter(
        this.threadPlaces.peek(), frame.state.threads.map((thread) => thread.thread),
        Math.min(THREADS, this.model.names.trace.threads));
    this.processPlaces.value = placesAfter(
        this.processPlaces.peek(), frame.so_far.processes.map((row) => row.process), SO_FAR_PROCESSES);
  }

  // At most one request under way; a newer one replaces a waiting one.
  request(at: number): void {
    // A frame of the replay is there already.
    if (this.instantOf.peek() === Math.floor(at)) return;
    this.wanted = at;
    if (this.busy) return;
    this.busy = true;
    void this.model.guard(async () => {
      try {
        while (this.wanted !== null) {
          const wanted = this.wanted;
          this.wanted = null;
          const [state, soFar] = await Promise.all([
            this.stateNear(Math.floor(wanted)), this.model.client.soFar(wanted, SO_FAR_PROCESSES),
          ]);
          this.instant.value = state;
          this.instantOf.value = Math.floor(wanted);
          this.soFar.value = soFar;
        }
      } finally {
        this.busy = false;
      }
    });
  }
}
