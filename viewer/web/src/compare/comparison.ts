// Two ranges compared: `before` was selected first, the selection is after it.
// The server has `countrace diff`'s arithmetic, and its cells as text.

import {effect, type Signal, signal} from '@preact/signals-core';

import {isReplaced} from '../api/client';
import type {Comparison} from '../api/schema';
import type {AppModel, Selection} from '../core/app_model';

export const COMPARED_ROWS = 100; // of a page
const RETRY_MS = 300;

export class RangeComparison {
  readonly before: Signal<Selection|null> = signal(null);
  readonly offset = signal(0); // first row of the page
  readonly answer: Signal<Comparison|null> = signal(null);

  private abort: AbortController|null = null;
  private timer: ReturnType<typeof setTimeout>|undefined;

  constructor(private readonly model: AppModel) {}

  // Starts the requests that follow the signals.
  start(): void {
    effect(() => {
      const before = this.before.value;
      const after = this.model.selection.value;
      const offset = this.offset.value;
      clearTimeout(this.timer);
      this.abort?.abort();
      if (!before || !after) this.answer.value = null;
      if (!before || !after || this.model.lost.value || !this.model.client.backend.hasTrace || this.model.tables.tab.value !== 'changes') return;
      // Dragging changes the range at every move, and an answer costs a pass over
      // the trace.
      this.timer = setTimeout(() => void this.load(before, after, offset), 200);
    });
  }

  // The selection becomes the range to compare with; without one, the end of
  // the comparison.
  begin(): void {
    const {model} = this;
    const range = model.selection.value;
    if (!range) return this.end();
    this.offset.value = 0;
    this.before.value = range;
    model.selection.value = null;
    model.tables.show('changes');
    model.panelOpen.value = true;
    model.announcement.value = 'Compared with what is selected next';
  }
  end(): void {
    this.before.value = null;
    if (this.model.tables.tab.value === 'changes') this.model.tables.show('processes');
  }
  swap(): void {
    const {before, model} = this;
    const after = model.selection.value;
    if (!after) return;
    [before.value, model.selection.value] = [after, before.value];
  }

  private async load(before: Selection, after: Selection, offset: number): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    await this.model.guard(async () => {
      for (;;) {
        try {
          this.answer.value = await this.model.client.compare(before, after, offset, COMPARED_ROWS, abort.signal);
          return;
        } catch (error) {
          if (!isReplaced(error)) throw error;
          await new Promise((done) => setTimeout(done, RETRY_MS));
        }
      }
    });
  }
}
