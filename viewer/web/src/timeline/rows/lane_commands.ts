// Opens, folds, pins and hides rows, and brings those that the user names into
// view.

import type {Core} from '../../core/core';
import type {Lane} from './lanes';
import {MORE_REQUESTS} from './request_lanes';
import type {RowTree} from './row_tree';
import type {Rows} from './rows';
import {hookName, processName, processOf} from '../../core/names';

interface Reveal {
  quiet?: boolean; // the process does not stand out
  calls?: boolean; // the thread's calls are in sight, too
}

export class LaneCommands {
  constructor(private readonly core: Core, private readonly rows: Rows, private readonly tree: RowTree) {}

  // Its process may not be known yet.
  async revealThread(thread: number, how: Reveal = {}): Promise<void> {
    await this.core.requests.guard(async () => {
      if (!this.core.names.threads.has(thread)) {
        for (const item of await this.core.client.threadsOf([thread])) this.core.names.addThread(item);
      }
      await this.reveal(processOf(this.core.names, thread), thread, how);
    });
  }

  setOpen(process: number, open: boolean): void {
    const opened = new Set(this.rows.tree.value.opened);
    const closed = new Set(this.rows.tree.value.closed);
    opened.delete(process);
    closed.delete(process);
    (open ? opened : closed).add(process);
    this.rows.tree.value = {...this.rows.tree.value, opened, closed};
    this.core.view.scroll(0);
  }
  // A process, or what folded.
  toggleLane(lane: Lane): void {
    if (lane.kind === 'fold') return this.unfold(lane);
    if (lane.fold) return this.toggleMachine(lane);
    if (!lane.toggle) return;
    this.setOpen(lane.process, !lane.toggle.open);
    this.core.announce(`${lane.label} ${lane.toggle.open ? 'closed' : 'opened'}`);
  }
  // One strip for all CPUs, or for all counters, or each with its own.
  private toggleMachine({label, fold}: Lane): void {
    if (!fold) return;
    this.rows.change({[fold.of]: !fold.open});
    this.core.view.scroll(0);
    this.core.announce(`${label} ${fold.open ? 'closed' : 'opened'}`);
  }
  toggleHandlers(): void {
    this.rows.tree.value = {...this.rows.tree.value, handlers: !this.rows.tree.value.handlers};
    this.core.view.scroll(0);
  }
  // Shows more processes, or all threads of one.
  unfold(lane: Lane): void {
    const tree = this.rows.tree.value;
    if (lane.id === MORE_REQUESTS) return this.rows.change({moreRequests: tree.moreRequests + 1});
    this.rows.tree.value = lane.process >= 0 ?
        {...tree, allThreads: new Set([...tree.allThreads, lane.process])} :
        {...tree, unfolded: tree.unfolded + 1, hidden: new Set()};
  }
  // Pinned processes come first, the last pinned one above the others.
  togglePin(process: number): void {
    const tree = this.rows.tree.value;
    const rest = tree.pinned.filter((pinned) => pinned !== process);
    const hidden = new Set(tree.hidden);
    hidden.delete(process);
    const pinned = rest.length < tree.pinned.length ? rest : [process, ...rest];
    this.rows.tree.value = {...tree, pinned, hidden};
    this.core.announce(`${processName(this.core.names, process)} ${pinned.length > rest.length ? 'pinned' : 'not pinned'}`);
  }
  hide(process: number): void {
    const tree = this.rows.tree.value;
    this.rows.tree.value = {
      ...tree,
      pinned: tree.pinned.filter((pinned) => pinned !== process),
      hidden: new Set([...tree.hidden, process]),
    };
    this.core.announce(`${processName(this.core.names, process)} hidden`);
    this.core.view.scroll(0);
  }
  // The process of the lane under the pointer, else of the one with the focus,
  // else the highlighted one.
  processMeant(): number|null {
    const hover = this.core.focus.pointer.value;
    const lane = hover ? this.rows.laneAt(hover.y) : this.rows.focusedLane();
    return lane && lane.process >= 0 ? lane.process : this.core.focus.process.value;
  }

  // Brings the lane of a process, or of its thread, into view and highlights the
  // process.
  async reveal(process: number, thread: number|null, {quiet = false, calls = false}: Reveal = {}): Promise<void> {
    const laneOf = (): Lane|undefined => this.rows.lanes.value.find((lane) =>
        lane.id === `thread${thread ?? -1}` || thread === null && lane.process === process && lane.toggle !== null);
    if (!laneOf()) {
      const tree = this.rows.tree.value;
      const hidden = new Set(tree.hidden);
      hidden.delete(process);
      const next = {...tree, hidden, shown: new Set([...tree.shown, process])};
      if (thread !== null) {
        const closed = new Set(tree.closed);
        closed.delete(process);
        next.closed = closed;
        next.opened = new Set([...tree.opened, process]);
        this.core.focus.lane.value = `thread${thread}`;
      }
      this.rows.tree.value = next;
      await this.tree.load();
      if (!laneOf() && this.core.focus.filter.value !== '') {
        this.core.focus.filter.value = '';
        await this.tree.load();
      }
    }
    if (calls && laneOf()?.toggle?.open === false) this.setOpen(process, true);
    const lane = laneOf();
    if (!lane) return;
    if (!quiet) this.core.focus.process.value = process;
    this.core.focus.lane.value = lane.id;
    const stuck = this.rows.stuckPx.value;
    this.core.view.scroll(this.rows.topOf(lane) - stuck - (this.core.view.height.value - stuck) / 3);
    this.core.announce(`${lane.label} in view`);
  }

  // Brings the next call of a hook, or its next hit, into view; after the last
  // one, the first.
  async revealCall(hook: number, forward: boolean): Promise<void> {
    await this.core.requests.guard(async () => {
      let found = await this.core.client.call(hook, this.core.playback.play.value.at, forward);
      if (!found.found) found = await this.core.client.call(hook, forward ? 0 : this.core.durationNs, forward);
      if (!found.found || found.t === undefined || found.owner === undefined) return;
      this.core.playback.moveTo(found.t);
      this.core.announce(`Call of ${hookName(this.core.names, hook)}`);
      if (!this.core.view.holds(found.t)) {
        this.core.view.onJump();
        this.core.view.centre(found.t);
      }
      if (found.kind === 'segment' || found.kind === 'hook') {
        await this.revealThread(found.owner);
      }
    });
  }
}
