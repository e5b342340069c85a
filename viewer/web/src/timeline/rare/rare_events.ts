// Events that must not vanish between others at any zoom: losses, triggers that
// fired, the longest call of each segment, and the hits of hooks that the user
// chose.

import {computed, effect, type ReadonlySignal, type Signal, signal} from '@preact/signals-core';

import type {HitItem, LongestItem, LossItem} from '../../api/schema';
import {type Field, listIn, listText} from '../../core/address';
import type {Core} from '../../core/core';
import {clean, hookName, threadName} from '../../core/names';
import {endNs} from '../../core/viewport';
import type {LaneCommands} from '../rows/lane_commands';
import {formatCount, formatDuration} from '../../core/units';

const MARK_PX = 9; // hits closer than that are one mark, with their number
const MOST_HOOKS = 8;

export interface RareEvent {
  kind: 'loss'|'trigger'|'hit'|'longest';
  from: number;
  to: number;
  hook: number|null;
  thread: number|null;
  says: () => string; // names are requested for what is said only
}

export class RareEvents {
  readonly losses: Signal<readonly LossItem[]> = signal([]);
  readonly chosen: Signal<readonly number[]> = signal([]); // hooks
  readonly items: ReadonlySignal<RareEvent[]>; // all but hits: of the whole trace
  readonly leftOut: ReadonlySignal<number>; // longest calls of other segments

  private readonly longest: Signal<{total: number; items: LongestItem[]}> = signal({total: 0, items: []});
  private readonly hits: Signal<ReadonlyMap<number, HitItem[]>> = signal(new Map());
  private timer: ReturnType<typeof setTimeout>|undefined;

  constructor(private readonly core: Core, private readonly commands: LaneCommands) {
    const fixed = computed(() => [...this.longestCalls(), ...this.triggers(), ...this.lost()]);
    // What matters most is drawn last.
    this.items = computed(() => [...this.hitItems(), ...fixed.value]);
    this.leftOut = computed(() => this.longest.value.total - this.longest.value.items.length);
  }

  // Starts the requests that follow the signals.
  start(): void {
    effect(() => {
      if (this.core.requests.lost.value) return;
      void this.core.requests.guard(async () => {
        this.longest.value = await this.core.client.longest();
      });
    });
    effect(() => {
      const view = this.core.view.viewport.value;
      const chosen = this.chosen.value;
      clearTimeout(this.timer);
      if (chosen.length === 0) this.hits.value = new Map();
      if (chosen.length === 0 || this.core.requests.lost.value) return;
      this.timer = setTimeout(() => void this.core.requests.guard(async () => {
        const to = Math.min(endNs(view), this.core.durationNs + 1);
        const columns = Math.min(Math.max(Math.floor(view.widthPx / MARK_PX), 1), 2048);
        const answers = await Promise.all(
            chosen.map((hook) => this.core.client.hits(hook, view.startNs, to, columns)));
        this.hits.value = new Map(chosen.map((hook, i) => [hook, answers[i]?.items ?? []]));
      }), 100);
    });
  }

  // Its hits are shown, or no more; at most so many hooks, the newest ones.
  toggle(hook: number): void {
    const rest = this.chosen.value.filter((other) => other !== hook);
    const chosen = rest.length < this.chosen.value.length ? rest : [...rest, hook].slice(-MOST_HOOKS);
    this.chosen.value = chosen;
    this.core.page.announcement.value =
        `${hookName(this.core.names, hook)} ${chosen.length > rest.length ? 'among' : 'not among'} the rare events`;
  }

  // Brings one into view.
  show(event: RareEvent): void {
    const {core} = this;
    if (event.kind === 'longest') core.view.show(event.from, event.to);
    core.playback.moveTo(event.from);
    if (event.thread !== null) void this.commands.revealThread(event.thread);
  }

  field(): Field {
    return {key: 'rare', read: (text) => (this.chosen.value = listIn(text) ?? []), write: () => listText(this.chosen.value)};
  }

  private longestCalls(): RareEvent[] {
    const {names} = this.core;
    // The longest first: the others are drawn over them.
    return this.longest.value.items.map(({hook, thread, begin_ns: from, end_ns: to}) => ({
      kind: 'longest', from, to, hook, thread,
      says: () => `longest call of ${hookName(names, hook)}: ${formatDuration(to - from)}, in ${threadName(names, thread)}`,
    }));
  }
  private triggers(): RareEvent[] {
    return (this.core.names.trace.triggers ?? []).map(({t, trigger, what}) => (
        {kind: 'trigger', from: t, to: t, hook: null, thread: null, says: () => `trigger ${clean(trigger)}: ${clean(what)}`}));
  }
  private lost(): RareEvent[] {
    return this.losses.value.map((loss) => ({
      kind: 'loss', from: loss.begin_ns, to: loss.end_ns, hook: null, thread: null,
      says: () => `${loss.count > 0 ? formatCount(loss.count) : 'an unknown number of'} records lost ${
          loss.cpu >= 0 ? `on CPU ${loss.cpu}` : `of ${threadName(this.core.names, loss.thread)}`}`,
    }));
  }
  private hitItems(): RareEvent[] {
    const {names} = this.core;
    return [...this.hits.value].flatMap(([hook, items]) => items.map(({t, thread, hits}): RareEvent => ({
      kind: 'hit', from: t, to: t, hook, thread,
      says: () => hits === 1 ? hookName(names, hook) : `${hookName(names, hook)}, ${formatCount(hits)} times close together`,
    })));
  }
}
