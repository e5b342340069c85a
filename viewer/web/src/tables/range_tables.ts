// The tables of the selection, or of the whole trace: which one is shown, its
// order and page, and the answers.

import {effect, type Signal, signal} from '@preact/signals-core';

import {ApiError} from '../api/client';
import type {Aggregate, EventItem, EventPage} from '../api/schema';
import {type Field, wordField} from '../core/address';
import type {Core} from '../core/core';
import type {Span} from '../core/range';

export const TABLE_ROWS = 100; // of a page of a table
export const EVENT_ROWS = 100; // of a page of records
const REST_MS = 40; // after the last move of a drag
const EVENTS_PAUSE_MS = 100; // between two pages while it plays

export type Table = 'processes'|'threads'|'segments'|'hooks'|'cpus'|'waits';
export type Tab = Table|'functions'|'calltree'|'allcolumns'|'events'|'changes';
export const TABS: readonly Tab[] = ['processes', 'threads', 'segments', 'hooks', 'cpus', 'waits', 'events', 'functions', 'calltree', 'allcolumns'];
// From the trace, with all columns of the report.
export const isReported = (tab: Tab): tab is 'calltree'|'allcolumns' => tab === 'calltree' || tab === 'allcolumns';
const isTable = (tab: Tab): tab is Table => tab !== 'events' && tab !== 'changes' && tab !== 'functions' && !isReported(tab);
export interface Order {
  column: string; // API.md, "aggregate"
  down: boolean;
}
export const FIRST_ORDER: Record<Table|'functions', Order> = {
  processes: {column: 'on_cpu_ns', down: true},
  threads: {column: 'on_cpu_ns', down: true},
  segments: {column: 'wall_excl_ns', down: true},
  hooks: {column: 'hits', down: true},
  cpus: {column: '', down: false}, // by number
  waits: {column: 'ns', down: true},
  functions: {column: 'self', down: true},
};

// The table that an answer holds.
export function tableOf(data: Aggregate): Table {
  for (const table of ['threads', 'segments', 'hooks', 'cpus', 'waits'] as const) {
    if (typeof data[`${table}_total`] === 'number') return table;
  }
  return 'processes';
}

export class RangeTables {
  readonly tab: Signal<Tab> = signal('processes');
  readonly order: Signal<Order> = signal(FIRST_ORDER.processes);
  readonly offset = signal(0); // first row of the page
  readonly aggregate: Signal<Aggregate|null> = signal(null);
  // Why the server has no such table of this range.
  readonly refused: Signal<string|null> = signal(null);
  readonly events: Signal<EventPage|null> = signal(null);

  private abort: AbortController|null = null;
  private timer: ReturnType<typeof setTimeout>|undefined;
  private eventsBusy = false;
  private eventsWanted: {at: number; back: boolean}|null = null;
  // The playhead may move in it without another page of records.
  private eventsCover: Span|null = null;

  constructor(private readonly core: Core) {
    // Without kernel records there are no processes to show, only segments.
    if (!core.names.rows.some((row) => row.kind === 'cpu')) this.show('segments');
  }

  // Starts the requests that follow the signals.
  start(): void {
    effect(() => {
      void [this.core.range.chosen.value, this.core.focus.filter.value];
      this.offset.value = 0;
    });
    effect(() => {
      const range = this.core.range.chosen.value;
      if (this.core.requests.lost.value || !isTable(this.tab.value)) return;
      void [this.offset.value, this.order.value, this.core.focus.filter.value];
      // Dragging changes the range at every move: send the request when it
      // stops.
      clearTimeout(this.timer);
      this.timer = setTimeout(
          () => void this.load(range ?? {from: 0, to: this.core.durationNs}), REST_MS);
    });
    effect(() => {
      const play = this.core.playback.play.value;
      if (this.core.requests.lost.value || this.tab.value !== 'events' || !this.core.client.backend.hasTrace) return;
      const at = Math.floor(play.at);
      if (!play.playing) return this.loadEventsAt(at, false);
      const cover = this.eventsCover;
      if (!cover || at < cover.from || at >= cover.to) this.loadEventsAt(at, play.backward ?? false);
    });
  }

  field(): Field {
    const {tab} = this;
    const show = (one: Tab): void => this.show(one);
    return wordField('tab', TABS, {
      get value() { return tab.value; },
      set value(one) { show(one); },
    });
  }
  show(tab: Tab): void {
    if (tab === this.tab.value) return;
    this.tab.value = tab;
    this.offset.value = 0;
    if (isTable(tab) || tab === 'functions') this.order.value = FIRST_ORDER[tab];
  }
  // The table by another column; by the same one, the other way.
  orderBy(column: string, down: boolean): void {
    const {order} = this;
    this.offset.value = 0;
    order.value = {column, down: order.value.column === column ? !order.value.down : down};
  }

  // The page of records behind the shown one, or before it.
  async turnEvents(forward: boolean): Promise<void> {
    const items = this.events.value?.items ?? [];
    const edge: EventItem|undefined = forward ? items[items.length - 1] : items[0];
    if (!edge) return;
    await this.core.requests.guard(async () => {
      const page = await this.core.client.events(
          {t: edge.t, nth: edge.nth + (forward ? 1 : 0)}, forward, EVENT_ROWS);
      if (page.items.length > 0) this.events.value = page;
      this.eventsCover = null;
    });
  }

  // At most one request under way; a newer one replaces a waiting one.
  private loadEventsAt(at: number, back: boolean): void {
    this.eventsWanted = {at, back};
    if (this.eventsBusy) return;
    this.eventsBusy = true;
    void this.core.requests.guard(async () => {
      try {
        while (this.eventsWanted !== null) {
          const {at: t, back: before} = this.eventsWanted;
          this.eventsWanted = null;
          const playing = this.core.playback.play.peek().playing;
          const page = this.events.peek();
          // A click on a record of the page moves the playhead, not the page.
          if (!playing && page?.items.some((item) => item.t === t)) continue;
          await this.loadEvents(t, before);
          // Each costs the time to read the trace up to it.
          if (playing) await new Promise((done) => setTimeout(done, EVENTS_PAUSE_MS));
        }
      } finally {
        this.eventsBusy = false;
      }
    });
  }
  private async loadEvents(t: number, back: boolean): Promise<void> {
    const page = await this.core.client.events({t: back ? t + 1 : t, nth: 0}, !back, EVENT_ROWS);
    const edge = page.items[back ? 0 : page.items.length - 1];
    this.eventsCover = back ? {from: page.more ? edge?.t ?? t : 0, to: t + 1} :
                              {from: t, to: page.more ? edge?.t ?? t : Infinity};
    // Behind the last record: the last page stays.
    if (page.items.length > 0 || !this.events.peek()) this.events.value = page;
  }

  private async load(range: Span): Promise<void> {
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    const table = this.tab.peek();
    if (!isTable(table)) return;
    await this.core.requests.guard(async () => {
      this.refused.value = null;
      try {
        const answer = await this.core.client.aggregate(
            range.from, range.to,
            {table, ...this.order.peek(), offset: this.offset.peek(), limit: TABLE_ROWS, where: this.core.focus.filter.peek()},
            abort.signal);
        this.aggregate.value = answer;
        this.announce(answer);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (table === 'waits' && /too many dispatches/.test(error.message)) {
          this.refused.value = 'The range has too many dispatches to say why threads wait. Select a part of it.';
          return;
        }
        // What is no condition here is refused beside the box; the rows stay.
        if (error.status !== 400 || this.core.focus.filter.peek() === '') throw error;
      }
    });
  }

  private announce(answer: Aggregate): void {
    const {core} = this;
    if (!core.range.chosen.value || this.tab.peek() !== 'processes') return;
    const top = answer.processes.reduce<typeof answer.processes[number]|undefined>(
        (most, row) => most && most.on_cpu_ns >= row.on_cpu_ns ? most : row, undefined);
    core.announce(top ?
        `Selected; most CPU time: ${core.names.process(top.process)?.comm ?? '?'}` :
        'Selected; nothing ran');
  }
}
