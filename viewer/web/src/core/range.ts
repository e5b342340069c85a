// The range that all tables are of, and the one that it is compared with.

import {type Signal, signal} from '@preact/signals-core';

import type {TimeSpan} from '../api/client';

export type Span = TimeSpan;

export class Ranges {
  readonly chosen: Signal<Span|null> = signal(null); // null: the whole trace
  readonly compared: Signal<Span|null> = signal(null);

  constructor(private readonly durationNs: number) {}

  select(a: number, b: number): void {
    const from = Math.max(0, Math.round(Math.min(a, b)));
    const to = Math.min(this.durationNs, Math.round(Math.max(a, b)));
    this.chosen.value = to > from ? {from, to} : null;
  }
  // The one of the tables, its end exclusive.
  peek(): Span {
    return this.chosen.peek() ?? {from: 0, to: this.durationNs + 1};
  }
}
