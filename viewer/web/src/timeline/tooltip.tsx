// A text beside the pointer, or else beside what is selected.

import type {WaitAnswer} from '../api/schema';
import type {Names} from '../core/names';
import {formatPercent} from '../core/units';
import {useSignal} from '../core/use_signal';
import {describe} from './describe';
import type {Timeline} from './timeline';
import type {TimelineEngine} from './timeline_engine';
import {waitParts, wakeUp} from './wait_text';

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
  const values = useSignal(timeline.selectedValues.lines);
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
      {[...tip.lines, ...(wait ? waitLines(core.names, wait) : []), ...(pointer ? [] : values)].map((line, index) => <div class="tip-line" key={index}>{line}</div>)}
    </div>
  );
}
