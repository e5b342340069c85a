// Trees of rules over the time in sight, as `report --tree NAME --by time` has
// them: requested when the view rests, drawn where it was taken until then.

import {effect, type Signal, signal} from '@preact/signals-core';

import type {TreeAnswer, TreeOverTime} from '../api/tables_schema';
import type {Core} from '../core/core';
import {Latest} from '../core/requests';
import type {TreeStrip} from './paint/tree_painter';
import type {Lane, SubRow} from './rows/lane_parts';
import type {Rows} from './rows/rows';

const REST_MS = 300;
const PAD: Pick<SubRow, 'y'|'height'> = {y: 3, height: -6};

export class TreeStrips {
  readonly shown: Signal<TreeAnswer|null> = signal(null);
  private timer: ReturnType<typeof setTimeout>|undefined;
  private hasNone = false; // the trace has the events of no tree
  private readonly latest: Latest;

  constructor(private readonly core: Core, private readonly rows: Rows) {
    this.latest = new Latest(core.requests);
  }

  start(): void {
    const {core} = this;
    if (!core.client.backend.hasTrace || !core.extent.growth.peek().whole || core.names.events.length === 0) return;
    effect(() => {
      void [core.view.viewport.value, core.view.scrollY.value];
      clearTimeout(this.timer);
      if (core.requests.lost.value || this.hasNone) return;
      this.timer = setTimeout(() => void this.load(), REST_MS);
    });
  }

  inSight(): TreeStrip[] {
    return this.rows.inSight().flatMap((lane) => {
      const tree = this.of(lane);
      return tree ? [{...this.rows.extentOf(lane, {y: PAD.y, height: lane.height + PAD.height}), tree}] : [];
    });
  }
  of(lane: Lane): TreeOverTime|undefined {
    return lane.kind === 'tree' ? this.shown.peek()?.trees.find(({name}) => lane.id === `tree-${name}`) : undefined;
  }

  at(lane: Lane, time: number): TreeOverTime['intervals'][number]|undefined {
    return this.of(lane)?.intervals.find(({from, to}) => from <= time && time < to);
  }

  private async load(): Promise<void> {
    // Once for their names.
    const lanes = this.rows.inSight();
    if (this.shown.peek() && !lanes.some(({kind}) => kind === 'tree')) return;
    const {from, to} = this.core.view.inSight();
    await this.latest.run(async (signal) => {
      const answer = await this.core.client.trees(from, to, signal);
      this.hasNone = answer.trees.length === 0;
      this.shown.value = answer;
      const names = answer.trees.map(({name, title}) => ({name, title}));
      if (names.length !== this.rows.trees.peek().length) this.rows.trees.value = names;
    });
  }
}
