// What is open on the page, and what it says aloud.

import {type Signal, signal} from '@preact/signals-core';

import {inPair} from './frame';

export class Page {
  readonly panelOpen = signal(!inPair); // the tables
  readonly panelHeight: Signal<number|null> = signal(null); // px; null: the usual
  readonly helpOpen = signal(false);
  readonly announcement = signal('');
}
