// What is at a place of the rows, as text: for the tooltip and the live region.

import {COLUMN_OUTSIDE, LEAF_IDLE, LEAF_INFERRED, LEAF_OUTSIDE, NO_KEY, STATE_BLOCKED, STATE_THROTTLED, STATE_UNKNOWN, STATE_WAITING} from '../api/schema';
import {
  COUNTER_FLAGS, COUNTER_WORDS, type CounterTile, type Item, sharesAt, type SharesTile, statesAt, type StatesTile, type StripTile, stripCount, stripFlags,
  threadsAt, type ThreadsTile,
} from '../api/tile_decode';
import type {TreeRow} from '../api/tables_schema';
import type {Core} from '../core/core';
import {clean, hookName, type Names, processName, processOf, threadName} from '../core/names';
import {css} from '../core/palette';
import {formatCount, formatDuration, formatEventRate, formatPercent} from '../core/units';
import {toNs} from '../core/viewport';
import type {Lane, SubRow} from './rows/lanes';
import {requestSpanAt, requestTip} from './request_tip';
import {columnAt, itemNear} from './tiles/tile_lookup';
import {partsOf} from './paint/tree_painter';
import type {TimelineEngine} from './timeline_engine';

interface Tip {
  title: string;
  swatch: string|null;
  lines: string[];
}

// Describes the item under the pointer as text, and the records lost then.
export function describe(core: Core, engine: TimelineEngine, x: number, y: number): Tip|null {
  const at = toNs(core.view.viewport.peek(), x);
  const tip = stackTip(engine, y, at) ?? describeItem(core, engine, x, y);
  const slack = 2 * core.view.viewport.peek().nsPerPx;
  const lost = engine.losses.find((loss) => loss.begin_ns - slack <= at && at <= loss.end_ns + slack);
  if (!lost) return tip;
  const count = lost.count > 0 ? formatCount(lost.count) : 'an unknown number of';
  const line = `${count} records lost ${lost.cpu >= 0 ? `on CPU ${lost.cpu}` : `of ${threadName(core.names, lost.thread)}`}: ${
      clean(lost.cause).replaceAll('_', ' ')}`;
  return tip ? {...tip, lines: [...tip.lines, line]} : {title: line, swatch: css(core.book.value.theme.loss), lines: []};
}

// The place in a row.
interface Place {
  core: Core;
  row: SubRow;
  lane: Lane;
  at: number;
}

function stackTip({timeline: {core, stacks}}: TimelineEngine, y: number, at: number): Tip|null {
  const found = stacks.at(y, at);
  return found && {
    title: found.name, swatch: null,
    lines: [`sampled ${found.box.samples === 1 ? 'once' : `${formatCount(found.box.samples)} times in a row`}`, `from ${core.instantText(found.box.from)} to ${core.instantText(found.box.to)}`],
  };
}

function describeItem(core: Core, engine: TimelineEngine, x: number, y: number): Tip|null {
  const hit = engine.hit(x, y);
  if (hit?.lane.kind === 'tree') return treeTip(engine, hit.lane, hit.at);
  if (hit?.lane.request) {
    const span = requestSpanAt(hit.lane.request, hit, core.view.viewport.peek().nsPerPx);
    return {...requestTip(core.names, hit.lane.request, span), swatch: span && css(core.book.value.hook(span.hook))};
  }
  if (!hit?.row || hit.at < 0 || hit.at > core.durationNs) return null;
  const place: Place = {core, row: hit.row, lane: hit.lane, at: hit.at};
  const tile = engine.tileAt(hit.row, hit.at);
  if (!tile) return null;
  switch (tile.kind) {
    case 'counter': return counterTip(place, tile);
    case 'items': {
      const item = itemNear(tile, hit.at, 3 * core.view.viewport.peek().nsPerPx);
      return item && itemTip(place, item);
    }
    case 'shares': return sharesTip(place, tile);
    case 'states': return statesTip(place, tile);
    case 'threads': return threadsTip(place, tile);
    default: return columnTip(place, tile);
  }
}

function counterTip({core: {names}, lane, at}: Place, tile: CounterTile): Tip {
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

function itemTip({core, row, lane}: Place, item: Item): Tip {
  const {names} = core;
  if (row.kind === 'level') return levelTip(core, row, lane, item);
  const title = (item.flags & LEAF_IDLE) !== 0 ? 'idle' :
      (item.flags & LEAF_OUTSIDE) !== 0 ? 'outside the recorded command' :
      row.kind === 'cpu' ? threadName(names, item.key) :
      row.kind === 'run' ? stateTitle(names, item.key, item.flags) :
      row.kind === 'interrupts' ? 'interrupts' : hookName(names, item.key);
  const lines = row.kind === 'hook' ? [] : [formatDuration(item.endNs - item.beginNs)];
  lines.push(`at ${core.instantText(item.beginNs)}`);
  if (row.kind === 'cpu' && (item.flags & (LEAF_IDLE | LEAF_OUTSIDE)) === 0) {
    lines.unshift(`process ${processName(names, processOf(names, item.key))}`);
  }
  if (row.kind === 'run' && (item.flags & STATE_WAITING) !== 0 && core.selection.wait.peek()?.begin_ns !== item.beginNs) {
    lines.push('click: who had the CPU');
  }
  if ((item.flags & LEAF_INFERRED) !== 0) lines.push('an edge was inferred, not observed');
  lines.push(laneName(lane));
  return {title, swatch: row.kind === 'hook' ? null : css(core.book.value.item(row, item.key, item.flags)), lines};
}

function levelTip({book, names, instantText}: Core, row: SubRow, lane: Lane, item: Item): Tip {
  const known = (item.flags & LEAF_OUTSIDE) === 0;
  return {
    title: `${lane.label} ${known ? 'is up' : 'may be up: not known'}`,
    swatch: css(book.value.item(row, item.key, item.flags)),
    lines: [
      `since ${instantText(item.beginNs)}, for ${formatDuration(item.endNs - item.beginNs)}`,
      ...(item.key === NO_KEY ? [] : [`raised by ${threadName(names, item.key)}`]),
      ...((item.flags & LEAF_INFERRED) !== 0 ? ['its end is not recorded'] : []), `level of ${lane.detail}`,
    ],
  };
}

const part = (share: number): string => formatPercent(share / 255);
const dispatches = (count: number, columnNs: number): string =>
    `${formatCount(count)}${count >= 65535 ? ' or more' : ''} dispatches in ${formatDuration(columnNs)}`;

function sharesTip({core, lane, at}: Place, tile: SharesTile): Tip|null {
  const {names} = core;
  const column = Math.floor((at - tile.beginNs) / tile.columnNs);
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
      dispatches(count, tile.columnNs), laneName(lane),
    ],
  };
}

function statesTip({core, row, lane, at}: Place, tile: StatesTile): Tip|null {
  const column = Math.floor((at - tile.beginNs) / tile.columnNs);
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
    lines: [...parts.slice(1), dispatches(count, tile.columnNs), laneName(lane)],
  };
}

function threadsTip({core, row, lane, at}: Place, tile: ThreadsTile): Tip|null {
  const column = Math.floor((at - tile.beginNs) / tile.columnNs);
  const {running, waiting, dispatches: count} = threadsAt(tile.floats, column);
  if (running === 0 && waiting === 0) return null;
  const threads = (value: number): string => value.toFixed(value < 10 ? 2 : 1);
  return {
    title: `${threads(running)} threads run`,
    swatch: css(core.book.value.process(row.process)),
    lines: [`${threads(waiting)} wait for a CPU`, `on average over ${formatDuration(tile.columnNs)}`,
            `${formatCount(count)} dispatches begin in it`, laneName(lane)],
  };
}

function columnTip({core, row, lane, at}: Place, tile: StripTile): Tip|null {
  const found = columnAt(tile, at);
  if (!found || (found.key === NO_KEY && found.coverage === 0)) return null;
  const count = stripCount(tile.words, found.column);
  const title = row.kind === 'interrupts' ? 'interrupts' : hookName(core.names, row.hook ?? found.key);
  return {
    title,
    swatch: css(core.book.value.column(row, found.key)),
    lines: [
      `${formatCount(count)}${count >= 65535 ? ' or more' : ''} ${tile.kind === 'density' ? 'hits' : row.kind === 'level' ? 'rises' : row.kind !== 'segment' ? 'begin' : count === 1 ? 'call begins' : 'calls begin'} in ${formatDuration(tile.columnNs)}`,
      ...(tile.kind === 'strip' ? [`${formatPercent(found.coverage)} covered`] : []),
      ...(row.kind === 'level' && (stripFlags(tile.words, found.column) & COLUMN_OUTSIDE) !== 0 ? ['the rest is not known'] : []),
      laneName(lane),
    ],
  };
}

// The root and its parts, in the report's digits.
function treeTip(engine: TimelineEngine, lane: Lane, at: number): Tip|null {
  const interval = engine.timeline.trees.at(lane, at);
  if (!interval) return null;
  const text = ({code, name, meaning, share, value, lo, hi, absent}: TreeRow): string => [
    code ?? '', meaning ?? name, share == null ? '' : `${(100 * share).toFixed(2)} %`, value == null ? absent ?? '' : value.toFixed(4),
    value != null && lo != null && hi != null ? `[${lo.toFixed(4)}, ${hi.toFixed(4)}]` : '',
  ].filter(Boolean).join(' ');
  const [root] = interval.rows;
  return {
    title: root ? text(root) : lane.label,
    swatch: null,
    lines: [...partsOf(interval.rows).map(text), `${formatDuration(interval.to - interval.from)} from ${engine.timeline.core.instantText(interval.from)}`],
  };
}

function stateTitle(names: Names, key: number, flags: number): string {
  if ((flags & STATE_THROTTLED) !== 0) return 'throttled by its CPU quota';
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
