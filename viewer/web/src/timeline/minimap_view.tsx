// The whole trace with a brush: drag it to pan, drag its edges to zoom, drag
// elsewhere to jump.

import type {Core} from '../core/core';
import {endNs} from '../core/viewport';
import {drag} from './drag';
import {MINIMAP_HEIGHT} from './timeline_engine';

const EDGE_PX = 6;

export function MinimapView({core, canvas}: {core: Core; canvas: {current: HTMLCanvasElement|null}}) {
  const {recorded, readPercent} = core.extent;
  const onPointerDown = (event: PointerEvent): void => {
    const element = event.currentTarget as HTMLCanvasElement;
    const box = element.getBoundingClientRect();
    const at = (move: PointerEvent): number =>
        Math.min(Math.max((move.clientX - box.left) / box.width, 0) * core.extent.wholeNs, core.durationNs);
    const view = core.view.viewport.value;
    const from = view.startNs;
    const to = endNs(view);
    const start = at(event);
    const edge = EDGE_PX / box.width * core.extent.wholeNs;
    const grip = Math.abs(start - from) < edge ? 'from' :
        Math.abs(start - to) < edge ? 'to' :
        start > from && start < to ? 'body' : 'jump';
    if (grip === 'jump') core.view.onJump();
    if (grip === 'jump') core.view.centre(start);
    const origin = core.view.viewport.value.startNs;
    drag(element, event, (move) => {
      const here = at(move);
      if (grip === 'from') core.view.setWindow(Math.min(here, to - 1), to);
      else if (grip === 'to') core.view.setWindow(from, Math.max(here, from + 1));
      else {
        const span = view.nsPerPx * view.widthPx;
        core.view.setWindow(origin + here - start, origin + here - start + span);
      }
    });
  };
  return (
    <div class="minimap-row">
      <div class="gutter minimap-gutter">
        <span>{recorded ? `whole trace, ${readPercent} % read` : core.extent.name}</span>
        <span class="detail">CPU load{recorded && '; then bytes recorded'}</span>
      </div>
      <canvas class="minimap" ref={canvas} onPointerDown={onPointerDown}
              aria-label={`Whole trace${recorded ? `, of which ${readPercent} % is read` : ''}; drag the frame to move the view`}
              style={{height: `${MINIMAP_HEIGHT}px`}} />
    </div>
  );
}
