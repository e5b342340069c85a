// Two ranges compared: `before` was selected first, the selection is after it.
// The server has `countrace diff`'s arithmetic, and its cells as text.

import {effect, type Signal, signal} from '@preact/signals-core';

import {isReplaced} from '../api/client';
import type {Comparison} from '../api/schema';
import {spanField} from '../core/address';
import type {Core} from '../core/core';
import type {Span} from '../core/range';
import type {RangeTables} from '../tables/range_tables';

export const COMPARED_ROWS = 100; // of a page
const RETRY_MS = 300;

export class Compare {
  readonly offset = signal(0); // first row of the page
  readonly answer: Signal<Comparison|null> = signal(null);

  private abort: AbortController|null = null;
  private timer: ReturnType<typeof setTimeout>|undefined;

  constructor(readonly core: Core, private readonly tables: RangeTables) {
    const field = spanField('cmp', core.range.compared);
    core.address.register({
      ...field,
      read: (text, first, all) => {
        field.read(text, first, all);
        if (first && core.range.compared.value) tables.show('changes');
      },
    });
    core.commands.register({compare: () => this.begin()});
  }

  // Starts the requests that follow the signals.
  start(): void {
    effect(() => {
      const before = this.core.range.compared.value;
      const after = this.core.range.chosen.value;
      const offset = this.offset.value;
      clearTimeout(this.timer);
      this.abort?.abort();
      if (!before || !after) this.answer.value = null;
      if (!before || !after || this.core.requests.lost.value || !this.core.client.backend.hasTrace || this.tables.tab.value !== 'changes') return;
      // Dragging changes the range at every move, and an answer costs a pass over
      // the trace.
      this.timer = setTimeout(() => void this.load(before, after, offset), 200);
    });
  }

  // The selection becomes the range to compare with; without one, the end of
  // the comparison.
  begin(): void {
    const {core} = this;
    const range = core.range.chosen.value;
    if (!range) return this.end();
    this.offset.value = 0;
    this.core.range.compared.value = range;
    core.range.chosen.value = null;
    this.tables.show('changes');
    core.page.panelOpen.value = true;
    core.announce('Compared with what is selected next');
  }
  end(): void {
    this.core.range.compared.value = null;
    if (this.tables.tab.value === 'changes') this.tables.show('processes');
  }
  swap(): void {
    const {chosen, compared} = this.core.range;
    if (chosen.value) [compared.value, chosen.value] = [chosen.value, compared.value];
  }

  private async load(before: Span, after: Span, offset: number): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    await this.core.requests.guard(async () => {
      for (;;) {
        try {
          this.answer.value = await this.core.client.compare(before, after, offset, COMPARED_ROWS, abort.signal);
          return;
        } catch (error) {
          if (!isReplaced(error)) throw error;
          await new Promise((done) => setTimeout(done, RETRY_MS));
        }
      }
    });
  }
}
