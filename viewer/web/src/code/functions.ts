// The functions of the samples in the selection, or in the whole trace, all or
// those of the highlighted process, or of a thread; and the code of one, line by
// line. Rows are the report's: the server reads the trace once for each range.

import {effect, type Signal, signal} from '@preact/signals-core';

import {ApiError, isReplaced, type Sampled} from '../api/client';
import type {FunctionRow, FunctionsAnswer, ListingAnswer} from '../api/schema';
import type {Core} from '../core/core';
import {processOf} from '../core/names';
import {type RangeTables, TABLE_ROWS} from '../tables/range_tables';

const REST_MS = 150; // after the last move of a drag
const RETRY_MS = 300;

export class Functions {
  readonly answer: Signal<FunctionsAnswer|null> = signal(null);
  readonly event = signal(0); // which of the sampled ones
  readonly busy = signal(false);
  // Its code is shown in place of the tables.
  readonly opened: Signal<FunctionRow|null> = signal(null);
  readonly listing: Signal<ListingAnswer|null> = signal(null);
  readonly refused: Signal<string|null> = signal(null); // why there is no listing
  readonly refusedTable: Signal<string|null> = signal(null); // why there is no table
  last: FunctionRow|null = null; // opened last: where the table goes on
  readonly wantsFocus = signal(false); // the keyboard goes to the table when it is there

  private process: number|null = null;
  private abort: AbortController|null = null;
  private timer: ReturnType<typeof setTimeout>|undefined;
  private listingAbort: AbortController|null = null;
  private listingTimer: ReturnType<typeof setTimeout>|undefined;

  constructor(private readonly core: Core, private readonly tables: RangeTables) {}

  // Starts the requests that follow the signals.
  start(): void {
    const {core, tables} = this;
    this.process = core.focus.process.peek();
    effect(() => {
      void [core.range.chosen.value, tables.order.value];
      const process = core.focus.process.value;
      if (process !== this.process) {
        this.process = process;
        this.choose(this.isOf(process) ? this.core.focus.thread.peek() : null);
      }
      void [this.core.focus.thread.value, this.event.value];
      void tables.offset.value;
      clearTimeout(this.timer);
      this.abort?.abort();
      if (core.requests.lost.value || tables.tab.value !== 'functions') return;
      this.busy.value = true;
      this.timer = setTimeout(() => void this.loadTable(), REST_MS);
    });
    effect(() => {
      void [core.range.chosen.value, core.focus.process.value, this.core.focus.thread.value];
      clearTimeout(this.listingTimer);
      this.listingAbort?.abort();
      const row = this.opened.value;
      if (core.requests.lost.value || row === null) return;
      this.listingTimer = setTimeout(() => void this.loadListing(row), this.listing.peek() ? REST_MS : 0);
    });
  }

  // The samples of this thread; null: of all.
  choose(thread: number|null): void {
    this.tables.offset.value = 0;
    this.core.focus.thread.value = thread;
  }
  chooseEvent(event: number): void {
    this.tables.offset.value = 0;
    this.event.value = event;
  }
  private isOf(process: number|null): boolean {
    const thread = this.core.focus.thread.peek();
    return thread !== null && process !== null && processOf(this.core.names, thread) === process;
  }
  // Which samples.
  chosen(): Sampled {
    return {range: this.core.range.chosen.peek(), process: this.core.focus.process.peek(), thread: this.core.focus.thread.peek()};
  }

  // The table, with the keyboard in it.
  showTable(): void {
    this.close();
    this.wantsFocus.value = true;
    this.core.page.panelOpen.value = true;
    this.tables.show('functions');
  }
  open(row: FunctionRow): void {
    this.last = row;
    this.listing.value = null;
    this.refused.value = null;
    this.opened.value = row;
  }
  close(): void {
    if (!this.opened.value) return;
    this.wantsFocus.value = true;
    this.opened.value = null;
    this.listing.value = null;
  }

  private async loadTable(): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    const {core: {client}, tables} = this;
    await this.ask(abort, async () => {
      try {
        this.answer.value = await client.functions(
            this.chosen(), {event: this.event.peek(), ...tables.order.peek(), offset: tables.offset.peek(), limit: TABLE_ROWS}, abort.signal);
        this.refusedTable.value = null;
      } catch (error) {
        // An exported page has no more samples than it can hold.
        if (!(error instanceof ApiError) || error.status !== 501) throw error;
        this.refusedTable.value = error.reason;
      }
    });
    if (this.abort === abort) this.busy.value = false;
  }

  private async loadListing(row: FunctionRow): Promise<void> {
    const abort = new AbortController();
    this.listingAbort = abort;
    await this.ask(abort, async () => {
      try {
        this.listing.value = await this.core.client.annotate(this.chosen(), row, abort.signal);
        this.refused.value = null;
      } catch (error) {
        // No sample of it in this range, or several functions have its name.
        // An exported page has no code.
        if (!(error instanceof ApiError) || ![400, 404, 501].includes(error.status)) throw error;
        this.listing.value = null;
        this.refused.value = error.reason;
      }
    });
  }

  // Requests again what a later request took the place of.
  async ask(abort: AbortController, work: () => Promise<void>): Promise<void> {
    await this.core.requests.guard(async () => {
      while (!abort.signal.aborted) {
        try {
          return await work();
        } catch (error) {
          if (!isReplaced(error)) throw error;
          await new Promise((done) => setTimeout(done, RETRY_MS));
        }
      }
    });
  }
}

export function rowKey({event, in: context, function: name, dso, inlined}: FunctionRow): string {
  return JSON.stringify([event, context, name, dso, inlined]);
}
