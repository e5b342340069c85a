// The trace's records around the playhead, a page at a time, while their tab is
// shown.

import {effect, type ReadonlySignal, type Signal, signal} from '@preact/signals-core';

import type {EventItem, EventPage} from '../api/schema';
import type {Core} from '../core/core';
import type {Span} from '../core/range';
import type {Tab} from './range_tables';

const RECORDS = 100; // of a page
const PAUSE_MS = 100; // between two pages while it plays

export class Records {
  readonly shown: Signal<EventPage|null> = signal(null);

  private busy = false;
  private wanted: {at: number; back: boolean}|null = null;
  // The playhead may move in it without another page.
  private cover: Span|null = null;

  constructor(private readonly core: Core, private readonly tab: ReadonlySignal<Tab>) {}

  // Starts the requests that follow the signals.
  start(): void {
    effect(() => {
      const play = this.core.playback.play.value;
      if (this.core.requests.lost.value || this.tab.value !== 'events' || !this.core.client.backend.hasTrace) return;
      const at = Math.floor(play.at);
      if (!play.playing) return this.loadAt(at, false);
      const cover = this.cover;
      if (!cover || at < cover.from || at >= cover.to) this.loadAt(at, play.backward ?? false);
    });
  }

  // The page of records behind the shown one, or before it.
  async turn(forward: boolean): Promise<void> {
    const items = this.shown.value?.items ?? [];
    const edge: EventItem|undefined = forward ? items[items.length - 1] : items[0];
    if (!edge) return;
    await this.core.requests.guard(async () => {
      const page = await this.core.client.events(
          {t: edge.t, nth: edge.nth + (forward ? 1 : 0)}, forward, RECORDS);
      if (page.items.length > 0) this.shown.value = page;
      this.cover = null;
    });
  }

  // At most one request under way; a newer one replaces a waiting one.
  private loadAt(at: number, back: boolean): void {
    this.wanted = {at, back};
    if (this.busy) return;
    this.busy = true;
    void this.core.requests.guard(async () => {
      try {
        while (this.wanted !== null) {
          const {at: t, back: before} = this.wanted;
          this.wanted = null;
          const playing = this.core.playback.play.peek().playing;
          const page = this.shown.peek();
          // A click on a record of the page moves the playhead, not the page.
          if (!playing && page?.items.some((item) => item.t === t)) continue;
          await this.load(t, before);
          // Each costs the time to read the trace up to it.
          if (playing) await new Promise((done) => setTimeout(done, PAUSE_MS));
        }
      } finally {
        this.busy = false;
      }
    });
  }
  private async load(t: number, back: boolean): Promise<void> {
    const page = await this.core.client.events({t: back ? t + 1 : t, nth: 0}, !back, RECORDS);
    const edge = page.items[back ? 0 : page.items.length - 1];
    this.cover = back ? {from: page.more ? edge?.t ?? t : 0, to: t + 1} :
                              {from: t, to: page.more ? edge?.t ?? t : Infinity};
    // Behind the last record: the last page stays.
    if (page.items.length > 0 || !this.shown.peek()) this.shown.value = page;
  }
}
