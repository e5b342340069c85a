// The page's address when another index takes the shown one's place.

import type {Growth} from '../api/schema';
import {fragmentOf} from '../core/address';
import type {Core} from '../core/core';
import {endNs} from '../core/viewport';

// What a page that follows a recording shows of it at first.
const LIVE_WINDOW_NS = 10e9;

// The same in an index of more of the trace: what shows all of it, does so
// again. Its rows have other numbers.
export function addressWhenLonger({address, view, durationNs}: Core): string {
  const parts = address.parts();
  parts.delete('item');
  const shown = view.viewport.value;
  if (shown.startNs <= 0 && endNs(shown) >= durationNs) {
    parts.delete('from');
    parts.delete('to');
  }
  return fragmentOf(parts);
}

// A page that shows the end of a recording goes on to do so.
export function isAtEnd({playback, view, durationNs}: Core): boolean {
  return playback.play.value.at >= durationNs - 1 && endNs(view.viewport.value) >= durationNs - 1;
}

// Where a page begins that has no address of its own.
export function firstAddress(growth: Growth): string {
  if (!growth.live) return '';
  const to = growth.duration_ns;
  return `#from=${Math.max(to - LIVE_WINDOW_NS, 0)}&to=${to}&t=${to}`;
}

// The address of the same page `until` after the recording's begin. All of it
// stays all, from the first seconds on.
export function addressAtEnd({address, view, durationNs}: Core, until: number): string {
  const parts = address.parts();
  parts.delete('item');
  const shown = view.viewport.value;
  const all = shown.startNs <= 0;
  const span = all && durationNs <= LIVE_WINDOW_NS ? LIVE_WINDOW_NS : endNs(shown) - shown.startNs;
  parts.set('from', String(all && durationNs > LIVE_WINDOW_NS ? 0 : Math.max(until - span, 0)));
  parts.set('to', String(until));
  parts.set('t', String(until));
  return fragmentOf(parts);
}
