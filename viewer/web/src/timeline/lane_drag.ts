// Drag of a process by its name, to another place among the processes.

import type {Timeline} from './timeline';
import {drag} from './drag';
import {placeProcess} from './rows/row_focus';

const DRAG_PX = 4;

interface Place {
  before: number|null; // process; null: behind all
  y: number; // of the line that shows the place, in the lanes
}

// Where a process would go if it is let go at `y` of the lanes.
export function placeAt(timeline: Timeline, y: number): Place|null {
  const lanes = timeline.rows.lanes.value;
  const groups = lanes.filter((lane) => lane.toggle !== null);
  const last = lanes[lanes.length - 1];
  if (groups.length === 0 || !last) return null;
  const fold = lanes.find((lane) => lane.id === 'folded');
  const bottom = fold?.y ?? last.y + last.height;
  for (const [index, group] of groups.entries()) {
    const end = groups[index + 1]?.y ?? bottom;
    if (y < (group.y + end) / 2) return {before: group.process, y: group.y};
  }
  return {before: null, y: bottom};
}

// Starts at a press on a name. `show`: the line's place, null when it is over.
export function dragProcess(
    timeline: Timeline, process: number, press: PointerEvent, show: (y: number|null) => void): void {
  const element = press.currentTarget as HTMLElement;
  const box = element.closest('.labels')?.getBoundingClientRect();
  if (press.button !== 0 || !box) return;
  press.preventDefault();
  let place: Place|null = null;
  const move = (event: PointerEvent): void => {
    if (!place && Math.abs(event.clientY - press.clientY) < DRAG_PX) return;
    place = placeAt(timeline, event.clientY - box.top + timeline.core.view.scrollY.value);
    show(place?.y ?? null);
  };
  drag(element, press, move, (event) => {
    show(null);
    if (place && event.type === 'pointerup') placeProcess(timeline.core, timeline.rows, process, place.before);
  });
}
