// Ruler, rows and their labels, and the handling of the pointer.

import {useLayoutEffect, useRef} from 'preact/hooks';

import {STATE_BLOCKED, STATE_WAITING} from '../api/schema';
import type {Timeline} from './timeline';
import {toNs} from '../core/viewport';

import {selectedOf} from './selected_item';
import {itemAt, itemNear} from './tiles/tile_lookup';
import {CounterScales, FocusRing, Labels} from './lane_labels';
import {RULER_HEIGHT, type TimelineEngine} from './timeline_engine';
import {RareView} from './rare/rare_view';
import {describe, Tooltip} from './tooltip';

interface Props {
  timeline: Timeline;
  engine: TimelineEngine;
  minimap: {current: HTMLCanvasElement|null};
}

const CLICK_PX = 3;

export function TimelineView({timeline, engine, minimap}: Props) {
  const {core} = timeline;
  const base = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const ruler = useRef<HTMLCanvasElement>(null);
  const area = useRef<HTMLDivElement>(null);

  // Not after the next frame: the first tiles would wait for it.
  useLayoutEffect(() => {
    const element = area.current;
    if (!element || !base.current || !overlay.current || !ruler.current || !minimap.current) return;
    engine.attach(base.current, overlay.current, ruler.current, minimap.current);
    const observer = new ResizeObserver(() => {
      core.view.resize(element.clientWidth, element.clientHeight);
      engine.invalidate();
    });
    observer.observe(element);
    core.view.resize(element.clientWidth, element.clientHeight);

    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      // Over the labels: as at the left edge.
      const x = Math.max(event.clientX - element.getBoundingClientRect().left, 0);
      if (event.ctrlKey || event.metaKey) {
        core.view.zoom(x, Math.exp(Math.min(Math.max(event.deltaY, -120), 120) / 240));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        core.view.pan(event.deltaX !== 0 ? event.deltaX : event.deltaY);
      } else {
        core.view.scroll(event.deltaY);
      }
    };
    const rows = element.parentElement ?? element;
    rows.addEventListener('wheel', onWheel, {passive: false});
    return () => {
      observer.disconnect();
      rows.removeEventListener('wheel', onWheel);
    };
  }, [core, engine, minimap]);

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
    const startNs = toNs(core.view.viewport.value, startX);
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
        core.view.pan(lastX - move.clientX);
        core.view.scroll(lastY - move.clientY);
        lastX = move.clientX;
        lastY = move.clientY;
      } else {
        core.range.select(startNs, toNs(core.view.viewport.value, Math.min(Math.max(x, 0), box.width)));
      }
    };
    const onUp = (up: PointerEvent): void => {
      element.removeEventListener('pointermove', onMove);
      element.removeEventListener('pointerup', onUp);
      element.removeEventListener('pointercancel', onUp);
      if (!moved && up.type === 'pointerup' && !panning) {
        core.playback.moveTo(startNs);
        choose(startX, event.clientY - box.top);
      }
    };
    element.addEventListener('pointermove', onMove);
    element.addEventListener('pointerup', onUp);
    element.addEventListener('pointercancel', onUp);
  };
  // Selects the item at a point; of merged ones, what the thread waits for then.
  const choose = (x: number, y: number): void => {
    const hit = engine.hit(x, y);
    core.focus.lane.value = hit?.lane.id ?? null;
    const tile = hit?.row ? engine.tileAt(hit.row, hit.at) : null;
    const item = hit && tile ? itemNear(tile, hit.at, CLICK_PX * core.view.viewport.value.nsPerPx) : null;
    core.selection.select(hit?.row && item ? selectedOf(core.names, hit.lane, hit.row, item) : null);
    if (!item && hit?.row?.kind === 'run') void core.selection.selectWait(hit.lane.owner, hit.at, hit.row.process, hit.row.row);
    const said = item ? describe(core, engine, x, y) : null;
    if (said) core.announce([said.title, ...said.lines].join(', '));
  };
  const onHover = (event: PointerEvent): void => {
    const box = area.current?.getBoundingClientRect();
    if (!box) return;
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    core.focus.pointer.value = {x, y};
    const hit = engine.hit(x, y);
    const tile = hit?.row?.kind === 'run' ? engine.tileAt(hit.row, hit.at) : null;
    const item = hit && tile ? itemAt(tile, hit.at) : null;
    const waits = item && (item.flags & (STATE_WAITING | STATE_BLOCKED)) !== 0;
    timeline.hoverWait.point(waits && hit?.row ? timeline.commands.threadOf(hit.row.row) : null, hit?.at ?? 0);
  };
  const onDoubleClick = (event: MouseEvent): void => {
    const box = area.current?.getBoundingClientRect();
    if (!box) return;
    const hit = engine.hit(event.clientX - box.left, event.clientY - box.top);
    const tile = hit?.row ? engine.tileAt(hit.row, hit.at) : null;
    const item = hit && tile ? itemAt(tile, hit.at) : null;
    if (item && item.endNs > item.beginNs) core.view.show(item.beginNs, item.endNs);
    else if (hit) core.view.zoom(event.clientX - box.left, 0.25);
  };

  // The ruler scrubs the playhead.
  const onRulerDown = (event: PointerEvent): void => {
    const element = event.currentTarget as HTMLElement;
    element.setPointerCapture(event.pointerId);
    const box = element.getBoundingClientRect();
    const scrub = (move: PointerEvent): void =>
        core.playback.moveTo(toNs(core.view.viewport.value, move.clientX - box.left));
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
      <RareView core={core} rare={timeline.rare} />
      <div class="rows">
        <Labels timeline={timeline} />
        <div class="area" ref={area} tabIndex={0} role="application"
             aria-label="Timeline. Left and right arrow keys move the playhead, up and down go from row to row, Enter opens one, W and S zoom, A and D pan, question mark lists all keys."
             onPointerDown={onPointerDown} onPointerMove={onHover}
             onPointerLeave={() => {
               core.focus.pointer.value = null;
               timeline.hoverWait.point(null, 0);
             }}
             onDblClick={onDoubleClick}>
          <canvas class="layer" ref={base} aria-hidden="true" />
          <canvas class="layer" ref={overlay} aria-hidden="true" />
          <CounterScales timeline={timeline} />
          <FocusRing timeline={timeline} />
          <Tooltip timeline={timeline} engine={engine} />
        </div>
      </div>
    </div>
  );
}
