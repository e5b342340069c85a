// Opens, folds, pins and hides rows, and brings those that the user names into
// view.

import type {AppModel} from '../../core/app_model';
import {type Lane, visibleLanes} from './lanes';
import {hookName, processName, processOf} from '../../core/names';
import * as viewport from '../../core/viewport';

export class LaneCommands {
  constructor(private readonly model: AppModel) {}

  // Its process may not be known yet.
  async revealThread(thread: number): Promise<void> {
    await this.model.guard(async () => {
      if (!this.model.names.threads.has(thread)) {
        for (const item of await this.model.client.threadsOf([thread])) this.model.names.addThread(item);
      }
      await this.reveal(processOf(this.model.names, thread), thread);
    });
  }

  // The thread of a row, or null.
  threadOf(row: number): number|null {
    return this.model.lanes.value.find((lane) => lane.kind === 'thread' && lane.rows.some((part) => part.row === row))?.owner ?? null;
  }

  setOpen(process: number, open: boolean): void {
    const opened = new Set(this.model.tree.value.opened);
    const closed = new Set(this.model.tree.value.closed);
    opened.delete(process);
    closed.delete(process);
    (open ? opened : closed).add(process);
    this.model.tree.value = {...this.model.tree.value, opened, closed};
    this.model.scroll(0);
  }
  // A process, or what folded.
  toggleLane(lane: Lane): void {
    if (lane.kind === 'fold') return this.unfold(lane);
    if (!lane.toggle) return;
    this.setOpen(lane.process, !lane.toggle.open);
    this.model.announcement.value = `${lane.label} ${lane.toggle.open ? 'closed' : 'opened'}`;
  }
  toggleHandlers(): void {
    this.model.tree.value = {...this.model.tree.value, handlers: !this.model.tree.value.handlers};
    this.model.scroll(0);
  }
  // Shows more processes, or all threads of one.
  unfold(lane: Lane): void {
    const tree = this.model.tree.value;
    this.model.tree.value = lane.process >= 0 ?
        {...tree, allThreads: new Set([...tree.allThreads, lane.process])} :
        {...tree, unfolded: tree.unfolded + 1, hidden: new Set()};
  }
  // Pinned processes come first, the last pinned one above the others.
  togglePin(process: number): void {
    const tree = this.model.tree.value;
    const rest = tree.pinned.filter((pinned) => pinned !== process);
    const hidden = new Set(tree.hidden);
    hidden.delete(process);
    const pinned = rest.length < tree.pinned.length ? rest : [process, ...rest];
    this.model.tree.value = {...tree, pinned, hidden};
    this.model.announcement.value = `${processName(this.model.names, process)} ${pinned.length > rest.length ? 'pinned' : 'not pinned'}`;
  }
  hide(process: number): void {
    const tree = this.model.tree.value;
    this.model.tree.value = {
      ...tree,
      pinned: tree.pinned.filter((pinned) => pinned !== process),
      hidden: new Set([...tree.hidden, process]),
    };
    this.model.announcement.value = `${processName(this.model.names, process)} hidden`;
    this.model.scroll(0);
  }
  // The process of the lane under the pointer, else of the one with the focus,
  // else the highlighted one.
  processMeant(): number|null {
    const hover = this.model.hover.value;
    const y = this.model.scrollY.value + (hover?.y ?? -1);
    const lane = hover ? visibleLanes(this.model.lanes.value, y, y + 1)[0] : this.focusedLane();
    return lane && lane.process >= 0 ? lane.process : this.model.highlight.value;
  }
  focusedLane(): Lane|undefined {
    return this.model.lanes.value.find((lane) => lane.id === this.model.focus.value);
  }

  // Brings the lane of a process, or of its thread, into view and highlights the
  // process.
  async reveal(process: number, thread: number|null): Promise<void> {
    const laneOf = (): Lane|undefined => this.model.lanes.value.find((lane) =>
        lane.id === `thread${thread ?? -1}` || thread === null && lane.process === process && lane.toggle !== null);
    if (!laneOf()) {
      const tree = this.model.tree.value;
      const hidden = new Set(tree.hidden);
      hidden.delete(process);
      const next = {...tree, hidden, shown: new Set([...tree.shown, process])};
      if (thread !== null) {
        const closed = new Set(tree.closed);
        closed.delete(process);
        next.closed = closed;
        next.opened = new Set([...tree.opened, process]);
        this.model.focus.value = `thread${thread}`;
      }
      this.model.tree.value = next;
      await this.model.rowTree.load();
      if (!laneOf() && this.model.filter.value !== '') {
        this.model.setFilter('');
        await this.model.rowTree.load();
      }
    }
    const lane = laneOf();
    if (!lane) return;
    this.model.highlight.value = process;
    this.model.focus.value = lane.id;
    this.model.scroll(lane.y - this.model.viewHeight.value / 3 - this.model.scrollY.value);
    this.model.announcement.value = `${lane.label} in view`;
  }

  // Brings the next call of a hook, or its next hit, into view; after the last
  // one, the first.
  async revealCall(hook: number, forward: boolean): Promise<void> {
    await this.model.guard(async () => {
      let found = await this.model.client.call(hook, this.model.playback.value.at, forward);
      if (!found.found) found = await this.model.client.call(hook, forward ? 0 : this.model.durationNs, forward);
      if (!found.found || found.t === undefined || found.owner === undefined) return;
      this.model.movePlayhead(found.t);
      this.model.announcement.value = `Call of ${hookName(this.model.names, hook)}`;
      const view = this.model.view.value;
      if (found.t < view.startNs || found.t > viewport.endNs(view)) {
        this.model.onJump();
        this.model.view.value = viewport.centre(view, found.t, this.model.durationNs);
      }
      if (found.kind === 'segment' || found.kind === 'hook') {
        await this.revealThread(found.owner);
      }
    });
  }
}
