// What the user is at: the process that stands out, the thread whose samples
// are shown, the lane that keys are for, the pointer, and the condition on rows.

import {type Signal, signal} from '@preact/signals-core';

import type {Field} from './address';

export interface Point {
  x: number;
  y: number;
}

export class Focus {
  readonly process: Signal<number|null> = signal(null); // highlighted
  readonly thread: Signal<number|null> = signal(null); // of the table of functions; null: all
  readonly lane: Signal<string|null> = signal(null);
  readonly pointer: Signal<Point|null> = signal(null); // on the rows
  readonly filter = signal(''); // condition on the rows; empty: none

  fields(): Field[] {
    return [
      {key: 'row', read: (text) => (this.lane.value = /^[a-z]+\d*$/.test(text ?? '') ? text ?? null : null), write: () => this.lane.value},
      {key: 'where', read: (text) => (this.filter.value = textIn(text)), write: () => encodeURIComponent(this.filter.value) || null},
    ];
  }
}

function textIn(text: string|undefined): string {
  try {
    return decodeURIComponent(text ?? '');
  } catch {
    return '';
  }
}
