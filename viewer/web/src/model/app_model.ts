// The state of all views, as signals, and the commands that change it. Sends
// requests to the server; does not use the DOM. One instance per page.

import {batch, computed, effect, type ReadonlySignal, type Signal, signal} from '@preact/signals-core';

import {type Client, isAbort, isLost} from '../api/client';
import type {Durations, Growth, StepLimit, TimedCall, WaitAnswer} from '../api/schema';
import type {Follow} from './follow';
import {CALM_FRAMES_PER_SECOND, FRAMES_PER_SECOND} from './frame_buffer';
import {type CounterChoice, type Lane, layOut, totalHeight, visibleLanes} from './lanes';
import {hookName, type Names, processName, processOf} from './names';
import {runCommand} from './commands';
import {RangeComparison} from './comparison';
import {HoverWait} from './hover_wait';
import {advance, autoRate, faster, type Playback} from './playback';
import {addressOf, restoreReplay, treeOf} from './page_address';
import {CLOSED_TREE, type Tree} from './process_lanes';
import {RowTree} from './row_tree';
import {PlayheadState} from './playhead_state';
import {RangeTables} from './range_tables';
import {RareEvents} from './rare_events';
import {SourceView} from './source_view';
import {decodeHash} from './url_hash';
import {limitOf, type StepChoice, stepName, stepOnce, stepTimes} from './stepping';
import {formatInstant, formatSpeed, isTimeEvent} from '../units';
import * as viewport from './viewport';
import type {Viewport} from './viewport';

export interface Selection {
  from: number;
  to: number;
}

const RECONNECT_MS = 1000;
const EVENTS_PER_SECOND = 10; // at speed 1

export interface Hover {
  x: number;
  y: number;
}

// The clock of all CPUs together is constant: the first event that is no time.
function tellingEvent(events: readonly string[]): number {
  return Math.max(events.findIndex((event) => !isTimeEvent(event)), 0);
}

export class AppModel {
  readonly view: Signal<Viewport>;
  readonly viewHeight = signal(0);
  readonly scrollY = signal(0);
  readonly selection: Signal<Selection|null> = signal(null);
  readonly playback: Signal<Playback> =
      signal({at: 0, playing: false, speed: 1});
  readonly loop = signal(false);
  readonly skipIdle: Signal<boolean> = signal(false); // when playing
  readonly reducedMotion = signal(false);
  readonly stepKind: Signal<StepChoice> = signal('any');
  readonly byEvents = signal(false); // it plays from boundary to boundary
  readonly follow: Signal<Follow> = signal('page');
  readonly counter: Signal<CounterChoice>;
  readonly highlight: Signal<number|null> = signal(null); // process
  readonly hover: Signal<Hover|null> = signal(null);
  readonly tables: RangeTables;
  readonly comparison: RangeComparison;
  readonly hoverWait: HoverWait;
  readonly rare: RareEvents;
  readonly panelOpen = signal(true);
  readonly helpOpen = signal(false);
  readonly error: Signal<string|null> = signal(null);
  readonly lost = signal(false); // the server cannot be reached
  readonly isWhole: boolean; // shown is the whole trace, not its first part, nor a recording that goes on
  readonly isLive: boolean; // shown is a recording that goes on
  goLive = false; // the user went to its end
  // How far the trace's index is, as the server said last.
  readonly growth: Signal<Growth>;
  readonly buildFailure = signal<string|null>(null); // why the whole trace will have no index
  readonly now: PlayheadState;
  readonly source: SourceView;
  // Selected: why a thread does not run.
  readonly wait: Signal<WaitAnswer|null> = signal(null);
  // How long the calls of the selected segment took, in the range of the tables.
  readonly durations: Signal<Durations|null> = signal(null);
  // Those of its calls that are as long as the user chose.
  readonly lengths: Signal<{span: Selection; calls: Durations}|null> = signal(null);
  readonly announcement = signal('');
  // Scales of the counter strips in sight, per second, by row.
  readonly counterTops: Signal<ReadonlyMap<number, number>> = signal(new Map());
  readonly tree: Signal<Tree> = signal(CLOSED_TREE);
  readonly rowTree: RowTree;
  readonly focus: Signal<string|null> = signal(null); // the lane that keys are for
  readonly filter: Signal<string> = signal(''); // condition on the rows; empty: none
  readonly lanes: ReadonlySignal<Lane[]>;
  // The now panel shows an earlier instant than the playhead's.
  readonly running: ReadonlySignal<ReadonlySet<number>>; // threads on a CPU at the playhead, while it plays
  readonly late: ReadonlySignal<boolean>;
  readonly durationNs: number;

  private hashTimer: ReturnType<typeof setTimeout>|undefined;
  private restTimer: ReturnType<typeof setTimeout>|undefined;
  // Called before the view jumps: Back returns to what is shown now.
  onJump: () => void = () => undefined;
  onPicture: () => void = () => undefined; // saves one of what is on screen
  pending = 0; // requests under way, for settled()

  constructor(readonly client: Client, readonly names: Names, growth: Growth, hash: string) {
    this.growth = signal(growth);
    this.isWhole = growth.whole;
    this.isLive = growth.live;
    this.durationNs = Math.max(names.trace.duration_ns, 1);
    this.tables = new RangeTables(this);
    this.comparison = new RangeComparison(this);
    this.hoverWait = new HoverWait(this);
    this.rare = new RareEvents(this);
    this.now = new PlayheadState(this);
    this.rowTree = new RowTree(this);
    this.source = new SourceView(this);
    const saved = decodeHash(hash);
    const from = saved.from ?? 0;
    const to = saved.to ?? this.durationNs;
    this.view = signal(viewport.clamp(
        {startNs: from, nsPerPx: (to - from) / 1000, widthPx: 1000},
        this.durationNs));
    this.counter = signal({
      event: Math.min(saved.event ?? tellingEvent(names.events), Math.max(names.events.length - 1, 0)),
      cpu: Math.min(saved.cpu ?? -1, names.trace.cpus - 1),
    });
    this.lanes = computed(() => {
      void names.changed.value;
      return layOut(names, this.counter.value, this.tree.value, this.rowTree.processes.value, this.rowTree.threads.value);
    });
    this.running = computed(() => new Set(
        this.playback.value.playing ? this.now.instant.value?.cpus.flatMap((cpu) => cpu.thread ?? []) ?? [] : []));
    this.late = computed(
        () => Math.floor(this.playback.value.at) !== this.now.instantOf.value);
    // Without kernel records there are no processes to show, only segments.
    if (!names.rows.some((row) => row.kind === 'cpu')) this.tables.show('segments');
    this.scrollY.value = saved.y ?? 0;
    this.playback.value = {
      at: Math.min(saved.t ?? 0, this.durationNs),
      playing: false,
      speed: saved.speed ?? 1,
    };
    this.tree.value = treeOf(saved);
    this.highlight.value = saved.process ?? null;
    this.focus.value = saved.focus ?? null;
    this.filter.value = saved.filter ?? '';
    if (saved.selection) {
      this.selection.value = {from: saved.selection[0], to: saved.selection[1]};
    }
    this.rare.chosen.value = saved.rare ?? [];
    restoreReplay(this, saved);
    if (saved.compared) {
      this.comparison.before.value = {from: saved.compared[0], to: saved.compared[1]};
      this.tables.show('changes');
    }
  }

  // Starts the requests that follow the signals. `saveHash` is called with the
  // fragment, at most four times a second.
  start(saveHash: (hash: string) => void): void {
    this.client.onLost = () => void this.reconnect();
    this.tables.start();
    this.rowTree.start();
    this.comparison.start();
    this.rare.start();
    effect(() => {
      if (!this.lost.value) this.now.load(this.playback.value.at);
    });
    const playing = computed(() => this.playback.value.playing);
    effect(() => {
      void [this.view.value, this.selection.value];
      // While it plays each process keeps its place.
      if (playing.value || this.lost.value) return;
      this.atRest(() => {
        const view = this.view.peek();
        this.now.load(this.playback.peek().at);
        void this.now.chooseProcesses(Math.max(view.startNs, 0), Math.min(viewport.endNs(view), this.durationNs));
      });
    });
    effect(() => {
      void [this.view.value, this.selection.value, this.playback.value, this.counter.value, this.scrollY.value,
            this.tree.value, this.highlight.value, this.focus.value, this.filter.value,
            this.comparison.before.value, this.tables.tab.value, this.stepKind.value, this.follow.value,
            this.loop.value, this.skipIdle.value, this.byEvents.value, this.rare.chosen.value];
      clearTimeout(this.hashTimer);
      this.hashTimer = setTimeout(() => saveHash(addressOf(this)), 250);
    });
  }

  // Runs `work` when no call followed for a while; settled() waits for it.
  private atRest(work: () => void): void {
    if (this.restTimer === undefined) ++this.pending;
    clearTimeout(this.restTimer);
    this.restTimer = setTimeout(() => {
      this.restTimer = undefined;
      --this.pending;
      work();
    }, 200);
  }

  resize(widthPx: number, heightPx: number): void {
    const view = this.view.value;
    this.viewHeight.value = heightPx;
    if (widthPx <= 0 || widthPx === view.widthPx) return;
    const span = view.nsPerPx * view.widthPx;
    this.view.value = viewport.clamp(
        {startNs: view.startNs, nsPerPx: span / widthPx, widthPx},
        this.durationNs);
  }

  zoom(x: number, factor: number): void {
    this.view.value =
        viewport.zoomAbout(this.view.value, x, factor, this.durationNs);
  }
  pan(deltaPx: number): void {
    this.view.value = viewport.panBy(this.view.value, deltaPx, this.durationNs);
  }
  scroll(deltaPx: number): void {
    const most = Math.max(0, totalHeight(this.lanes.value) - this.viewHeight.value);
    this.scrollY.value = Math.min(Math.max(this.scrollY.value + deltaPx, 0), most);
  }
  show(from: number, to: number): void {
    this.onJump();
    this.view.value = viewport.show(this.view.value, from, to, this.durationNs);
  }
  setWindow(from: number, to: number): void {
    const view = this.view.value;
    this.view.value = viewport.clamp(
        {...view, startNs: from, nsPerPx: (to - from) / view.widthPx},
        this.durationNs);
  }
  fitAll(): void {
    this.onJump();
    this.view.value = viewport.fit(this.durationNs, this.view.value.widthPx);
  }

  select(a: number, b: number): void {
    const from = Math.max(0, Math.round(Math.min(a, b)));
    const to = Math.min(this.durationNs, Math.round(Math.max(a, b)));
    this.tables.offset.value = 0;
    this.selection.value = to > from ? {from, to} : null;
  }

  movePlayhead(at: number): void {
    this.now.endRun();
    const play = this.playback.value;
    this.playback.value = {
      ...play,
      at: Math.min(Math.max(at, 0), this.durationNs),
    };
  }

  // Selects what keeps a thread from running at an instant; null: nothing.
  async selectWait(thread: number|null, at: number): Promise<void> {
    await this.guard(async () => {
      this.wait.value = thread === null ? null : await this.client.wait(thread, at);
    });
  }

  // Selects a segment of a process; the selected one: none.
  async selectSegment(process: number, hook: number): Promise<void> {
    const old = this.durations.value;
    if (old?.process === process && old.hook === hook) {
      this.durations.value = null;
      return;
    }
    const range = this.selection.value ?? {from: 0, to: this.durationNs + 1};
    await this.guard(async () => {
      this.durations.value = await this.client.durations(process, hook, range.from, range.to);
      this.lengths.value = null;
    });
  }
  // Chooses the selected segment's calls from one duration to another (in ns,
  // the second exclusive); null: all.
  async filterDurations(span: Selection|null): Promise<void> {
    const all = this.durations.value;
    if (!all || !span) {
      this.lengths.value = null;
      return;
    }
    const range = this.selection.value ?? {from: 0, to: this.durationNs + 1};
    await this.guard(async () => {
      const calls = await this.client.durations(all.process, all.hook, range.from, range.to, span);
      this.lengths.value = {span, calls};
    });
  }
  // Brings one call into view.
  showCall(call: TimedCall): void {
    this.show(call.begin_ns, call.end_ns);
    this.movePlayhead(call.begin_ns);
    void this.revealThread(call.thread);
  }
  // Its process may not be known yet.
  async revealThread(thread: number): Promise<void> {
    await this.guard(async () => {
      if (!this.names.threads.has(thread)) {
        for (const item of await this.client.threadsOf([thread])) this.names.addThread(item);
      }
      await this.reveal(processOf(this.names, thread), thread);
    });
  }

  // The thread of a row, or null.
  threadOf(row: number): number|null {
    return this.lanes.value.find((lane) => lane.kind === 'thread' && lane.rows.some((part) => part.row === row))?.owner ?? null;
  }

  setOpen(process: number, open: boolean): void {
    const opened = new Set(this.tree.value.opened);
    const closed = new Set(this.tree.value.closed);
    opened.delete(process);
    closed.delete(process);
    (open ? opened : closed).add(process);
    this.tree.value = {...this.tree.value, opened, closed};
    this.scroll(0);
  }
  // A process, or what folded.
  toggleLane(lane: Lane): void {
    if (lane.kind === 'fold') return this.unfold(lane);
    if (!lane.toggle) return;
    this.setOpen(lane.process, !lane.toggle.open);
    this.announcement.value = `${lane.label} ${lane.toggle.open ? 'closed' : 'opened'}`;
  }
  toggleHandlers(): void {
    this.tree.value = {...this.tree.value, handlers: !this.tree.value.handlers};
    this.scroll(0);
  }
  // Shows more processes, or all threads of one.
  unfold(lane: Lane): void {
    const tree = this.tree.value;
    this.tree.value = lane.process >= 0 ?
        {...tree, allThreads: new Set([...tree.allThreads, lane.process])} :
        {...tree, unfolded: tree.unfolded + 1, hidden: new Set()};
  }
  // Pinned processes come first, the last pinned one above the others.
  togglePin(process: number): void {
    const tree = this.tree.value;
    const rest = tree.pinned.filter((pinned) => pinned !== process);
    const hidden = new Set(tree.hidden);
    hidden.delete(process);
    const pinned = rest.length < tree.pinned.length ? rest : [process, ...rest];
    this.tree.value = {...tree, pinned, hidden};
    this.announcement.value = `${processName(this.names, process)} ${pinned.length > rest.length ? 'pinned' : 'not pinned'}`;
  }
  hide(process: number): void {
    const tree = this.tree.value;
    this.tree.value = {
      ...tree,
      pinned: tree.pinned.filter((pinned) => pinned !== process),
      hidden: new Set([...tree.hidden, process]),
    };
    this.announcement.value = `${processName(this.names, process)} hidden`;
    this.scroll(0);
  }
  // The process of the lane under the pointer, else of the one with the focus,
  // else the highlighted one.
  processMeant(): number|null {
    const hover = this.hover.value;
    const y = this.scrollY.value + (hover?.y ?? -1);
    const lane = hover ? visibleLanes(this.lanes.value, y, y + 1)[0] : this.focusedLane();
    return lane && lane.process >= 0 ? lane.process : this.highlight.value;
  }
  focusedLane(): Lane|undefined {
    return this.lanes.value.find((lane) => lane.id === this.focus.value);
  }

  // Brings the lane of a process, or of its thread, into view and highlights the
  // process.
  async reveal(process: number, thread: number|null): Promise<void> {
    const laneOf = (): Lane|undefined => this.lanes.value.find((lane) =>
        lane.id === `thread${thread ?? -1}` || thread === null && lane.process === process && lane.toggle !== null);
    if (!laneOf()) {
      const tree = this.tree.value;
      const hidden = new Set(tree.hidden);
      hidden.delete(process);
      const next = {...tree, hidden, shown: new Set([...tree.shown, process])};
      if (thread !== null) {
        const closed = new Set(tree.closed);
        closed.delete(process);
        next.closed = closed;
        next.opened = new Set([...tree.opened, process]);
        this.focus.value = `thread${thread}`;
      }
      this.tree.value = next;
      await this.rowTree.load();
      if (!laneOf() && this.filter.value !== '') {
        this.filter.value = '';
        await this.rowTree.load();
      }
    }
    const lane = laneOf();
    if (!lane) return;
    this.highlight.value = process;
    this.focus.value = lane.id;
    this.scroll(lane.y - this.viewHeight.value / 3 - this.scrollY.value);
    this.announcement.value = `${lane.label} in view`;
  }

  // Brings the next call of a hook, or its next hit, into view; after the last
  // one, the first.
  async revealCall(hook: number, forward: boolean): Promise<void> {
    await this.guard(async () => {
      let found = await this.client.call(hook, this.playback.value.at, forward);
      if (!found.found) found = await this.client.call(hook, forward ? 0 : this.durationNs, forward);
      if (!found.found || found.t === undefined || found.owner === undefined) return;
      this.movePlayhead(found.t);
      this.announcement.value = `Call of ${hookName(this.names, hook)}`;
      const view = this.view.value;
      if (found.t < view.startNs || found.t > viewport.endNs(view)) {
        this.onJump();
        this.view.value = viewport.centre(view, found.t, this.durationNs);
      }
      if (found.kind === 'segment' || found.kind === 'hook') {
        await this.revealThread(found.owner);
      }
    });
  }

  // Pauses; or plays, from the other end where there is nothing left to play.
  togglePlay(backward = false): void {
    const play = this.playback.value;
    const range = this.playRange();
    const playing = !play.playing || backward !== (play.backward ?? false);
    const atEnd = backward ? play.at <= range.from : play.at >= range.to;
    this.playback.value = {
      ...play,
      playing,
      backward,
      at: !play.playing && atEnd ? (backward ? range.to : range.from) : play.at,
    };
    if (playing) this.now.beginRun();
    this.announcement.value = playing ? `Plays${backward ? ' backwards' : ''}: ${this.paceText()}` :
        `Paused at ${formatInstant(play.at, 1)}`;
  }

  pause(): void {
    this.playback.value = {...this.playback.value, playing: false};
    this.announcement.value = `Paused at ${formatInstant(this.playback.value.at, 1)}`;
  }

  // J and L of a video editor: again in the same direction is faster.
  shuttle(backward: boolean): void {
    const play = this.playback.value;
    if (play.playing && backward === (play.backward ?? false)) this.setSpeed(faster(play.speed, 1));
    else this.togglePlay(backward);
  }

  setSpeed(speed: number): void {
    this.playback.value = {...this.playback.value, speed};
  }

  playRange(): {from: number; to: number; loop: boolean} {
    const range = this.selection.value;
    return range && this.loop.value ?
        {...range, loop: true} :
        {from: 0, to: this.durationNs, loop: this.loop.value};
  }

  // Trace time in a second of playing, at speed 1.
  private rate(): number {
    const view = this.view.value;
    return autoRate(view.nsPerPx * view.widthPx);
  }
  // At the speed that is set.
  nsPerSecond(): number {
    return this.rate() * this.playback.value.speed;
  }

  paceText(): string {
    const events = this.eventsPerSecond();
    return this.byEvents.value ?
        `${events.toFixed(events < 10 ? 1 : 0)} ${this.stepKind.value === 'any' ? 'boundaries' : `${stepName(this.stepKind.value)} steps`} a second` :
        formatSpeed(this.nsPerSecond());
  }

  // Advances the playhead by wall time and keeps it in view.
  tick(elapsedMs: number): void {
    const play = this.playback.value;
    if (!play.playing) return;
    this.playback.value = advance(play, elapsedMs, this.rate(), this.playRange());
    this.turnPage();
  }

  // The same, but the playhead moves only to instants whose state has arrived,
  // and all that is shown is of that instant.
  play(elapsedMs: number): void {
    const play = this.playback.value;
    if (!play.playing || this.lost.value) return;
    const range = this.playRange();
    const frames = this.now.frames;
    const at = Math.min(Math.max(Math.round(play.at), range.from), range.to);
    const perSecond = this.reducedMotion.value ? CALM_FRAMES_PER_SECOND : FRAMES_PER_SECOND;
    const stepNs = this.nsPerSecond() / perSecond;
    frames.follow(at, {
      stepNs: play.backward ? -stepNs : stepNs,
      perSecond: this.byEvents.value ? this.eventsPerSecond() : perSecond,
      steps: this.byEvents.value ? `${this.stepKind.value} ${JSON.stringify(this.focusLimit())}` : null,
      // After its last instant a trace has no state.
      from: Math.round(range.from), to: Math.round(Math.min(range.to, this.durationNs - 1)), loop: range.loop,
      skip: this.skipIdle.value, since: this.now.since(), window: this.now.window,
    });
    const frame = frames.next(elapsedMs);
    batch(() => {
      if (frame !== null) {
        this.now.show(frame);
        this.playback.value = {...play, at: frame.t};
        this.turnPage();
      }
      if (frames.ended) {
        frames.stop();
        const end = play.backward ? range.from : range.to;
        this.playback.value = {...play, at: this.byEvents.value ? play.at : end, playing: false};
        this.announcement.value = `Played to ${formatInstant(this.playback.value.at, 1)}`;
      }
    });
  }

  // The playhead appears again near the edge it comes from.
  private turnPage(): void {
    const {at, backward} = this.playback.value;
    const view = this.view.value;
    if (this.follow.value === 'fixed') return;
    if (this.follow.value === 'centre') {
      this.view.value = viewport.centre(view, at, this.durationNs);
      return;
    }
    if (at >= view.startNs && at <= viewport.endNs(view)) return;
    const share = backward ? 0.95 : 0.05;
    this.view.value = viewport.clamp(
        {...view, startNs: at - share * view.nsPerPx * view.widthPx},
        this.durationNs);
  }

  // What the focused lane limits steps to.
  private focusLimit(): StepLimit {
    return limitOf(this.focusedLane());
  }
  // In the focused row, or of the whole machine.
  async step(forward: boolean, machine: boolean): Promise<void> {
    this.playback.value = {...this.playback.value, playing: false};
    const kind = this.stepKind.value;
    await this.guard(async () => {
      const found = await stepOnce(
          this.client, this.names, this.playback.value.at, forward, kind, machine ? {} : this.focusLimit());
      if (found === null) {
        this.announcement.value = `No ${forward ? 'later' : 'earlier'} ${stepName(kind)}`;
        return;
      }
      const view = this.view.value;
      const outside = this.follow.value !== 'fixed' && (found.t < view.startNs || found.t > viewport.endNs(view));
      if (outside) this.onJump();
      this.movePlayhead(found.t);
      this.announcement.value = found.says;
      if (outside) {
        this.view.value = viewport.centre(view, found.t, this.durationNs);
      }
    });
  }
  // Where a replay from boundary to boundary goes on.
  stepsAfter(at: number, forward: boolean, count: number): Promise<number[]> {
    return stepTimes(this.client, at, forward, this.stepKind.peek(), this.focusLimit(), count);
  }
  eventsPerSecond(): number {
    const wanted = EVENTS_PER_SECOND * this.playback.value.speed;
    return this.reducedMotion.value ? Math.min(wanted, CALM_FRAMES_PER_SECOND) : wanted;
  }

  run(command: string, pointerX: number|null): void {
    runCommand(this, command, pointerX);
  }

  // Waits for a server of the same trace; what is shown stays, and what is
  // missing is requested again.
  private async reconnect(): Promise<void> {
    if (this.lost.value) return;
    this.lost.value = true;
    for (;;) {
      await new Promise((done) => setTimeout(done, RECONNECT_MS));
      try {
        const {index} = await this.client.growth();
        if (index !== this.client.index) {
          location.reload();
          return;
        }
        this.lost.value = false;
        return;
      } catch {
        // Not yet.
      }
    }
  }

  // Runs a request; a failure reaches the error panel, an abort does not.
  async guard(work: () => Promise<void>): Promise<void> {
    ++this.pending;
    try {
      await work();
    } catch (error) {
      if (!isAbort(error) && !isLost(error)) {
        this.error.value = error instanceof Error ? error.message : String(error);
      }
    } finally {
      --this.pending;
    }
  }
}
