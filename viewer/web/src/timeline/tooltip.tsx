// What is under the pointer, as text.

import {LEAF_IDLE, LEAF_INFERRED, LEAF_OUTSIDE, NO_KEY, STATE_BLOCKED, STATE_UNKNOWN, STATE_WAITING, type WaitAnswer} from '../api/schema';
import {COUNTER_FLAGS, COUNTER_WORDS, sharesAt, statesAt, stripCount, threadsAt} from '../api/tile_decode';
import type {Core} from '../core/core';
import type {Timeline} from './timeline';
import type {Lane} from './rows/lanes';
import {clean, hookName, type Names, processName, processOf, threadName} from '../core/names';
import {toNs} from '../core/viewport';
import {css} from '../core/palette';
import {columnAt, itemNear} from './tiles/tile_lookup';
import {formatCount, formatDuration, formatEventRate, formatInstant, formatPercent} from '../core/units';
import type {TimelineEngine} from './timeline_engine';
import {useSignal} from '../core/use_signal';
import {waitParts, wakeUp} from './wait_text';

interface TipLine {
  title: string;
  swatch: string|null;
  lines: string[];
}

// Describes the item under the pointer as text, and the records lost then.
export function describe(core: Core, engine: TimelineEngine, x: number, y: number): TipLine|null {
  const tip = describeItem(core, engine, x, y);
  const at = toNs(core.view.viewport.peek(), x);
  const slack = 2 * core.view.viewport.peek().nsPerPx;
  const lost = engine.losses.find((loss) => loss.begin_ns - slack <= at && at <= loss.end_ns + slack);
  if (!lost) return tip;
  const count = lost.count > 0 ? formatCount(lost.count) : 'an unknown number of';
  const line = `${count} records lost ${lost.cpu >= 0 ? `on CPU ${lost.cpu}` : `of ${threadName(core.names, lost.thread)}`}: ${
      clean(lost.cause).replaceAll('_', ' ')}`;
  return tip ? {...tip, lines: [...tip.lines, line]} : {title: line, swatch: css(core.book.value.theme.loss), lines: []};
}

function describeItem(core: Core, engine: TimelineEngine, x: number, y: number): TipLine|null {
  const hit = engine.hit(x, y);
  if (!hit?.row || hit.at < 0 || hit.at > core.durationNs) return null;
  const {row, lane, at} = hit;
  const names = core.names;
  const tile = engine.tileAt(row, at);
  if (!tile) return null;
  const where = laneName(lane);
  if (tile.kind === 'counter') {
    const column = Math.floor((at - tile.beginNs) / tile.columnNs);
    const event = names.events[lane.owner] ?? '';
    const flags = tile.flags[COUNTER_WORDS * column + COUNTER_FLAGS] ?? 4;
    if ((flags & 4) !== 0) return {title: event, swatch: null, lines: ['not known here']};
    const rate = (i: number): number => tile.values[COUNTER_WORDS * column + i] ?? 0;
    const value = (i: number): string => formatEventRate(event, rate(i));
    return {
      title: `${event} ${value(2)}`,
      swatch: null,
      lines: [
        `mean over ${formatDuration(tile.columnNs)}`,
        `${(flags & 2) !== 0 ? 'within' : 'from'} ${value(0)} to ${value(1)}`,
        // Between dumps it is not known where the events were.
        ...(rate(4) - rate(3) <= 1e-6 * rate(4) ? [] :
            [`the mean is at least ${value(3)}${Number.isFinite(rate(4)) ? `, at most ${value(4)}` : ', without an upper limit'}`]),
      ],
    };
  }
  if (tile.kind === 'items') {
    const slack = 3 * core.view.viewport.peek().nsPerPx;
    const item = itemNear(tile, at, slack);
    if (!item) return null;
    const title = (item.flags & LEAF_IDLE) !== 0 ? 'idle' :
        (item.flags & LEAF_OUTSIDE) !== 0 ? 'outside the recorded command' :
        row.kind === 'cpu' ? threadName(names, item.key) :
        row.kind === 'run' ? stateTitle(names, item.key, item.flags) :
        row.kind === 'interrupts' ? 'interrupts' : hookName(names, item.key);
    const lines = row.kind === 'hook' ? [] : [formatDuration(item.endNs - item.beginNs)];
    lines.push(`at ${formatInstant(item.beginNs, 1)}`);
    if (row.kind === 'cpu' && (item.flags & (LEAF_IDLE | LEAF_OUTSIDE)) === 0) {
      lines.unshift(`process ${processName(names, processOf(names, item.key))}`);
    }
    if (row.kind === 'run' && (item.flags & STATE_WAITING) !== 0 && core.selection.wait.peek()?.begin_ns !== item.beginNs) {
      lines.push('click: who had the CPU');
    }
    if ((item.flags & LEAF_INFERRED) !== 0) lines.push('an edge was inferred, not observed');
    lines.push(where);
    return {title, swatch: row.kind === 'hook' ? null : css(core.book.value.item(row, item.key, item.flags)), lines};
  }
  const column = Math.floor((at - tile.beginNs) / tile.columnNs);
  const part = (share: number): string => formatPercent(share / 255);
  const dispatches = (count: number): string =>
      `${formatCount(count)}${count >= 65535 ? ' or more' : ''} dispatches in ${formatDuration(tile.columnNs)}`;
  if (tile.kind === 'shares') {
    const {keys, other, idle, outside, interrupts, count} = sharesAt(tile.words, column);
    const parts = keys.map(({process, share}) => `${processName(names, process)} ${part(share)}`);
    if (other > 0) parts.push(`other processes ${part(other)}`);
    if (outside > 0) parts.push(`outside ${part(outside)}`);
    if (idle > 0) parts.push(`idle ${part(idle)}`);
    if (parts.length === 0) return null;
    return {
      title: parts[0] ?? '',
      swatch: css(keys[0] ? core.book.value.process(keys[0].process) : core.book.value.theme.idle),
      lines: [
        ...parts.slice(1), ...(interrupts > 0 ? [`interrupts in it ${part(interrupts)}`] : []),
        dispatches(count), where,
      ],
    };
  }
  if (tile.kind === 'states') {
    const {cpu, running, waiting, blocked, unknown, count} = statesAt(tile.words, column);
    const parts: string[] = [];
    if (running > 0) parts.push(`running ${part(running)}${cpu === NO_KEY ? '' : `, mostly on CPU ${cpu}`}`);
    if (waiting > 0) parts.push(`waiting for a CPU ${part(waiting)}`);
    if (blocked > 0) parts.push(`blocked ${part(blocked)}`);
    if (unknown > 0) parts.push(`not known ${part(unknown)}`);
    if (parts.length === 0) return null;
    return {
      title: parts[0] ?? '',
      swatch: css(core.book.value.process(row.process)),
      lines: [...parts.slice(1), dispatches(count), where],
    };
  }
  if (tile.kind === 'threads') {
    const {running, waiting, dispatches: count} = threadsAt(tile.floats, column);
    if (running === 0 && waiting === 0) return null;
    const threads = (value: number): string => value.toFixed(value < 10 ? 2 : 1);
    return {
      title: `${threads(running)} threads run`,
      swatch: css(core.book.value.process(row.process)),
      lines: [`${threads(waiting)} wait for a CPU`, `on average over ${formatDuration(tile.columnNs)}`,
              `${formatCount(count)} dispatches begin in it`, where],
    };
  }
  const found = columnAt(tile, at);
  if (!found || (found.key === NO_KEY && found.coverage === 0)) return null;
  const count = stripCount(tile.words, found.column);
  const title = row.kind === 'interrupts' ? 'interrupts' : hookName(names, found.key);
  return {
    title,
    swatch: css(core.book.value.column(row.kind, found.key)),
    lines: [
      `${formatCount(count)}${count >= 65535 ? ' or more' : ''} ${tile.kind === 'density' ? 'hits' : row.kind !== 'segment' ? 'begin' : count === 1 ? 'call begins' : 'calls begin'} in ${formatDuration(tile.columnNs)}`,
      ...(tile.kind === 'strip' ? [`${formatPercent(found.coverage)} covered`] : []),
      where,
    ],
  };
}

function stateTitle(names: Names, key: number, flags: number): string {
  if ((flags & STATE_WAITING) !== 0) return 'waiting for a CPU';
  if ((flags & STATE_UNKNOWN) !== 0) return 'off CPU, why is not known';
  if ((flags & STATE_BLOCKED) !== 0) {
    return key === NO_KEY ? 'blocked' : `blocked in ${hookName(names, key)}`;
  }
  return `runs on CPU ${key}`;
}

function laneName(lane: Lane): string {
  return lane.kind === 'thread' ? `thread ${lane.label}` : lane.label;
}

const MOST_HOLDERS = 3;

// What ended the sleep, and who had the CPU that it waited for.
function waitLines(names: Names, wait: WaitAnswer): string[] {
  const cause = wakeUp(names, wait);
  const holders = wait.state === 'waiting' ? waitParts(names, wait) : [];
  const length = Math.max(wait.end_ns - wait.begin_ns, 1);
  return [
    ...(cause === null ? [] : [cause]),
    ...holders.slice(0, MOST_HOLDERS).map(({name, ns}) => `${formatPercent(ns / length)} of it: ${name}`),
    ...(holders.length > MOST_HOLDERS ? [`and ${holders.length - MOST_HOLDERS} more had the CPU`] : []),
  ];
}

// Says what is under the pointer; while it is elsewhere, what is selected.
export function Tooltip({timeline, engine}: {timeline: Timeline; engine: TimelineEngine}) {
  const {core, rows} = timeline;
  const pointer = useSignal(core.focus.pointer);
  // Rows may move under a pointer that rests.
  useSignal(core.view.viewport);
  useSignal(rows.lanes);
  useSignal(core.view.scrollY);
  useSignal(engine.arrived);
  useSignal(core.selection.selected);
  const hovered = useSignal(timeline.hoverWait.answer);
  const selected = useSignal(core.selection.wait);
  const at = pointer ?? engine.selectedPoint();
  if (!at) return null;
  const tip = describe(core, engine, at.x, at.y);
  if (!tip) return null;
  const wait = pointer ? hovered : selected;
  const width = core.view.viewport.peek().widthPx;
  const right = at.x > width - 260;
  const below = at.y < core.view.height.peek() - 110;
  return (
    <div class={pointer ? 'tooltip' : 'tooltip of-selected'} style={{
      [right ? 'right' : 'left']: `${right ? width - at.x + 12 : at.x + 14}px`,
      [below ? 'top' : 'bottom']: `${below ? at.y + 16 : core.view.height.peek() - at.y + 8}px`,
    }}>
      <div class="tip-title">
        {tip.swatch && <span class="swatch" style={{background: tip.swatch}} />}
        {tip.title}
      </div>
      {[...tip.lines, ...(wait ? waitLines(core.names, wait) : [])].map((line, index) => <div class="tip-line" key={index}>{line}</div>)}
    </div>
  );
}
