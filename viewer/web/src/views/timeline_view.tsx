// Ruler, rows and their labels, and the handling of the pointer.

import {useEffect, useRef} from 'preact/hooks';

import {LEAF_IDLE, LEAF_INFERRED, LEAF_OUTSIDE, NO_KEY, STATE_BLOCKED, STATE_UNKNOWN, STATE_WAITING} from '../api/schema';
import {sharesAt, statesAt, stripCount, threadsAt} from '../api/tile_decode';
import type {AppModel} from '../model/app_model';
import {type Lane, visibleLanes} from '../model/lanes';
import {clean, hookName, type Names, processName, processOf, threadName} from '../model/names';
import {toNs} from '../model/viewport';
import {css} from '../render/palette';
import {columnAt, itemAt} from '../render/timeline_painter';
import {formatCount, formatDuration, formatEventRate, formatInstant, formatPercent} from '../units';
import {RULER_HEIGHT, type TimelineEngine} from './timeline_engine';
import {useSignal} from './use_signal';

interface Props {
  model: AppModel;
  engine: TimelineEngine;
  minimap: {current: HTMLCanvasElement|null};
}

const CLICK_PX = 3;
const TWO_LINES = 38; // px that a label of two lines needs

export function TimelineView({model, engine, minimap}: Props) {
  const base = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const ruler = useRef<HTMLCanvasElement>(null);
  const area = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const element = area.current;
    if (!element || !base.current || !overlay.current || !ruler.current || !minimap.current) return;
    engine.attach(base.current, overlay.current, ruler.current, minimap.current);
    const observer = new ResizeObserver(() => {
      model.resize(element.clientWidth, element.clientHeight);
      engine.invalidate();
    });
    observer.observe(element);
    model.resize(element.clientWidth, element.clientHeight);

    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      // Over the labels: as at the left edge.
      const x = Math.max(event.clientX - element.getBoundingClientRect().left, 0);
      if (event.ctrlKey || event.metaKey) {
        model.zoom(x, Math.exp(Math.min(Math.max(event.deltaY, -120), 120) / 240));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        model.pan(event.deltaX !== 0 ? event.deltaX : event.deltaY);
      } else {
        model.scroll(event.deltaY);
      }
    };
    const rows = element.parentElement ?? element;
    rows.addEventListener('wheel', onWheel, {passive: false});
    return () => {
      observer.disconnect();
      rows.removeEventListener('wheel', onWheel);
    };
  }, [model, engine, minimap]);

  // Drag selects; with Shift or the middle button it pans; a click sets the
  // playhead.
  const onPointerDown = (event: PointerEvent): void => {
    const element = area.current;
    if (!element || (event.button !== 0 && event.button !== 1)) return;
    event.preventDefault();
    element.focus({preventScroll: true});
    element.setPointerCapture(event.pointerId);
    const box = element.getBoundingClientRect();
    const startX = event.clientX - box.left;
    const startNs = toNs(model.view.value, startX);
    const panning = event.shiftKey || event.button === 1;
    let lastX = event.clientX;
    let lastY = event.clientY;
    let moved = false;
    const onMove = (move: PointerEvent): void => {
      const x = move.clientX - box.left;
      if (!moved && Math.abs(x - startX) < CLICK_PX &&
          Math.abs(move.clientY - event.clientY) < CLICK_PX) {
        return;
      }
      moved = true;
      if (panning) {
        model.pan(lastX - move.clientX);
        model.scroll(lastY - move.clientY);
        lastX = move.clientX;
        lastY = move.clientY;
      } else {
        model.select(startNs, toNs(model.view.value, Math.min(Math.max(x, 0), box.width)));
      }
    };
    const onUp = (up: PointerEvent): void => {
      element.removeEventListener('pointermove', onMove);
      element.removeEventListener('pointerup', onUp);
      element.removeEventListener('pointercancel', onUp);
      if (!moved && up.type === 'pointerup' && !panning) {
        model.movePlayhead(startNs);
        const row = engine.hit(startX, event.clientY - box.top)?.row;
        void model.selectWait(row?.kind === 'run' ? model.threadOf(row.row) : null, startNs);
      }
    };
    element.addEventListener('pointermove', onMove);
    element.addEventListener('pointerup', onUp);
    element.addEventListener('pointercancel', onUp);
  };
  const onHover = (event: PointerEvent): void => {
    const box = area.current?.getBoundingClientRect();
    if (box) model.hover.value = {x: event.clientX - box.left, y: event.clientY - box.top};
  };
  const onDoubleClick = (event: MouseEvent): void => {
    const box = area.current?.getBoundingClientRect();
    if (!box) return;
    const hit = engine.hit(event.clientX - box.left, event.clientY - box.top);
    const tile = hit?.row ? engine.tileAt(hit.row, hit.at) : null;
    const item = hit && tile ? itemAt(tile, hit.at) : null;
    if (item && item.endNs > item.beginNs) model.show(item.beginNs, item.endNs);
    else if (hit) model.zoom(event.clientX - box.left, 0.25);
  };

  // The ruler scrubs the playhead.
  const onRulerDown = (event: PointerEvent): void => {
    const element = event.currentTarget as HTMLElement;
    element.setPointerCapture(event.pointerId);
    const box = element.getBoundingClientRect();
    const scrub = (move: PointerEvent): void =>
        model.movePlayhead(toNs(model.view.value, move.clientX - box.left));
    scrub(event);
    const done = (): void => {
      element.removeEventListener('pointermove', scrub);
      element.removeEventListener('pointerup', done);
      element.removeEventListener('pointercancel', done);
    };
    element.addEventListener('pointermove', scrub);
    element.addEventListener('pointerup', done);
    element.addEventListener('pointercancel', done);
  };

  return (
    <div class="timeline">
      <div class="ruler-row">
        <div class="gutter ruler-gutter">time since start</div>
        <canvas class="ruler" ref={ruler} onPointerDown={onRulerDown} style={{height: `${RULER_HEIGHT}px`}} />
      </div>
      <div class="rows">
        <Labels model={model} />
        <div class="area" ref={area} tabIndex={0} role="application"
             aria-label="Timeline. Arrow keys move the playhead, W and S zoom, A and D pan, question mark lists all keys."
             onPointerDown={onPointerDown} onPointerMove={onHover}
             onPointerLeave={() => (model.hover.value = null)}
             onDblClick={onDoubleClick}>
          <canvas class="layer" ref={base} aria-hidden="true" />
          <canvas class="layer" ref={overlay} aria-hidden="true" />
          <CounterScale model={model} />
          <Tooltip model={model} engine={engine} />
        </div>
      </div>
    </div>
  );
}

function Labels({model}: {model: AppModel}) {
  const lanes = useSignal(model.lanes);
  const scrollY = useSignal(model.scrollY);
  const height = useSignal(model.viewHeight);
  const inSight = visibleLanes(lanes, scrollY, scrollY + height);
  return (
    <div class="gutter labels">
      {inSight.map((lane) => (
        <div key={lane.id} class={`label ${lane.kind} ${lane.height < TWO_LINES ? 'short' : ''} ${lane.toggle?.pinned ? 'pinned' : ''}`}
             style={{top: `${lane.y - scrollY}px`, height: `${lane.height}px`}}>
          {lane.kind === 'counter' ? <CounterPicker model={model} /> : (
            <>
              {lane.toggle && (
                <button class="toggle" aria-expanded={lane.toggle.open} aria-label={`${lane.label}: ${lane.toggle.open ? 'close' : 'open'}`}
                        onClick={() => model.toggleProcess(lane.toggle?.process ?? -1)}>{lane.toggle.open ? '\u25be' : '\u25b8'}</button>
              )}
              {lane.toggle && (
                <span class="lane-tools">
                  <button aria-label={`${lane.label}: ${lane.toggle.pinned ? 'unpin' : 'pin'}`} aria-pressed={lane.toggle.pinned}
                          title="Pin to the top  (P)" onClick={() => model.togglePin(lane.toggle?.process ?? -1)}>{'\u2191'}</button>
                  <button aria-label={`${lane.label}: hide`} title="Hide  (H)"
                          onClick={() => model.hide(lane.toggle?.process ?? -1)}>{'\u00d7'}</button>
                </span>
              )}
              {lane.kind === 'fold' && <button class="unfold" onClick={() => model.unfold()}>show</button>}
              <span class="name" title={lane.label}>{lane.label}</span>
              {lane.detail && <span class="detail" title={lane.detail}>{lane.detail}</span>}
            </>
          )}
        </div>
      ))}
    </div>
  );
}

// The value at the top of the counter strip.
function CounterScale({model}: {model: AppModel}) {
  const top = useSignal(model.counterTop);
  const scrollY = useSignal(model.scrollY);
  const lane = useSignal(model.lanes).find((candidate) => candidate.kind === 'counter');
  const counter = useSignal(model.counter);
  if (!lane || top <= 0) return null;
  return (
    <div class="scale" style={{top: `${lane.y - scrollY + 4}px`}}>
      {formatEventRate(model.names.events[counter.event] ?? '', top)}
    </div>
  );
}

function CounterPicker({model}: {model: AppModel}) {
  const counter = useSignal(model.counter);
  const {names} = model;
  return (
    <div class="picker">
      <select aria-label="Counter event" value={counter.event}
              onChange={(event) => (model.counter.value = {...counter, event: Number(event.currentTarget.value)})}>
        {names.events.map((name, index) => <option value={index} key={index}>{name}</option>)}
      </select>
      <select aria-label="Counter CPU" value={counter.cpu}
              onChange={(event) => (model.counter.value = {...counter, cpu: Number(event.currentTarget.value)})}>
        <option value={-1}>all CPUs</option>
        {Array.from({length: names.trace.cpus}, (_, cpu) => <option value={cpu} key={cpu}>CPU {cpu}</option>)}
      </select>
    </div>
  );
}

interface TipLine {
  title: string;
  swatch: string|null;
  lines: string[];
}

// Describes the item under the pointer as text, and the records lost then.
export function describe(model: AppModel, engine: TimelineEngine, x: number, y: number): TipLine|null {
  const tip = describeItem(model, engine, x, y);
  const at = toNs(model.view.peek(), x);
  const slack = 2 * model.view.peek().nsPerPx;
  const lost = engine.losses.find((loss) => loss.begin_ns - slack <= at && at <= loss.end_ns + slack);
  if (!lost) return tip;
  const count = lost.count > 0 ? formatCount(lost.count) : 'an unknown number of';
  const line = `${count} records lost ${lost.cpu >= 0 ? `on CPU ${lost.cpu}` : `of ${threadName(model.names, lost.thread)}`}: ${
      clean(lost.cause).replaceAll('_', ' ')}`;
  return tip ? {...tip, lines: [...tip.lines, line]} : {title: line, swatch: css(engine.book.theme.loss), lines: []};
}

function describeItem(model: AppModel, engine: TimelineEngine, x: number, y: number): TipLine|null {
  const hit = engine.hit(x, y);
  if (!hit?.row || hit.at < 0 || hit.at > model.durationNs) return null;
  const {row, lane, at} = hit;
  const names = model.names;
  const tile = engine.tileAt(row, at);
  if (!tile) return null;
  const where = laneName(lane);
  if (tile.kind === 'counter') {
    const column = Math.floor((at - tile.beginNs) / tile.columnNs);
    const event = names.events[model.counter.peek().event] ?? '';
    const flags = tile.flags[4 * column + 3] ?? 4;
    if ((flags & 4) !== 0) return {title: event, swatch: null, lines: ['not known here']};
    const value = (i: number): string => formatEventRate(event, tile.values[4 * column + i] ?? 0);
    return {
      title: `${event} ${value(2)}`,
      swatch: null,
      lines: [
        `mean over ${formatDuration(tile.columnNs)}`,
        `${(flags & 2) !== 0 ? 'within' : 'from'} ${value(0)} to ${value(1)}`,
      ],
    };
  }
  if (tile.kind === 'items') {
    const slack = 3 * model.view.peek().nsPerPx;
    const item = itemAt(tile, at) ??
        (row.kind === 'hook' ?
             tile.items.find((point) => Math.abs(point.beginNs - at) <= slack) ?? null :
             null);
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
    if (row.kind === 'run' && (item.flags & STATE_WAITING) !== 0) {
      if (item.key !== NO_KEY) lines.push(`woken by ${threadName(names, item.key)}`);
      lines.push('click: who had the CPU');
    }
    if ((item.flags & LEAF_INFERRED) !== 0) lines.push('an edge was inferred, not observed');
    lines.push(where);
    return {title, swatch: row.kind === 'hook' ? null : css(engine.book.item(row, item.key, item.flags)), lines};
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
      swatch: css(keys[0] ? engine.book.process(keys[0].process) : engine.book.theme.idle),
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
      swatch: css(engine.book.process(row.process)),
      lines: [...parts.slice(1), dispatches(count), where],
    };
  }
  if (tile.kind === 'threads') {
    const {running, waiting, dispatches: count} = threadsAt(tile.floats, column);
    if (running === 0 && waiting === 0) return null;
    const threads = (value: number): string => value.toFixed(value < 10 ? 2 : 1);
    return {
      title: `${threads(running)} threads run`,
      swatch: css(engine.book.process(row.process)),
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
    swatch: css(engine.book.column(row.kind, found.key)),
    lines: [
      `${formatCount(count)}${count >= 65535 ? ' or more' : ''} in ${formatDuration(tile.columnNs)}`,
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

function Tooltip({model, engine}: {model: AppModel; engine: TimelineEngine}) {
  const hover = useSignal(model.hover);
  useSignal(model.view);
  if (!hover) return null;
  const tip = describe(model, engine, hover.x, hover.y);
  if (!tip) return null;
  const width = model.view.peek().widthPx;
  const right = hover.x > width - 260;
  const below = hover.y < model.viewHeight.peek() - 110;
  return (
    <div class="tooltip" style={{
      [right ? 'right' : 'left']: `${right ? width - hover.x + 12 : hover.x + 14}px`,
      [below ? 'top' : 'bottom']: `${below ? hover.y + 16 : model.viewHeight.peek() - hover.y + 8}px`,
    }}>
      <div class="tip-title">
        {tip.swatch && <span class="swatch" style={{background: tip.swatch}} />}
        {tip.title}
      </div>
      {tip.lines.map((line, index) => <div class="tip-line" key={index}>{line}</div>)}
    </div>
  );
}
