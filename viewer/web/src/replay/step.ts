// Two stages in step: the one that was moved last leads. `begins` are the same
// instant.

import type {Stage} from './stage';

export class Step<Frame extends Stage> {
  private begins: readonly [number, number] = [0, 0];
  private leader: 0|1 = 0;
  private moving = true;

  constructor(readonly stages: readonly [Frame, Frame]) {
    for (const side of [0, 1] as const) {
      stages[side].watch((longer) => this.onMove(longer ? this.leader : side, longer));
    }
    this.moving = false;
    this.onMove(0, true);
  }

  // Goes there.
  align(begins: readonly [number, number]): void {
    this.begins = begins;
    this.moving = true;
    const [stage] = this.stages;
    const {at, from, to} = stage.position();
    const [begin] = begins;
    stage.follow({at: begin, from: from - at + begin, to: to - at + begin, runBegin: 0});
    this.moving = false;
    this.onMove(0, true);
  }
  instantOf(side: 0|1): number {
    return this.begins[side];
  }

  // `again`: what the leader has loaded so far is of other instants.
  private onMove(side: 0|1, again: boolean): void {
    if (this.moving) return;
    this.moving = true;
    const other = side ? 0 : 1;
    const [leads, follows] = [this.stages[side], this.stages[other]];
    const shift = this.begins[other] - this.begins[side];
    if (again || side !== this.leader) {
      this.leader = side;
      follows.beLed();
      leads.lead(follows, shift);
    }
    const {at, from, to, runBegin} = leads.position();
    follows.follow({at: at + shift, from: from + shift, to: to + shift, runBegin: runBegin === 0 ? 0 : runBegin + shift});
    leads.load();
    this.moving = false;
  }
}
