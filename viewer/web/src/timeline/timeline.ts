// The timeline: its rows, the rare events above them, and the commands on both.

import {type Signal, signal} from '@preact/signals-core';

import type {RequestRow, RequestSpan} from '../api/requests_schema';
import {type Field, numberIn} from '../core/address';
import type {Core} from '../core/core';
import {endNs} from '../core/viewport';
import {frame} from './framing';
import {HoverWait} from './hover_wait';
import type {Flag} from './paint/flag_painter';
import type {Places} from './paint/minimap_painter';
import {RareEvents} from './rare/rare_events';
import {LaneCommands} from './rows/lane_commands';
import {moveFocus, moveProcess} from './rows/row_focus';
import {RowTree} from './rows/row_tree';
import {Rows} from './rows/rows';
import {SampleStacks} from './sample_stacks';
import {SampleStrips} from './sample_strips';
import {SelectedValues} from './selected_values';
import {TreeStrips} from './tree_strips';

export class Timeline {
  readonly rows: Rows;
  readonly rowTree: RowTree;
  readonly commands: LaneCommands;
  readonly rare: RareEvents;
  readonly hoverWait: HoverWait;
  readonly selectedValues: SelectedValues;
  readonly samples: SampleStrips;
  readonly stacks: SampleStacks;
  readonly trees: TreeStrips;
  // Where in the trace the hits of the find box are.
  readonly places: Signal<Places|null> = signal(null);
  // What the user marked in time.
  readonly flags: Signal<readonly Flag[]> = signal([]);
  // A request's lane was clicked, at a call of it if there is one.
  onRequest: (row: RequestRow, span: RequestSpan|null) => void = () => undefined;
  // Scales of the counter strips in sight, per second, by row.
  readonly counterTops: Signal<ReadonlyMap<number, number>> = signal(new Map());

  constructor(readonly core: Core) {
    this.rows = new Rows(core);
    this.rowTree = new RowTree(core, this.rows);
    this.commands = new LaneCommands(core, this.rows, this.rowTree);
    this.rare = new RareEvents(core, this.commands);
    this.hoverWait = new HoverWait(core);
    this.selectedValues = new SelectedValues(core);
    this.samples = new SampleStrips(core, this.rows);
    this.stacks = new SampleStacks(core, this.rows);
    this.trees = new TreeStrips(core, this.rows);
    core.address.register(...this.rows.fields(), ...this.viewFields(), this.rare.field());
    this.registerWindow();
    this.registerRows();
  }

  start(): void {
    this.rowTree.start();
    this.rare.start();
    this.selectedValues.start();
    this.samples.start();
    this.stacks.start();
    this.trees.start();
  }

  private viewFields(): Field[] {
    const {view} = this.core;
    return [
      {
        key: 'from',
        read: (text, _, all) => {
          const [from, to] = [numberIn(text), numberIn(all.get('to'))];
          if (from !== null && to !== null && from < to) view.setWindow(from, to);
        },
        write: () => String(Number(view.viewport.value.startNs.toFixed(2))),
      },
      {key: 'to', read: () => undefined, write: () => String(Number(endNs(view.viewport.value).toFixed(2)))},
      {
        key: 'y',
        read: (text, first) => {
          view.scrollY.value = numberIn(text, 0) ?? 0;
          if (!first) view.scroll(0); // the rows are there: to the last one at most
        },
        write: () => String(Math.round(view.scrollY.value)),
      },
    ];
  }
  private registerWindow(): void {
    const {view, range, selection, playback, commands} = this.core;
    const width = (): number => view.viewport.value.widthPx;
    const span = (): number => view.viewport.value.nsPerPx * width();
    // The far edge moves; the near one stays at the playhead's old place.
    const extend = (delta: number): void => {
      const at = playback.play.value.at;
      const {from, to} = range.chosen.value ?? {from: at, to: at};
      if (delta > 0 || range.chosen.value && to > at) selection.selectRange(from, to + delta);
      else selection.selectRange(from + delta, to);
    };
    commands.register({
      'zoom-in': (x) => view.zoom(x ?? width() / 2, 1 / 1.5),
      'zoom-out': (x) => view.zoom(x ?? width() / 2, 1.5),
      'pan-left': () => view.pan(-width() / 8),
      'pan-right': () => view.pan(width() / 8),
      fit: () => view.fitAll(),
      frame: () => frame(this.core),
      start: () => {
        view.onJump();
        playback.moveTo(playback.limits.from);
      },
      end: () => {
        view.onJump();
        playback.moveTo(playback.limits.to);
      },
      'nudge-left': () => playback.moveTo(playback.play.value.at - span() / 100),
      'nudge-right': () => playback.moveTo(playback.play.value.at + span() / 100),
      'select-left': () => extend(-span() / 50),
      'select-right': () => extend(span() / 50),
    });
  }
  private registerRows(): void {
    const {core, rows, commands} = this;
    const ofProcess = (work: (process: number) => void) => (): void => {
      const process = commands.processMeant();
      if (process !== null) work(process);
    };
    core.commands.register({
      'row-up': () => moveFocus(core, rows, -1),
      'row-down': () => moveFocus(core, rows, 1),
      'row-first': () => moveFocus(core, rows, -Infinity),
      'row-last': () => moveFocus(core, rows, Infinity),
      'row-toggle': () => {
        const lane = rows.focusedLane();
        if (lane) commands.toggleLane(lane);
      },
      stacks: () => this.stacks.toggle(),
      lift: () => moveProcess(core, rows, commands, -1),
      lower: () => moveProcess(core, rows, commands, 1),
      'rank-rows': () => {
        this.rowTree.rankAnew();
        core.announce('Rows by CPU time in view');
      },
      pin: ofProcess((process) => commands.togglePin(process)),
      hide: ofProcess((process) => commands.hide(process)),
    });
  }
}
