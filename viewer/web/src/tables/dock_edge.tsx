// The upper edge of the tables: drag it, or press the arrow keys on it, to give
// them more rows.

import type {Core} from '../core/core';
import {useSignal} from '../core/use_signal';

const LEAST = 110; // px
const TIMELINE = 320; // px above, with toolbar and rulers
const STEP = 24;

export function DockEdge({core}: {core: Core}) {
  const height = useSignal(core.page.panelHeight);
  const set = (dock: Element, wanted: number): void => {
    const bottom = dock.getBoundingClientRect().bottom;
    core.page.panelHeight.value = Math.round(Math.max(LEAST, Math.min(wanted, bottom - TIMELINE)));
  };
  return (
    <div class="dock-edge" role="separator" aria-orientation="horizontal" tabIndex={0}
         aria-label="Height of the tables" aria-valuemin={LEAST} aria-valuenow={height ?? 230}
         title="Drag: more or fewer rows; double-click: as at first"
         onDblClick={() => (core.page.panelHeight.value = null)}
         onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
         onPointerMove={(event) => {
           const dock = event.currentTarget.parentElement;
           if (!dock || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
           set(dock, dock.getBoundingClientRect().bottom - event.clientY);
         }}
         onKeyDown={(event) => {
           const dock = event.currentTarget.parentElement;
           const step = event.key === 'ArrowUp' ? STEP : event.key === 'ArrowDown' ? -STEP : 0;
           if (!dock || step === 0) return;
           event.preventDefault();
           event.stopPropagation();
           set(dock, dock.getBoundingClientRect().height + step);
         }} />
  );
}
