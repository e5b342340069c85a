// The segments of the selection, or of the whole trace, as a tree of calls or each
// by itself: rows of the report, which reads the trace once for each range. A
// page without its trace has the tree of its index.

import {effect, type ReadonlySignal, type Signal, signal} from '@preact/signals-core';

import {ApiError, isReplaced} from '../api/client';
import type {CallTreeAnswer, PathRow} from '../api/schema';
import type {Core} from '../core/core';
import type {Span} from '../core/range';
import {indexCallTree} from './index_call_tree';
import {isReported, type Tab} from './range_tables';

export const TREE_ROWS = 300; // of a page
const REST_MS = 200; // after the last move of a drag
const RETRY_MS = 300;

export class CallTree {
  readonly answer: Signal<CallTreeAnswer|null> = signal(null);
  readonly offset = signal(0); // first row of the page
  readonly closed: Signal<ReadonlySet<string>> = signal(new Set()); // by treeKey()
  readonly busy = signal(false);

  private abort: AbortController|null = null;
  private timer: ReturnType<typeof setTimeout>|undefined;

  // `isRefused`: the server does not understand the condition on the rows.
  constructor(
      private readonly core: Core, private readonly tab: ReadonlySignal<Tab>, private readonly isRefused: () => boolean) {}

  // Starts the requests that follow the signals.
  start(): void {
    effect(() => {
      void [this.core.range.chosen.value, this.core.focus.filter.value];
      this.offset.value = 0;
    });
    effect(() => {
      const range = this.core.range.chosen.value;
      const where = this.core.focus.filter.value;
      const offset = this.offset.value;
      const tab = this.tab.value;
      clearTimeout(this.timer);
      this.abort?.abort();
      if (this.core.requests.lost.value || !isReported(tab) || !this.core.client.backend.hasTrace && tab !== 'calltree') return;
      this.busy.value = true;
      this.timer = setTimeout(() => void this.load(tab === 'calltree' ? 'path' : 'segment', range, where, offset), REST_MS);
    });
  }

  toggle(row: PathRow): void {
    const closed = new Set(this.closed.value);
    if (!closed.delete(treeKey(row))) closed.add(treeKey(row));
    this.closed.value = closed;
  }

  private async load(by: 'path'|'segment', range: Span|null, where: string, offset: number): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    await this.core.requests.guard(async () => {
      for (;;) {
        try {
          this.answer.value = this.core.client.backend.hasTrace ?
              await this.core.client.callTree(range, {by, where, offset, limit: TREE_ROWS}, abort.signal) :
              await this.ofIndex(range ?? {from: 0, to: this.core.durationNs}, offset, abort.signal);
          break;
        } catch (error) {
          // The find box says what is wrong with a condition.
          if (error instanceof ApiError && error.reason.startsWith('--where')) {
            if (!this.isRefused()) this.answer.value = null;
            break;
          }
          if (!isReplaced(error)) throw error;
          await new Promise((done) => setTimeout(done, RETRY_MS));
        }
      }
      if (this.abort === abort) this.busy.value = false;
    });
  }

  private async ofIndex(range: Span, offset: number, signal: AbortSignal): Promise<CallTreeAnswer> {
    const {client, names} = this.core;
    const page = {table: 'paths', column: '', down: false, offset, limit: TREE_ROWS + 1};
    return indexCallTree(await client.aggregate(range.from, range.to, page, signal), TREE_ROWS,
                         (hook) => names.hooks.get(hook)?.name ?? 'unknown hook');
  }
}

export function treeKey({process, path}: PathRow): string {
  return JSON.stringify([process, ...path]);
}

// Without the rows inside closed ones.
export function openRows(rows: readonly PathRow[], closed: ReadonlySet<string>): PathRow[] {
  const shown: PathRow[] = [];
  let hiding: PathRow|null = null;
  for (const row of rows) {
    if (hiding && isInside(row, hiding)) continue;
    hiding = closed.has(treeKey(row)) ? row : null;
    shown.push(row);
  }
  return shown;
}

function isInside(row: PathRow, outer: PathRow): boolean {
  return row.process === outer.process && row.path.length > outer.path.length &&
      outer.path.every((name, depth) => row.path[depth] === name);
}
