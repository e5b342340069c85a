// The values of the selected call or hit: what its record carries.

import {effect, type Signal, signal} from '@preact/signals-core';

import type {EventItem} from '../api/schema';
import type {Core} from '../core/core';
import {clean, hookName} from '../core/names';
import type {Selected} from '../core/selection';

const MOST = 64; // records of one instant

// What records have besides values: whose they are, and counters.
const OTHERS = new Set(['tid', 'pid', 'number', 'mmcr', 'present']);

// A line for each value of the record of `hook` in the thread `tid` at `at`;
// none: there is no such record on the page.
export function valuesAt(items: readonly EventItem[], at: number, hook: string, tid: number, events: readonly string[]): string[] {
  const counters = new Set(events.map((event) => event.replaceAll(/\W/g, '_')));
  const item = items.find(({t, event, fields, ...of}) =>
    t === at && (event === hook || event === `${hook}__enter`) && (of.tid ?? fields['tid']) === tid);
  return Object.entries(item?.fields ?? {})
      .filter(([name, value]) => !OTHERS.has(name) && !counters.has(name) && typeof value !== 'object')
      .map(([name, value]) => `${clean(name)}: ${clean(String(value))}`);
}

export class SelectedValues {
  readonly lines: Signal<string[]> = signal([]);

  constructor(private readonly core: Core) {}

  // Starts the requests that follow the selection.
  start(): void {
    effect(() => {
      const item = this.core.selection.selected.value;
      this.lines.value = [];
      if (item?.kind !== 'segment' && item?.kind !== 'hook') return;
      if (!this.core.client.backend.hasTrace || this.core.requests.lost.value) return;
      void this.core.requests.guard(() => this.load(item));
    });
  }
  private async load(item: Selected): Promise<void> {
    const {client, names, selection} = this.core;
    const tid = item.thread === null ? undefined : names.thread(item.thread)?.tid;
    if (item.hook === null || tid === undefined) return;
    const page = await client.events({t: item.from, nth: 0}, true, MOST);
    if (selection.selected.peek() !== item) return; // something else was selected meanwhile
    this.lines.value = valuesAt(page.items, item.from, hookName(names, item.hook), tid, names.events);
  }
}
