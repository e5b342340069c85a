// Amounts that samples estimate, as the report prints them.

import type {SampledAll} from '../api/schema';
import {formatEventCount} from '../units';
import {limitsText} from './limits';

export interface Estimate {
  hits: number;
  value: number;
  lo: number;
  hi: number;
}

const NONE = '\u2013';

// "~513 ms".
export function estimateText(event: string, {hits, value}: Estimate): string {
  return hits === 0 ? NONE : `~${formatEventCount(event, value)}`;
}
export function estimateLimits(event: string, {hits, lo, hi}: Estimate): string {
  return hits === 0 ? '' : limitsText({amount: [lo, hi]}, 'amount', (value) => formatEventCount(event, value));
}

// What the shares of an event's amounts are of.
export function wholeOf(event: string, all: readonly SampledAll[]): number {
  return all.find((one) => one.event === event)?.value ?? 0;
}
// "~31.2 %", "[29.1, 33.4]".
export function shareText({hits, value}: Estimate, all: number): string {
  return hits === 0 || all === 0 ? NONE : `~${(100 * value / all).toFixed(1)}\u2009%`;
}
export function shareLimits({hits, lo, hi}: Estimate, all: number): string {
  return hits === 0 || all === 0 ? '' : `[${(100 * lo / all).toFixed(1)}, ${(100 * Math.min(hi / all, 1)).toFixed(1)}]`;
}
