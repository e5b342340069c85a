// The window of the timeline: which time, and how far its rows are scrolled.

import {type Signal, signal} from '@preact/signals-core';

import type {Span} from './range';
import * as viewport from './viewport';
import type {Viewport} from './viewport';

export class View {
  readonly viewport: Signal<Viewport>;
  readonly height = signal(0);
  readonly scrollY = signal(0);
  contentHeight: () => number = () => 0; // of all rows
  // Called before the view jumps: Back returns to what is shown now.
  onJump: () => void = () => undefined;
  limits: Span; // what it may show: the trace, or the time of all that are in step

  constructor(private readonly durationNs: number) {
    this.limits = {from: 0, to: durationNs};
    this.viewport = signal(viewport.clamp({startNs: 0, nsPerPx: durationNs / 1000, widthPx: 1000}, durationNs));
  }

  resize(widthPx: number, heightPx: number): void {
    const view = this.viewport.value;
    this.height.value = heightPx;
    if (widthPx <= 0 || widthPx === view.widthPx) return;
    const span = view.nsPerPx * view.widthPx;
    this.viewport.value = this.clamped({startNs: view.startNs, nsPerPx: span / widthPx, widthPx});
  }
  zoom(x: number, factor: number): void {
    this.viewport.value = this.within((view, length) => viewport.zoomAbout(view, x, factor, length));
  }
  pan(deltaPx: number): void {
    this.viewport.value = this.within((view, length) => viewport.panBy(view, deltaPx, length));
  }
  scroll(deltaPx: number): void {
    const most = Math.max(0, this.contentHeight() - this.height.value);
    this.scrollY.value = Math.min(Math.max(this.scrollY.value + deltaPx, 0), most);
  }
  show(from: number, to: number): void {
    this.onJump();
    this.viewport.value = this.within((view, length) => viewport.show(view, from - this.limits.from, to - this.limits.from, length));
  }
  setWindow(from: number, to: number): void {
    const view = this.viewport.value;
    this.viewport.value = this.clamped({...view, startNs: from, nsPerPx: (to - from) / view.widthPx});
  }
  // As the page beside this one has it: it may go beyond the trace.
  place(from: number, to: number): void {
    const view = this.viewport.value;
    this.viewport.value = {...view, startNs: from, nsPerPx: (to - from) / view.widthPx};
  }
  fitAll(): void {
    this.onJump();
    this.viewport.value = this.within((view, length) => viewport.fit(length, view.widthPx));
  }
  centre(at: number): void {
    this.viewport.value = this.centred(at);
  }
  centred(at: number): Viewport {
    return this.within((view, length) => viewport.centre(view, at - this.limits.from, length));
  }
  clamped(wanted: Viewport): Viewport {
    return this.within(viewport.clamp, wanted);
  }
  private within(change: (view: Viewport, lengthNs: number) => Viewport, view = this.viewport.value): Viewport {
    const {from, to} = this.limits;
    const changed = change({...view, startNs: view.startNs - from}, to - from);
    return {...changed, startNs: changed.startNs + from};
  }
  holds(at: number): boolean {
    const view = this.viewport.value;
    return at >= view.startNs && at <= viewport.endNs(view);
  }
  // The time in sight, inside the trace.
  inSight(): {from: number; to: number} {
    const view = this.viewport.peek();
    const from = Math.min(Math.max(view.startNs, 0), this.durationNs - 1);
    return {from, to: Math.max(Math.min(viewport.endNs(view), this.durationNs), from + 1)};
  }
}
