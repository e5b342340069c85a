// Pages in step: the one that was moved last leads.

import type {Span} from '../core/range';
import type {SharedClock} from './shared_clock';
import type {Stage} from './stage';

export interface InStep {
  readonly stage: Stage;
  clock: SharedClock;
}

export class Step {
  private leader: InStep;
  private moving = true;

  // `extent`: the shared time that all may show, and show first; null: each that of
  // its trace.
  constructor(private readonly pages: readonly [InStep, ...InStep[]], private readonly extent: Span|null = null) {
    this.leader = pages[0];
    for (const page of pages) page.stage.watch((longer) => this.onMove(longer ? this.leader : page, longer));
    this.spread();
    const {stage, clock} = this.leader;
    if (extent) stage.follow({...stage.position(), from: clock.own(extent.from), to: clock.own(extent.to)});
    this.moving = false;
    this.onMove(this.leader, true);
  }

  // Goes to where the time that they share begins.
  align(clocks: readonly SharedClock[]): void {
    for (const [i, page] of this.pages.entries()) page.clock = clocks[i] ?? page.clock;
    this.moving = true;
    const [{stage, clock}] = this.pages;
    const {at, from, to} = stage.position();
    const begin = clock.own(0);
    stage.follow({at: begin, from: from - at + begin, to: to - at + begin, runBegin: 0});
    this.moving = false;
    this.onMove(this.pages[0], true);
  }

  private spread(): void {
    if (this.extent) for (const {stage, clock} of this.pages) stage.spread(clock.own(this.extent.from), clock.own(this.extent.to));
  }
  // `again`: what the leader has loaded so far is of other instants.
  private onMove(leads: InStep, again: boolean): void {
    if (this.moving) return;
    this.moving = true;
    const others = this.pages.filter((page) => page !== leads).map(
        ({stage, clock}) => ({stage, there: (at: number): number => clock.own(leads.clock.shared(at))}));
    if (again) this.spread();
    if (again || leads !== this.leader) {
      this.leader = leads;
      for (const {stage} of others) stage.beLed();
      leads.stage.lead(others);
    }
    const {at, from, to, runBegin} = leads.stage.position();
    for (const {stage, there} of others) {
      stage.follow({at: there(at), from: there(from), to: there(to), runBegin: runBegin === 0 ? 0 : there(runBegin)});
    }
    leads.stage.load();
    this.moving = false;
  }
}
