// The state of all views, as signals, and the commands that change it. Sends
// requests to the server; does not use the DOM. One instance per page.

import {computed, effect, type ReadonlySignal, type Signal, signal} from '@preact/signals-core';

import {type Client, isAbort, isLost} from '../api/client';
import type {Durations, Growth, TimedCall, WaitAnswer} from '../api/schema';
import type {Follow} from './follow';
import {LaneCommands} from '../timeline/rows/lane_commands';
import {type CounterChoice, type Lane, layOut, totalHeight} from '../timeline/rows/lanes';
import type {Names} from './names';
import {CallTree} from '../tables/call_tree';
import {runCommand} from './commands';
import {RangeComparison} from '../compare/comparison';
import {Functions} from '../code/functions';
import {FindPlaces} from '../find/find_places';
import type {ChosenItem} from '../timeline/framing';
import {HoverWait} from '../timeline/hover_wait';
import type {Playback} from './playback';
import {addressOf, restoreReplay, treeOf} from './page_address';
import {CLOSED_TREE, type Tree} from '../timeline/rows/process_lanes';
import {RowTree} from '../timeline/rows/row_tree';
import {PlayheadState} from '../replay/playhead_state';
import {RangeTables} from '../tables/range_tables';
import {RareEvents} from '../timeline/rare/rare_events';
import {SourceView} from '../code/source_view';
import {decodeHash} from './url_hash';
import type {StepChoice} from '../replay/stepping';
import {Transport} from '../replay/transport';
import {isTimeEvent} from './units';
import * as viewport from './viewport';
import type {Viewport} from './viewport';

export interface Selection {
  from: number;
  to: number;
}

const RECONNECT_MS = 1000;

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
  readonly safePalette = signal(false); // the one for colour-blind users
  readonly stepKind: Signal<StepChoice> = signal('any');
  readonly byEvents = signal(false); // it plays from boundary to boundary
  readonly follow: Signal<Follow> = signal('page');
  readonly counter: Signal<CounterChoice>;
  readonly highlight: Signal<number|null> = signal(null); // process
  readonly hover: Signal<Hover|null> = signal(null);
  readonly tables: RangeTables;
  readonly comparison: RangeComparison;
  readonly callTree: CallTree;
  readonly functions: Functions;
  readonly hoverWait: HoverWait;
  readonly rare: RareEvents;
  readonly findPlaces: FindPlaces;
  readonly panelOpen = signal(true);
  readonly panelHeight: Signal<number|null> = signal(null); // px; null: the usual
  readonly helpOpen = signal(false);
  readonly error: Signal<string|null> = signal(null);
  readonly lost = signal(false); // the server cannot be reached
  readonly isWhole: boolean; // shown is the whole trace, not its first part, nor a recording that goes on
  readonly isLive: boolean; // shown is a recording that goes on
  readonly extent: 'whole trace'|'so far'|'first part'|'part'; // what is shown
  goLive = false; // the user went to its end
  // How far the trace's index is, as the server said last.
  readonly growth: Signal<Growth>;
  readonly buildFailure = signal<string|null>(null); // why the whole trace will have no index
  readonly now: PlayheadState;
  readonly source: SourceView;
  readonly item: Signal<ChosenItem|null> = signal(null); // clicked
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
  readonly rows: LaneCommands;
  readonly transport: Transport;
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
  onPicture: (kind: 'png'|'svg') => void = () => undefined; // saves one of what is on screen
  onAppearance: (what: 'palette'|'theme') => void = () => undefined; // the next one
  pending = 0; // requests under way, for settled()

  constructor(readonly client: Client, readonly names: Names, growth: Growth, hash: string) {
    this.growth = signal(growth);
    this.isWhole = growth.whole;
    this.isLive = growth.live;
    this.extent = names.trace.part_from_ns !== undefined ? 'part' :
        this.isWhole ? 'whole trace' : this.isLive ? 'so far' : 'first part';
    this.durationNs = Math.max(names.trace.duration_ns, 1);
    this.tables = new RangeTables(this);
    this.comparison = new RangeComparison(this);
    this.callTree = new CallTree(this);
    this.functions = new Functions(this);
    this.hoverWait = new HoverWait(this);
    this.rare = new RareEvents(this);
    this.findPlaces = new FindPlaces(this);
    this.now = new PlayheadState(this);
    this.rowTree = new RowTree(this);
    this.rows = new LaneCommands(this);
    this.transport = new Transport(this);
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
    this.functions.thread.value = saved.thread ?? null;
    this.focus.value = saved.focus ?? null;
    this.filter.value = saved.filter ?? '';
    if (saved.selection) {
      this.selection.value = {from: saved.selection[0], to: saved.selection[1]};
    }
    this.item.value = saved.item ?? null;
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
    this.callTree.start();
    this.functions.start();
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
      void [this.safePalette.value, this.view.value, this.selection.value, this.playback.value, this.counter.value, this.scrollY.value,
            this.tree.value, this.highlight.value, this.focus.value, this.filter.value,
            this.comparison.before.value, this.tables.tab.value, this.stepKind.value, this.follow.value,
            this.loop.value, this.skipIdle.value, this.byEvents.value, this.rare.chosen.value, this.item.value, this.functions.thread.value];
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

  // Empty: all rows.
  setFilter(condition: string): void {
    this.tables.offset.value = 0;
    this.callTree.offset.value = 0;
    this.filter.value = condition;
  }

  select(a: number, b: number): void {
    const from = Math.max(0, Math.round(Math.min(a, b)));
    const to = Math.min(this.durationNs, Math.round(Math.max(a, b)));
    this.tables.offset.value = 0;
    this.callTree.offset.value = 0;
    this.item.value = null; // F frames what was selected last
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
    await this.loadDurations(process, hook);
  }
  // Again, after the range changed.
  async reloadDurations(): Promise<void> {
    const shown = this.durations.peek();
    if (shown) await this.loadDurations(shown.process, shown.hook);
  }
  private async loadDurations(process: number, hook: number): Promise<void> {
    const range = this.selection.peek() ?? {from: 0, to: this.durationNs + 1};
    await this.guard(async () => {
      const durations = await this.client.durations(process, hook, range.from, range.to);
      if (range !== (this.selection.peek() ?? range)) return; // a later request follows
      this.durations.value = durations;
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
    void this.rows.revealThread(call.thread);
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
