// What is at a place of a request's lane.

import type {RequestSpan} from '../api/requests_schema';
import {clean, hookName, type Names, threadName} from '../core/names';
import {formatCount, formatDuration} from '../core/units';
import {PAD, type RequestLane, SEGMENT} from './rows/lane_parts';

const NEAR_PX = 3;

// The call there, or near it. `y`: from the lane's top.
export function requestSpanAt({placed}: RequestLane, {at, y}: {at: number; y: number}, nsPerPx: number): RequestSpan|null {
  const slack = NEAR_PX * nsPerPx;
  const line = Math.max(Math.floor((y - PAD / 2) / SEGMENT), 0);
  const near = placed.filter((one) => one.line === line && one.span.begin_ns - slack <= at && at <= one.span.end_ns + slack);
  return near.sort((a, b) => distance(a.span, at) - distance(b.span, at))[0]?.span ?? null;
}
function distance({begin_ns: from, end_ns: to}: RequestSpan, at: number): number {
  return Math.max(from - at, at - to, 0);
}

export function requestTip(names: Names, {row}: RequestLane, span: RequestSpan|null): {title: string; lines: string[]} {
  const times = (of: {on_cpu_ns: number|null; wait_ns: number|null; blocked_ns: number|null}): string[] => [
    ([['on CPU', of.on_cpu_ns], ['waits for a CPU', of.wait_ns], ['blocked', of.blocked_ns]] as const)
        .flatMap(([word, ns]) => ns === null ? [] : [`${word} ${formatDuration(ns)}`]).join(', '),
  ].filter((text) => text !== '');
  const whole = `request ${clean(row.id)}: ${formatDuration(row.duration_ns)}, ${formatCount(row.calls)} ${row.calls === 1 ? 'call' : 'calls'} in ${
      formatCount(row.threads)} ${row.threads === 1 ? 'thread' : 'threads'}`;
  const lost = row.lost ? ['records were lost meanwhile: it may have had more calls'] : [];
  if (span === null) return {title: whole, lines: [...times(row), `${formatDuration(row.between_ns)} between its calls`, ...lost]};
  return {
    title: `${hookName(names, span.hook)}${span.point ? '' : ` ${formatDuration(span.end_ns - span.begin_ns)}`}`,
    lines: [threadName(names, span.thread), ...(span.point ? [] : times(span)), ...(span.exact ? [] : ['its end, or its times, are not exact']), whole, ...lost],
  };
}
