// Pan and zoom algebra of the time axis. Pure.

export interface Viewport {
  readonly startNs: number; // may be before the trace while it is centred
  readonly nsPerPx: number;
  readonly widthPx: number;
}

export const MIN_NS_PER_PX = 0.02; // 50 px for a nanosecond
// The share of the width by which the trace may be moved out of view.
const OVERSCROLL = 0.5;

export function endNs(view: Viewport): number {
  return view.startNs + view.nsPerPx * view.widthPx;
}

export function toPx(view: Viewport, at: number): number {
  return (at - view.startNs) / view.nsPerPx;
}

export function toNs(view: Viewport, x: number): number {
  return view.startNs + x * view.nsPerPx;
}

export function fit(durationNs: number, widthPx: number): Viewport {
  const width = Math.max(1, widthPx);
  return {startNs: 0, nsPerPx: Math.max(durationNs, 1) / width, widthPx: width};
}

// Keeps the zoom within the trace and a part of the trace in view.
export function clamp(view: Viewport, durationNs: number): Viewport {
  const whole = Math.max(durationNs, 1) / view.widthPx;
  const nsPerPx = Math.min(Math.max(view.nsPerPx, MIN_NS_PER_PX), whole);
  const span = nsPerPx * view.widthPx;
  const slack = nsPerPx >= whole ? 0 : span * OVERSCROLL;
  const startNs = Math.min(
      Math.max(view.startNs, -slack), Math.max(durationNs - span, 0) + slack);
  return {startNs, nsPerPx, widthPx: view.widthPx};
}

// The instant under `x` stays under `x`.
export function zoomAbout(
    view: Viewport, x: number, factor: number, durationNs: number): Viewport {
  const whole = Math.max(durationNs, 1) / view.widthPx;
  const nsPerPx =
      Math.min(Math.max(view.nsPerPx * factor, MIN_NS_PER_PX), whole);
  const anchor = toNs(view, x);
  return clamp(
      {startNs: anchor - x * nsPerPx, nsPerPx, widthPx: view.widthPx},
      durationNs);
}

export function panBy(
    view: Viewport, deltaPx: number, durationNs: number): Viewport {
  return clamp(
      {...view, startNs: view.startNs + deltaPx * view.nsPerPx}, durationNs);
}

export function show(
    view: Viewport, fromNs: number, toNsValue: number,
    durationNs: number): Viewport {
  const span = Math.max(toNsValue - fromNs, view.widthPx * MIN_NS_PER_PX);
  const margin = span * 0.05;
  return clamp(
      {
        startNs: fromNs - margin,
        nsPerPx: (span + 2 * margin) / view.widthPx,
        widthPx: view.widthPx,
      },
      durationNs);
}

export function centre(
    view: Viewport, at: number, durationNs: number): Viewport {
  return clamp(
      {...view, startNs: at - view.nsPerPx * view.widthPx / 2}, durationNs);
}

// Level whose columns are one to two pixels wide, so that none is skipped when
// it is drawn. `fine`: half to one pixel wide; what is drawn is their mean.
export function levelFor(nsPerPx: number, maxLevel: number, fine = false): number {
  const exact = Math.log2(Math.max(nsPerPx, 1e-9));
  return Math.min(Math.max(fine ? Math.floor(exact) : Math.ceil(exact), 0), maxLevel);
}

// Numbers of the tiles that touch [fromNs, toNs) of the trace.
export function tileSpan(
    fromNs: number, toNsValue: number, level: number, columns: number,
    durationNs: number): {first: number; last: number} {
  const width = columns * 2 ** level;
  const top = Math.max(0, Math.ceil(Math.max(durationNs, 1) / width) - 1);
  return {
    first: Math.min(Math.max(Math.floor(fromNs / width), 0), top),
    last: Math.min(Math.max(Math.ceil(toNsValue / width) - 1, 0), top),
  };
}

// Distance between ruler marks: 1, 2 or 5 times a power of ten, at least
// `minPx` apart.
export function rulerStep(nsPerPx: number, minPx: number): number {
  const least = Math.max(nsPerPx * minPx, 1);
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5]) {
    if (factor * power >= least) return factor * power;
  }
  return 10 * power;
}
