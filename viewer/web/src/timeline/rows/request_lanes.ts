// The lanes of requests: of the one that is followed, and of the longest of the
// window. Pure.

import type {RequestRow, RequestSpan} from '../../api/requests_schema';
import {clean} from '../../core/names';
import {formatCount, formatDuration} from '../../core/units';
import {HEADING, type NewLane, PAD, type PlacedSpan, SEGMENT} from './lane_parts';

export interface RequestRows {
  join: string; // the value that joins their calls
  rows: readonly RequestRow[]; // the longest of the window
  total: number; // in the window
  chosen: RequestRow|null; // is followed
}

export const MORE_REQUESTS = 'morerequests'; // the lane that opens more of them
export const MORE = 20; // so many
const LANE_PX = 130; // a lane for so much height
const FEWEST = 2;
const MOST_LINES = 4;

// How many lanes they have by themselves in rows of this height.
export function usualRequests(height: number): number {
  return Math.max(Math.round(height / LANE_PX), FEWEST);
}

export function placeSpans(spans: readonly RequestSpan[]): PlacedSpan[] {
  const ends: number[] = [];
  return spans.map((span) => {
    const free = ends.findIndex((end) => end <= span.begin_ns);
    const line = free >= 0 ? free : Math.min(ends.length, MOST_LINES - 1);
    ends[line] = Math.max(ends[line] ?? 0, span.end_ns);
    return {span, line};
  });
}

const OF_NONE = {owner: -1, process: -1, rows: [], toggle: null};

export function requestLane(row: RequestRow, followed: boolean): NewLane {
  const placed = placeSpans(row.spans);
  const lines = placed.reduce((most, {line}) => Math.max(most, line + 1), 1);
  return {
    ...OF_NONE, id: `request${row.request}`, kind: 'request', label: clean(row.id), owner: row.request,
    detail: `${formatDuration(row.duration_ns)}${row.lost ? ', parts may be lost' : ''}`,
    height: lines * SEGMENT + PAD, request: {row, placed, followed}, ...(followed ? {stuck: true} : {}),
  };
}

// All but the one that is followed, which has a lane at the top.
export function addRequestLanes({join, rows, total, chosen}: RequestRows, open: boolean, add: (lane: NewLane) => void): void {
  add({...OF_NONE, id: 'requests', kind: 'request', label: 'Requests', detail: `${formatCount(total)} by ${clean(join)}`, height: HEADING, fold: {of: 'requests', open}});
  if (!open) return;
  for (const row of rows) if (row.request !== chosen?.request) add(requestLane(row, false));
  const left = total - rows.length;
  if (left > 0) add({...OF_NONE, id: MORE_REQUESTS, kind: 'fold', label: `${formatCount(left)} shorter`, detail: '', height: HEADING});
}
