// Processes and their threads as the server ranks them for the window. Loaded
// where the window rests, and when the user opens, pins or reveals something.

import {batch, computed, effect, type Signal, signal} from '@preact/signals-core';

import {ApiError} from '../../api/client';
import type {Branches, ProcessBranch, ThreadBranch} from '../../api/schema';
import type {Core} from '../../core/core';
import {heavyIn, openProcesses} from './process_lanes';
import {visibleLanes} from './lanes';
import {RowOrder} from './row_order';
import type {Rows} from './rows';
import {endNs} from '../../core/viewport';

const REST_MS = 200; // rows come and go when a zoom rests, not while it moves
const TOP_PROCESSES = 60;
const TOP_THREADS = 100;
const MOST = 1000; // of a page of the server
const MOST_OPEN = 64; // processes of one request

export class RowTree {
  // What is wrong with the filter, and where.
  readonly refused: Signal<string|null> = signal(null);
  waiting = false; // a request will follow

  private timer: ReturnType<typeof setTimeout>|undefined;
  private generation = 0;
  private first = true;
  private readonly order = {processes: new RowOrder(), threads: new RowOrder()};

  constructor(private readonly core: Core, private readonly rows: Rows) {}

  start(): void {
    let shown = this.core.view.viewport.peek();
    const thread = computed(() => this.core.selection.selected.value?.thread);
    effect(() => {
      const view = this.core.view.viewport.value;
      void [this.rows.tree.value, this.core.focus.filter.value, thread.value, heavyIn(this.core.view.height.value, this.core.names.trace.processes)];
      if (this.core.requests.lost.value) return;
      const moved = !this.first && (view.startNs !== shown.startNs || view.nsPerPx !== shown.nsPerPx);
      shown = view;
      this.waiting = true;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => void this.load(), moved ? REST_MS : 0);
    });
  }

  async load(): Promise<void> {
    clearTimeout(this.timer);
    this.waiting = false;
    this.first = false;
    const generation = ++this.generation;
    const {core, rows} = this;
    await core.requests.guard(() => this.refusals(async () => {
      const view = core.view.viewport.peek();
      const tree = rows.tree.peek();
      const kept = this.keptThreads();
      const from = Math.max(0, Math.floor(view.startNs));
      const to = Math.max(from, Math.ceil(Math.min(endNs(view), core.durationNs)));
      const where = core.focus.filter.peek();
      const also = [...new Set([
        ...tree.pinned, ...tree.shown, ...kept.map((thread) => core.names.threads.get(thread)?.process ?? -1),
        core.focus.process.peek() ?? -1,
      ])].filter((process) => process >= 0);
      const pages = await Promise.all(Array.from({length: Math.max(tree.unfolded, 1)}, (_, page) =>
          core.client.processRows(from, to, {
            top: tree.unfolded > 0 ? MOST : TOP_PROCESSES, first: page * MOST, also, where})));
      if (generation !== this.generation) return;
      const [processes] = pages;
      if (!processes) return;
      const seen = new Set<number>();
      processes.items = pages.flatMap((page) => page.items).filter(({process}) => {
        const fresh = !seen.has(process);
        seen.add(process);
        return fresh;
      });
      const open = [...openProcesses(processes.items, tree, core.names.trace.heaviest, heavyIn(core.view.height.peek(), core.names.trace.processes))]
                       .filter((process) => processes.items.find((item) => item.process === process)?.threads !== 1)
                       .slice(0, MOST_OPEN);
      const all = open.filter((process) => tree.allThreads.has(process));
      const some = open.filter((process) => !tree.allThreads.has(process));
      const threadsOf = (parents: readonly number[], top: number): Promise<Branches<ThreadBranch>[]> =>
          parents.length === 0 ? Promise.resolve([]) : core.client.threadRows(from, to, parents, {top, also: kept, where});
      const answers = await Promise.all([threadsOf(all, MOST), threadsOf(some, TOP_THREADS)]);
      if (generation !== this.generation) return;
      for (const item of processes.items) {
        if (item.name) core.names.addProcess(item.name);
        if (item.thread?.name) core.names.addThread(item.thread.name);
      }
      const threads = new Map<number, Branches<ThreadBranch>>();
      for (const branches of answers.flat()) {
        threads.set(branches.parent, branches);
        for (const {name} of branches.items) if (name) core.names.addThread(name);
      }
      if (core.playback.play.peek().playing) this.keepDepths(processes, threads);
      this.refused.value = null;
      processes.items = this.order.processes.arrange(processes.items, (item) => item.process);
      for (const branches of threads.values()) {
        branches.items = this.order.threads.arrange(branches.items, (item) => item.thread);
      }
      this.show(processes, threads);
    }));
  }

  // A page has the depths of calls in it: while it plays, lanes do not shrink.
  private keepDepths(processes: Branches<ProcessBranch>, threads: ReadonlyMap<number, Branches<ThreadBranch>>): void {
    const {rows} = this;
    const all = (of: Branches<ProcessBranch>|null, by: ReadonlyMap<number, Branches<ThreadBranch>>): ThreadBranch[] =>
        [...of?.items.flatMap(({thread}) => thread ?? []) ?? [], ...[...by.values()].flatMap(({items}) => items)];
    const before = new Map(all(rows.processes.peek(), rows.threads.peek()).map((one) => [one.thread, one.rows]));
    for (const branch of all(processes, threads)) {
      const old = before.get(branch.thread);
      if (old && old.length > branch.rows.length) branch.rows = old;
    }
  }

  // The heaviest of the window come first again.
  rankAnew(): void {
    this.order.processes.forget();
    this.order.threads.forget();
    void this.load();
  }

  // A filter that the server does not understand: the rows stay as they are.
  private async refusals(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400 || this.core.focus.filter.peek() === '') throw error;
      this.refused.value = error.reason;
    }
  }

  // The lane at the top of the rows in sight stays where it is.
  private show(processes: Branches<ProcessBranch>, threads: ReadonlyMap<number, Branches<ThreadBranch>>): void {
    const {core, rows} = this;
    const scrollY = core.view.scrollY.peek();
    const anchor = scrollY === 0 ? undefined :
        visibleLanes(rows.lanes.peek(), scrollY + rows.stuckPx.peek(), scrollY + core.view.height.peek())
            .find((lane) => lane.kind === 'process' || lane.kind === 'thread');
    batch(() => {
      rows.processes.value = processes;
      rows.threads.value = threads;
      ++core.names.changed.value;
    });
    const after = anchor && rows.lanes.peek().find((lane) => lane.id === anchor.id);
    if (anchor && after && after.y !== anchor.y) core.view.scroll(after.y - anchor.y);
  }

  // Threads that do not fold: the user is at them.
  private keptThreads(): number[] {
    const chosen = this.core.selection.selected.peek()?.thread ?? undefined;
    const focus = /^thread(\d+)$/.exec(this.core.focus.lane.peek() ?? '')?.[1];
    return [...new Set([...(chosen === undefined ? [] : [chosen]), ...(focus ? [Number(focus)] : [])])];
  }
}
