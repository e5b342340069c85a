// The sampled stacks of the threads in sight, as a flame in time: requested when
// the view rests, while they are shown.

import {effect, type Signal, signal} from '@preact/signals-core';

import type {Core} from '../core/core';
import {Latest} from '../core/requests';
import {clean} from '../core/names';
import type {Theme} from '../core/palette';
import type {Viewport} from '../core/viewport';
import type {Brush} from './paint/brush';
import {paintStacks, type StackMark} from './paint/stack_painter';
import {type StackBox, stackBoxes} from './paint/stack_boxes';
import {STACK_ROW_PX} from './rows/lane_parts';
import type {Rows} from './rows/rows';

const REST_MS = 200;
const MOST_THREADS = 64; // of a request

interface Stacks {
  functions: readonly string[];
  threads: ReadonlyMap<number, StackBox[]|null>; // null: too many samples
}

export class SampleStacks {
  readonly shown: Signal<Stacks|null> = signal(null);
  private timer: ReturnType<typeof setTimeout>|undefined;
  private readonly latest: Latest;

  constructor(private readonly core: Core, private readonly rows: Rows) {
    this.latest = new Latest(core.requests);
  }

  start(): void {
    const {core, rows} = this;
    effect(() => {
      void [core.view.viewport.value, core.view.scrollY.value, core.view.height.value];
      const wanted = rows.lanes.value.some(({stacks}) => stacks);
      clearTimeout(this.timer);
      if (!wanted) this.shown.value = null;
      if (core.requests.lost.value || !wanted) return;
      this.timer = setTimeout(() => void this.load(), REST_MS);
    });
  }
  toggle(): void {
    const {core, rows} = this;
    if (!core.client.backend.hasTrace) return core.announce('An exported page has no single samples');
    rows.change({stacks: !rows.tree.value.stacks});
    core.view.scroll(0);
    core.announce(rows.tree.value.stacks ? 'Sampled stacks under their threads' : 'No sampled stacks');
  }

  inSight(): StackMark[] {
    const shown = this.shown.peek();
    if (!shown) return [];
    return this.rows.inSight().flatMap((lane) => {
      const boxes = lane.kind === 'thread' ? shown.threads.get(lane.owner) : undefined;
      if (!lane.stacks || boxes === undefined) return [];
      return [{y: this.rows.topOf(lane) + lane.stacks.y, boxes, functions: shown.functions}];
    });
  }
  paint(context: Brush, view: Viewport, theme: Theme): void {
    paintStacks(context, this.inSight(), view, theme, this.rows.stuckPx.peek());
  }
  // The box at a place of the rows.
  at(y: number, ns: number): {box: StackBox; name: string}|null {
    const lane = this.rows.laneAt(y);
    const shown = this.shown.peek();
    if (!shown || !lane?.stacks || lane.kind !== 'thread') return null;
    const depth = Math.floor((y - this.rows.topOf(lane) - lane.stacks.y) / STACK_ROW_PX);
    const box = shown.threads.get(lane.owner)?.find((one) => one.depth === depth && one.from <= ns && ns < one.to);
    return box ? {box, name: clean(shown.functions[box.name] ?? '')} : null;
  }

  private async load(): Promise<void> {
    const threads = this.rows.inSight().filter(({stacks}) => stacks).map(({owner}) => owner).slice(0, MOST_THREADS);
    const {from, to} = this.core.view.inSight();
    if (threads.length === 0) return this.latest.end();
    await this.latest.run(async (signal) => {
      const answer = await this.core.client.sampleStacks(threads, from, to, signal);
      this.shown.value = answer.threads && {
        functions: answer.functions,
        threads: new Map(answer.threads.map(({thread, samples}) => [thread, samples && stackBoxes(samples, to)])),
      };
      if (answer.threads === null) this.core.announce('The trace has no samples, or too many');
    });
  }
}
