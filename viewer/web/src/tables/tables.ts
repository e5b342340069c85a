// The tables below the timeline: of the range, of calls, of records.

import type {TimedCall} from '../api/schema';
import type {Core} from '../core/core';
import type {Timeline} from '../timeline/timeline';
import {CallTree} from './call_tree';
import {RangeTables} from './range_tables';

export class Tables {
  readonly ranges: RangeTables;
  readonly callTree: CallTree;

  constructor(readonly core: Core, readonly timeline: Timeline) {
    this.ranges = new RangeTables(core);
    this.callTree = new CallTree(core, this.ranges.tab, () => timeline.rowTree.refused.peek() !== null);
    core.address.register(this.ranges.field());
    core.commands.register({panel: () => (core.page.panelOpen.value = !core.page.panelOpen.value)});
  }

  start(): void {
    this.ranges.start();
    this.callTree.start();
  }

  // Again: nothing is selected.
  selectSegment({process, hook}: {process: number; hook: number}): void {
    const {selection} = this.core;
    const old = selection.durations.value;
    if (old?.process === process && old.hook === hook) selection.select(null);
    else void selection.selectSegment(process, hook);
  }

  // Brings one call into view.
  showCall(call: TimedCall): void {
    const {view, playback} = this.core;
    view.show(call.begin_ns, call.end_ns);
    playback.moveTo(call.begin_ns);
    void this.timeline.commands.revealThread(call.thread);
  }
}
