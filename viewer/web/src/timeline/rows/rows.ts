// The rows as the user has them: which are open, pinned or hidden, and the lanes
// that follow.

import {computed, type ReadonlySignal, type Signal, signal} from '@preact/signals-core';

import type {Branches, ProcessBranch, ThreadBranch} from '../../api/schema';
import {type Field, flagField, listIn, listText, wholeIn} from '../../core/address';
import type {Core} from '../../core/core';
import {isTimeEvent} from '../../core/units';
import {type CounterChoice, type Lane, layOut, type NamedTree, stuckHeight, totalHeight, visibleLanes} from './lanes';
import type {SubRow} from './lane_parts';
import type {RequestRows} from './request_lanes';
import {CLOSED_TREE, type Tree} from './process_lanes';

const MOST_PAGES = 50; // of processes that fold by themselves

export class Rows {
  readonly counter: Signal<CounterChoice>;
  readonly tree: Signal<Tree> = signal(CLOSED_TREE);
  // As the server ranks them (row_tree.ts).
  readonly processes: Signal<Branches<ProcessBranch>|null> = signal(null);
  readonly threads: Signal<ReadonlyMap<number, Branches<ThreadBranch>>> = signal(new Map());
  // Trees of rules that the trace has the events of (tree_strips.ts).
  readonly trees: Signal<readonly NamedTree[]> = signal([]);
  readonly requests: Signal<RequestRows|null> = signal(null); // null: nothing joins calls
  readonly lanes: ReadonlySignal<Lane[]>;
  readonly stuckPx: ReadonlySignal<number>; // of the lanes that do not scroll

  constructor(private readonly core: Core) {
    const {names, view} = core;
    // The clock of all CPUs together is constant: the first event that is no time.
    this.counter = signal({event: Math.max(names.events.findIndex((event) => !isTimeEvent(event)), 0), cpu: -1});
    this.lanes = computed(() => {
      void names.changed.value;
      return layOut(names, this.counter.value, this.tree.value, this.processes.value, this.threads.value, view.height.value, this.trees.value, this.requests.value);
    });
    this.stuckPx = computed(() => stuckHeight(this.lanes.value));
    view.contentHeight = () => totalHeight(this.lanes.value);
  }

  // Those in sight: the ones that scroll, then those over them.
  inSight(): Lane[] {
    const {lanes, stuckPx, core: {view}} = this;
    const top = view.scrollY.value;
    return [
      ...visibleLanes(lanes.value, top + stuckPx.value, top + view.height.value),
      ...visibleLanes(lanes.value, 0, stuckPx.value),
    ];
  }
  // The one at a place of the screen.
  laneAt(y: number): Lane|undefined {
    const at = y < this.stuckPx.value ? y : y + this.core.view.scrollY.value;
    return visibleLanes(this.lanes.value, at, at + 1)[0];
  }
  // Where a lane's first pixel is on the screen.
  topOf(lane: Lane): number {
    return lane.stuck ? lane.y : lane.y - this.core.view.scrollY.value;
  }
  // What of a row is in sight: not what is under the lanes that stay.
  extentOf(lane: Lane, row: Pick<SubRow, 'y'|'height'>): {y: number; height: number} {
    const top = this.topOf(lane) + row.y;
    const y = lane.stuck ? top : Math.max(top, Math.min(this.stuckPx.value, top + row.height));
    return {y, height: top + row.height - y};
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
    const fold = (key: string, name: 'cpus'|'counters'|'levels'|'requests'): Field => ({
      key,
      read: (text) => this.change({[name]: text === '1' ? true : text === '0' ? false : null}),
      write: () => this.tree.value[name] === null ? null : this.tree.value[name] ? '1' : '0',
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
      set('hide', 'hidden'), fold('cpus', 'cpus'), fold('counters', 'counters'), fold('levels', 'levels'), fold('requests', 'requests'),
      flagField('stacks', {
        get value() { return tree.value.stacks; },
        set value(stacks) { tree.value = {...tree.value, stacks}; },
      }),
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
