// The rows as the user has them: which are open, pinned or hidden, and the lanes
// that follow.

import {computed, type ReadonlySignal, type Signal, signal} from '@preact/signals-core';

import type {Branches, ProcessBranch, ThreadBranch} from '../../api/schema';
import {type Field, flagField, listIn, listText, wholeIn} from '../../core/address';
import type {Core} from '../../core/core';
import {isTimeEvent} from '../../core/units';
import {type CounterChoice, type Lane, layOut, totalHeight} from './lanes';
import {CLOSED_TREE, type Tree} from './process_lanes';

const MOST_PAGES = 50; // of processes that fold by themselves

export class Rows {
  readonly counter: Signal<CounterChoice>;
  readonly tree: Signal<Tree> = signal(CLOSED_TREE);
  // As the server ranks them (row_tree.ts).
  readonly processes: Signal<Branches<ProcessBranch>|null> = signal(null);
  readonly threads: Signal<ReadonlyMap<number, Branches<ThreadBranch>>> = signal(new Map());
  readonly lanes: ReadonlySignal<Lane[]>;

  constructor(private readonly core: Core) {
    const {names, view} = core;
    // The clock of all CPUs together is constant: the first event that is no time.
    this.counter = signal({event: Math.max(names.events.findIndex((event) => !isTimeEvent(event)), 0), cpu: -1});
    this.lanes = computed(() => {
      void names.changed.value;
      return layOut(names, this.counter.value, this.tree.value, this.processes.value, this.threads.value);
    });
    view.contentHeight = () => totalHeight(this.lanes.value);
  }

  focusedLane(): Lane|undefined {
    return this.lanes.value.find((lane) => lane.id === this.core.focus.lane.value);
  }
  change(part: Partial<Tree>): void {
    this.tree.value = {...this.tree.value, ...part};
  }

  fields(): Field[] {
    const {core: {names}, tree} = this;
    const set = (key: string, name: 'opened'|'closed'|'shown'|'allThreads'|'hidden'): Field => ({
      key,
      read: (text) => this.change({[name]: new Set(listIn(text))}),
      write: () => listText(this.tree.value[name]),
    });
    const counter = (key: string, name: 'event'|'cpu', least: number, most: number): Field => ({
      key,
      read: (text, first) => {
        const number = first ? wholeIn(text, least) : null;
        if (number !== null) this.counter.value = {...this.counter.value, [name]: Math.min(number, most)};
      },
      write: () => String(this.counter.value[name]),
    });
    return [
      counter('event', 'event', 0, Math.max(names.events.length - 1, 0)),
      counter('cpu', 'cpu', -1, names.trace.cpus - 1),
      set('open', 'opened'), set('close', 'closed'), set('show', 'shown'), set('idle', 'allThreads'),
      {key: 'pin', read: (text) => this.change({pinned: listIn(text) ?? []}), write: () => listText(this.tree.value.pinned)},
      set('hide', 'hidden'),
      {
        key: 'all',
        read: (text) => this.change({unfolded: Math.min(wholeIn(text) ?? 0, MOST_PAGES)}),
        write: () => this.tree.value.unfolded > 0 ? String(this.tree.value.unfolded) : null,
      },
      flagField('irq', {
        get value() { return tree.value.handlers; },
        set value(handlers) { tree.value = {...tree.value, handlers}; },
      }),
    ];
  }
}
