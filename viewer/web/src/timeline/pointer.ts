// What the pointer does on the rows and on the ruler.

import {STATE_BLOCKED, STATE_WAITING} from '../api/schema';
import {toNs} from '../core/viewport';
import {drag} from './drag';
import {requestSpanAt} from './request_tip';
import {selectedOf} from './selected_item';
import {itemAt, itemNear} from './tiles/tile_lookup';
import type {Timeline} from './timeline';
import type {TimelineEngine} from './timeline_engine';
import {describe} from './describe';

const CLICK_PX = 3;

export class Pointer {
  constructor(private readonly timeline: Timeline, private readonly engine: TimelineEngine) {}

  // Drag selects; with Shift or the middle button it pans; a click sets the
  // playhead and selects what is there.
  press(event: PointerEvent, area: HTMLElement): void {
    if (event.button !== 0 && event.button !== 1) return;
    event.preventDefault();
    area.focus({preventScroll: true});
    const {view, selection, playback} = this.timeline.core;
    const box = area.getBoundingClientRect();
    const startX = event.clientX - box.left;
    const startNs = toNs(view.viewport.value, startX);
    const panning = event.shiftKey || event.button === 1;
    let last = event;
    let moved = false;
    const move = (to: PointerEvent): void => {
      const x = to.clientX - box.left;
      if (!moved && Math.abs(x - startX) < CLICK_PX && Math.abs(to.clientY - event.clientY) < CLICK_PX) return;
      moved = true;
      if (panning) {
        view.pan(last.clientX - to.clientX);
        view.scroll(last.clientY - to.clientY);
        last = to;
      } else {
        selection.selectRange(startNs, toNs(view.viewport.value, Math.min(Math.max(x, 0), box.width)));
      }
    };
    drag(area, event, move, (up) => {
      if (moved || up.type !== 'pointerup' || panning) return;
      playback.moveTo(startNs);
      this.choose(startX, event.clientY - box.top);
    });
  }

  hover(event: PointerEvent, area: HTMLElement): void {
    const {core: {focus}, hoverWait} = this.timeline;
    const {x, y} = pointIn(area, event);
    focus.pointer.value = {x, y};
    const hit = this.engine.hit(x, y);
    const tile = hit?.row?.kind === 'run' ? this.engine.tileAt(hit.row, hit.at) : null;
    const item = hit && tile ? itemAt(tile, hit.at) : null;
    const waits = item && (item.flags & (STATE_WAITING | STATE_BLOCKED)) !== 0;
    hoverWait.point(waits && hit ? hit.lane.owner : null, hit?.at ?? 0);
  }
  leave(): void {
    this.timeline.core.focus.pointer.value = null;
    this.timeline.hoverWait.point(null, 0);
  }

  // Fits what is there.
  doubleClick(event: MouseEvent, area: HTMLElement): void {
    const {view} = this.timeline.core;
    const {x, y} = pointIn(area, event);
    const hit = this.engine.hit(x, y);
    const tile = hit?.row ? this.engine.tileAt(hit.row, hit.at) : null;
    const item = hit && tile ? itemAt(tile, hit.at) : null;
    if (item && item.endNs > item.beginNs) view.show(item.beginNs, item.endNs);
    else if (hit) view.zoom(x, 0.25);
  }

  wheel(event: WheelEvent, area: HTMLElement): void {
    event.preventDefault();
    const {view} = this.timeline.core;
    if (event.ctrlKey || event.metaKey) {
      // Over the labels: as at the left edge.
      view.zoom(Math.max(pointIn(area, event).x, 0), Math.exp(Math.min(Math.max(event.deltaY, -120), 120) / 240));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      view.pan(event.deltaX !== 0 ? event.deltaX : event.deltaY);
    } else {
      view.scroll(event.deltaY);
    }
  }

  // The ruler moves the playhead.
  scrub(event: PointerEvent): void {
    const ruler = event.currentTarget as HTMLElement;
    const {view, playback} = this.timeline.core;
    const move = (to: PointerEvent): void => playback.moveTo(toNs(view.viewport.value, pointIn(ruler, to).x));
    move(event);
    drag(ruler, event, move);
  }

  // Selects the item at a point; of merged ones, what the thread waits for then.
  private choose(x: number, y: number): void {
    const {engine, timeline: {core, trees}} = this;
    const hit = engine.hit(x, y);
    core.focus.lane.value = hit?.lane.id ?? null;
    const stack = hit && this.timeline.stacks.at(y, hit.at);
    if (stack) return core.selection.selectRange(stack.box.from, stack.box.to);
    const interval = hit && trees.at(hit.lane, hit.at);
    if (interval) return core.selection.selectRange(interval.from, interval.to);
    if (hit?.lane.request) return this.timeline.onRequest(hit.lane.request.row, requestSpanAt(hit.lane.request, hit, core.view.viewport.value.nsPerPx));
    const tile = hit?.row ? engine.tileAt(hit.row, hit.at) : null;
    const item = hit && tile ? itemNear(tile, hit.at, CLICK_PX * core.view.viewport.value.nsPerPx) : null;
    core.selection.select(hit?.row && item ? selectedOf(core.names, hit.lane, hit.row, item) : null);
    if (!item && hit?.row?.kind === 'run') void core.selection.selectWait(hit.lane.owner, hit.at, hit.row.process, hit.row.row);
    const said = item ? describe(core, engine, x, y) : null;
    if (said) core.announce([said.title, ...said.lines].join(', '));
  }
}

function pointIn(element: HTMLElement, event: MouseEvent): {x: number; y: number} {
  const box = element.getBoundingClientRect();
  return {x: event.clientX - box.left, y: event.clientY - box.top};
}
