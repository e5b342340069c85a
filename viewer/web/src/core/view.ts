// The window of the timeline: which time, and how far its rows are scrolled.

import {type Signal, signal} from '@preact/signals-core';

import * as viewport from './viewport';
import type {Viewport} from './viewport';

export class View {
  readonly viewport: Signal<Viewport>;
  readonly height = signal(0);
  readonly scrollY = signal(0);
  contentHeight: () => number = () => 0; // of all rows
  // Called before the view jumps: Back returns to what is shown now.
  onJump: () => void = () => undefined;

  constructor(private readonly durationNs: number) {
    this.viewport = signal(viewport.clamp({startNs: 0, nsPerPx: durationNs / 1000, widthPx: 1000}, durationNs));
  }

  resize(widthPx: number, heightPx: number): void {
    const view = this.viewport.value;
    this.height.value = heightPx;
    if (widthPx <= 0 || widthPx === view.widthPx) return;
    const span = view.nsPerPx * view.widthPx;
    this.viewport.value = viewport.clamp({startNs: view.startNs, nsPerPx: span / widthPx, widthPx}, this.durationNs);
  }
  zoom(x: number, factor: number): void {
    this.viewport.value = viewport.zoomAbout(this.viewport.value, x, factor, this.durationNs);
  }
  pan(deltaPx: number): void {
    this.viewport.value = viewport.panBy(this.viewport.value, deltaPx, this.durationNs);
  }
  scroll(deltaPx: number): void {
    const most = Math.max(0, this.contentHeight() - this.height.value);
    this.scrollY.value = Math.min(Math.max(this.scrollY.value + deltaPx, 0), most);
  }
  show(from: number, to: number): void {
    this.onJump();
    this.viewport.value = viewport.show(this.viewport.value, from, to, this.durationNs);
  }
  setWindow(from: number, to: number): void {
    const view = this.viewport.value;
    this.viewport.value = viewport.clamp({...view, startNs: from, nsPerPx: (to - from) / view.widthPx}, this.durationNs);
  }
  // As the page beside this one has it: it may go beyond the trace.
  place(from: number, to: number): void {
    const view = this.viewport.value;
    this.viewport.value = {...view, startNs: from, nsPerPx: (to - from) / view.widthPx};
  }
  fitAll(): void {
    this.onJump();
    this.viewport.value = viewport.fit(this.durationNs, this.viewport.value.widthPx);
  }
  centre(at: number): void {
    this.viewport.value = viewport.centre(this.viewport.value, at, this.durationNs);
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
