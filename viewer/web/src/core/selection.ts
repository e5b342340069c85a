// The one thing that is selected, and what the server says of it. The timeline,
// its tooltip, the tables and the panel show the same.

import {batch, computed, effect, type ReadonlySignal, type Signal, signal} from '@preact/signals-core';

import type {Durations, WaitAnswer} from '../api/schema';
import type {Field} from './address';
import type {Ranges, Span} from './range';
import type {Requests} from './requests';

const REST_MS = 40; // after the last move of a drag

const ITEM_KINDS = ['segment', 'dispatch', 'wait', 'hook'] as const;
export interface Selected extends Span {
  kind: typeof ITEM_KINDS[number]|'range';
  process: number|null;
  thread: number|null; // null: none is known yet, or it has none
  hook: number|null; // of a segment, or of a hook that was hit
  row: number|null; // of the index, where it was clicked
}

export class Selection {
  // The item that was selected, else the range.
  readonly selected: ReadonlySignal<Selected|null>;
  // Why the thread of the selected wait does not run.
  readonly wait: Signal<WaitAnswer|null> = signal(null);
  // How long the calls of the selected segment took, in the range of the tables.
  readonly durations: Signal<Durations|null> = signal(null);
  // Those of its calls that are as long as the user chose.
  readonly lengths: Signal<{span: Span; calls: Durations}|null> = signal(null);

  private readonly item: Signal<Selected|null> = signal(null);
  private timer: ReturnType<typeof setTimeout>|undefined;

  constructor(private readonly requests: Requests, private readonly range: Ranges) {
    this.selected = computed(() => this.item.value ?? (range.chosen.value &&
        {kind: 'range', process: null, thread: null, hook: null, row: null, ...range.chosen.value}));
  }

  // Starts the requests that follow it.
  start(): void {
    let shown = this.range.chosen.peek();
    effect(() => {
      const range = this.range.chosen.value;
      const item = this.item.value;
      if (this.requests.lost.value) return;
      const moved = range !== shown;
      shown = range;
      if (item?.kind === 'wait') void this.loadWait(item);
      if (item?.kind !== 'segment' || item.hook === null || item.process === null) return;
      const old = this.durations.peek();
      if (!moved && old?.process === item.process && old.hook === item.hook) return;
      const {process, hook} = item;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => void this.loadDurations(process, hook), moved ? REST_MS : 0);
    });
  }

  // Null: no item.
  select(item: Selected|null): void {
    batch(() => {
      this.item.value = item;
      if (item?.kind !== 'wait' || item.thread !== this.wait.peek()?.thread || item.from !== this.wait.peek()?.begin_ns) this.wait.value = null;
      const durations = this.durations.peek();
      if (item?.kind !== 'segment' || item.process !== durations?.process || item.hook !== durations.hook) {
        this.durations.value = this.lengths.value = null;
      }
    });
  }
  // The range is what was selected last; a selected segment is then that in it.
  selectRange(a: number, b: number): void {
    batch(() => {
      this.range.select(a, b);
      const [item, range] = [this.item.peek(), this.range.chosen.peek()];
      this.select(item?.kind === 'segment' && range ? {...item, ...range, thread: null, row: null} : null);
    });
  }
  clear(): void {
    this.select(null);
    this.range.chosen.value = null;
  }

  // What keeps a thread from running at an instant, if anything does.
  async selectWait(thread: number, at: number, process: number, row: number|null): Promise<void> {
    const before = this.item.peek();
    await this.requests.guard(async () => {
      const wait = await this.requests.client.wait(thread, at);
      if (wait === null || this.item.peek() !== before) return; // something else was selected meanwhile
      batch(() => {
        this.wait.value = wait;
        this.item.value = {kind: 'wait', process, thread, hook: wait.call, row, from: wait.begin_ns, to: wait.end_ns};
      });
    });
  }
  // A segment of a process, and of its calls in the range the longest.
  async selectSegment(process: number, hook: number): Promise<Selected|null> {
    await this.loadDurations(process, hook, (durations) => {
      const call = durations.max;
      this.item.value = {
        kind: 'segment', process, hook, row: null, thread: call?.thread ?? null,
        from: call?.begin_ns ?? this.range.peek().from, to: call?.end_ns ?? this.range.peek().to,
      };
    });
    return this.item.peek();
  }

  // Chooses the selected segment's calls from one duration to another (in ns,
  // the second exclusive); null: all.
  async filterDurations(span: Span|null): Promise<void> {
    const all = this.durations.value;
    if (!all || !span) {
      this.lengths.value = null;
      return;
    }
    const range = this.range.peek();
    await this.requests.guard(async () => {
      const calls = await this.requests.client.durations(all.process, all.hook, range.from, range.to, span);
      this.lengths.value = {span, calls};
    });
  }

  // The selected item as a part of the page's address.
  field(): Field {
    return {
      key: 'item',
      read: (text) => this.select(itemIn(text)),
      write: () => {
        const item = this.item.value;
        return item && [item.row, item.from, item.to, item.kind, item.process, item.thread, item.hook].map((part) => part ?? '').join('-');
      },
    };
  }

  private async loadWait({thread, from}: Selected): Promise<void> {
    if (thread === null || this.wait.peek()) return;
    await this.requests.guard(async () => {
      const wait = await this.requests.client.wait(thread, from);
      const item = this.item.peek();
      if (item?.kind === 'wait' && item.thread === thread && item.from === from) this.wait.value = wait;
    });
  }
  private async loadDurations(process: number, hook: number, arrived: (durations: Durations) => void = () => undefined): Promise<void> {
    const range = this.range.peek();
    const before = this.item.peek();
    await this.requests.guard(async () => {
      const durations = await this.requests.client.durations(process, hook, range.from, range.to);
      const now = this.range.peek();
      // A later request follows.
      if (range.from !== now.from || range.to !== now.to || this.item.peek() !== before) return;
      batch(() => {
        arrived(durations);
        this.wait.value = this.lengths.value = null;
        this.durations.value = durations;
      });
    });
  }
}

// "row-from-to-kind-process-thread-hook"; a link of an older page ends after
// three, so it marks the place and no more.
function itemIn(text: string|undefined): Selected|null {
  const match = /^(\d*)-(\d+)-(\d+)(?:-([a-z]+)-(\d*)-(\d*)-(\d*))?$/.exec(text ?? '');
  if (!match) return null;
  const number = (part: string|undefined): number|null => part ? Number(part) : null;
  const [row, from, to] = [number(match[1]), Number(match[2]), Number(match[3])];
  const kind = ITEM_KINDS.find((one) => one === match[4]) ?? 'dispatch';
  if (from > to) return null;
  return {kind, row, from, to, process: number(match[5]), thread: number(match[6]), hook: number(match[7])};
}
