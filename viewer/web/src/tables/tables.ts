// The tables below the timeline: of the range, of calls, of records.

import type {TimedCall, WaitTotals} from '../api/schema';
import type {Core} from '../core/core';
import type {Timeline} from '../timeline/timeline';
import {CallTree} from './call_tree';
import {RangeTables} from './range_tables';
import {Records} from './records';

export class Tables {
  readonly ranges: RangeTables;
  readonly callTree: CallTree;
  readonly records: Records;

  constructor(readonly core: Core, readonly timeline: Timeline) {
    this.ranges = new RangeTables(core);
    this.callTree = new CallTree(core, this.ranges.tab, () => timeline.rowTree.refused.peek() !== null);
    this.records = new Records(core, this.ranges.tab);
    core.address.register(this.ranges.field());
    core.commands.register({panel: () => (core.page.panelOpen.value = !core.page.panelOpen.value)});
  }

  start(): void {
    this.ranges.start();
    this.callTree.start();
    this.records.start();
  }

  // Selects the longest of its calls, on the timeline too; again: nothing.
  async selectSegment({process, hook}: {process: number; hook: number}): Promise<void> {
    const {selection, view, playback} = this.core;
    const old = selection.selected.value;
    if (old?.kind === 'segment' && old.process === process && old.hook === hook) return selection.select(null);
    const call = await selection.selectSegment(process, hook);
    if (call === null || call.thread === null) return;
    if (!view.holds(call.from)) {
      view.onJump();
      view.centre(call.from);
    }
    playback.moveTo(call.from);
    await this.timeline.commands.revealThread(call.thread, {quiet: true, calls: true});
  }
  // The longest wait of a row.
  selectWait({process, call, longest: {thread, begin_ns: from, end_ns: to}}: WaitTotals): void {
    const {selection, view, playback, durationNs} = this.core;
    const margin = (to - from) / 2;
    view.show(Math.max(from - margin, 0), Math.min(to + margin, durationNs));
    playback.moveTo(from);
    void this.timeline.commands.revealThread(thread);
    selection.select({kind: 'wait', process, thread, hook: call, row: null, from, to});
  }

  // Brings one call of the selected segment into view.
  showCall({thread, begin_ns: from, end_ns: to}: TimedCall): void {
    const {selection, view, playback} = this.core;
    const segment = selection.selected.value;
    if (segment?.kind === 'segment') selection.select({...segment, row: null, thread, from, to});
    view.show(from, to);
    playback.moveTo(from);
    void this.timeline.commands.revealThread(thread, {calls: true});
  }
}
