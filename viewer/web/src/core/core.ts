// What all features share: the window, the range of the tables, the playhead,
// what is selected, requests and names. One for each index that is shown. A
// feature gets this, or parts of it, and of other features what it names.

import {computed, type ReadonlySignal} from '@preact/signals-core';

import type {Client} from '../api/client';
import type {Growth} from '../api/schema';
import {Address, chosenField, spanField} from './address';
import {Commands} from './commands';
import {Extent} from './extent';
import {Focus} from './focus';
import type {Names} from './names';
import {Page} from './page';
import type {Theme} from './palette';
import {Playback, usualSpeed} from './playback';
import {Ranges} from './range';
import {Requests} from './requests';
import {Selection} from './selection';
import {StyleBook} from './style_book';
import {formatInstant} from './units';
import {View} from './view';

// What the browser and its user set, for all pages.
export interface Look {
  theme: ReadonlySignal<Theme>;
  calm: ReadonlySignal<boolean>; // less motion is wanted
}

export class Core {
  readonly address = new Address();
  readonly commands = new Commands();
  readonly focus = new Focus();
  readonly page = new Page();
  readonly extent: Extent;
  readonly durationNs: number;
  readonly view: View;
  readonly range: Ranges;
  readonly playback: Playback;
  readonly requests: Requests;
  readonly selection: Selection;
  readonly book: ReadonlySignal<StyleBook>; // colours
  // Beside other hosts also the time on the clock of all.
  instantText = (at: number): string => formatInstant(at, 1);

  constructor(readonly client: Client, readonly names: Names, growth: Growth, readonly look: Look) {
    this.extent = new Extent(growth, names.trace);
    this.durationNs = this.extent.durationNs;
    this.view = new View(this.durationNs);
    this.range = new Ranges(this.durationNs);
    this.playback = new Playback(this.durationNs, usualSpeed(names.trace));
    this.requests = new Requests(client);
    this.selection = new Selection(this.requests, this.range);
    const hooks = computed(() => {
      void names.changed.value;
      return names.hooks.size;
    });
    this.book = computed(() => {
      void hooks.value; // their names give the colours
      return new StyleBook(names, look.theme.value);
    });
    this.address.register(
        spanField('sel', this.range.chosen), this.selection.field(),
        chosenField('process', this.focus.process), chosenField('thread', this.focus.thread), ...this.focus.fields());
  }

  start(): void {
    this.requests.start();
    this.selection.start();
  }

  announce(text: string): void {
    this.page.announcement.value = text;
  }
}
