// How much of the trace is shown: all, its first part while the index is built,
// what a recording has so far, or the part that was exported.

import {type Signal, signal} from '@preact/signals-core';

import type {Growth, Recorded, TraceInfo} from '../api/schema';

export class Extent {
  readonly durationNs: number;
  // How far the trace's index is, as the server said last.
  readonly growth: Signal<Growth>;
  readonly failure: Signal<string|null> = signal(null); // why the whole trace will have no index
  readonly isWhole: boolean; // not its first part, nor a recording that goes on
  readonly isLive: boolean; // a recording that goes on
  readonly name: 'whole trace'|'so far'|'first part'|'part';
  recorded: Recorded|null = null; // of the whole trace, of which the first part is shown
  goLive = false; // the user went to its end

  constructor(growth: Growth, trace: TraceInfo) {
    this.growth = signal(growth);
    this.isWhole = growth.whole;
    this.isLive = growth.live;
    this.name = trace.part_from_ns !== undefined ? 'part' :
        this.isWhole ? 'whole trace' : this.isLive ? 'so far' : 'first part';
    this.durationNs = Math.max(trace.duration_ns, 1);
  }

  // What the minimap spans: what is shown, and what is not read yet.
  get wholeNs(): number {
    return Math.max(this.recorded?.duration_ns ?? 0, this.durationNs);
  }
  get readPercent(): number {
    return Math.floor(100 * this.durationNs / this.wholeNs);
  }
}
