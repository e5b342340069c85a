// Amounts that samples estimate, or sum up exactly, as the report prints them.

import type {SampledAll} from '../api/schema';
import {formatEventCount} from '../core/units';
import {limitsText} from '../core/limits';

export interface Estimate {
  hits: number;
  value: number;
  lo: number;
  hi: number;
}
// All samples of the event: what its amounts are shares of, and whether they
// are sums.
export type Whole = Pick<SampledAll, 'event'|'value'|'exact'>;

const NONE = '\u2013';

const sign = ({exact}: Whole): string => exact ? '' : '~';

// "~513 ms"; "513 ms" of a sum.
export function estimateText(all: Whole, {hits, value}: Estimate): string {
  return hits === 0 ? NONE : `${sign(all)}${formatEventCount(all.event, value)}`;
}
export function estimateLimits({event, exact}: Whole, {hits, lo, hi}: Estimate): string {
  return hits === 0 || exact ? '' : limitsText({amount: [lo, hi]}, 'amount', (value) => formatEventCount(event, value));
}

export function wholeOf(event: string, all: readonly SampledAll[]): Whole {
  return all.find((one) => one.event === event) ?? {event, value: 0, exact: false};
}
// "~31.2 %", "[29.1, 33.4]".
export function shareText({hits, value}: Estimate, all: Whole): string {
  return hits === 0 || all.value === 0 ? NONE : `${sign(all)}${(100 * value / all.value).toFixed(1)}\u2009%`;
}
export function shareLimits({hits, lo, hi}: Estimate, {value: all, exact}: Whole): string {
  return hits === 0 || all === 0 || exact ? '' : `[${(100 * lo / all).toFixed(1)}, ${(100 * Math.min(hi / all, 1)).toFixed(1)}]`;
}
