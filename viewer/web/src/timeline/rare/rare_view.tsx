// The plane of rare events, above the rows: what is under the pointer, and a
// click goes to it.

import {useEffect, useRef, useState} from 'preact/hooks';

import type {Core} from '../../core/core';
import type {RareEvents} from './rare_events';
import {paintRare, RARE_HEIGHT, rareAt} from './rare_painter';
import {formatCount} from '../../core/units';
import {useSignal} from '../../core/use_signal';

const MOST_SAID = 6;

export function RareView({core, rare}: {core: Core; rare: RareEvents}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useSignal(core.view.viewport);
  const events = useSignal(rare.items);
  const leftOut = useSignal(rare.leftOut);
  const colours = useSignal(core.book);
  useSignal(core.names.changed);
  const [x, setX] = useState<number|null>(null);
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context) return;
    const ratio = devicePixelRatio || 1;
    element.width = Math.max(1, Math.round(view.widthPx * ratio));
    element.height = Math.round(RARE_HEIGHT * ratio);
    paintRare(context, events, view, ratio, colours);
  }, [view, events, colours]);
  const under = x === null ? [] : rareAt(events, view, x);
  const at = (event: MouseEvent): number => event.clientX - (canvas.current?.getBoundingClientRect().left ?? 0);
  const right = (x ?? 0) > view.widthPx - 300;
  return (
    <div class="ruler-row rare-row">
      <div class="gutter ruler-gutter" title={'Losses, triggers, longest calls, and the hooks chosen in the table of hooks' +
           (leftOut > 0 ? `; the longest calls of ${formatCount(leftOut)} more segments are not here` : '')}>
        rare events
      </div>
      <div class="rare">
        <canvas ref={canvas} style={{height: `${RARE_HEIGHT}px`, width: '100%', cursor: under.length > 0 ? 'pointer' : 'default'}}
                role="img" aria-label={`${events.length} rare events; the tables have the same`}
                onPointerMove={(event) => setX(at(event))} onPointerLeave={() => setX(null)}
                onClick={(event) => {
                  const [first] = rareAt(events, view, at(event));
                  if (first) rare.show(first);
                }} />
        {under.length > 0 && x !== null && (
          <div class="tooltip" style={{top: `${RARE_HEIGHT + 4}px`, [right ? 'right' : 'left']: `${right ? view.widthPx - x + 8 : x + 8}px`}}>
            {under.slice(0, MOST_SAID).map((event, index) => <div class={index === 0 ? 'tip-title' : 'tip-line'} key={index}>{event.says()}</div>)}
            {under.length > MOST_SAID && <div class="tip-line">and {formatCount(under.length - MOST_SAID)} more; zoom in</div>}
          </div>
        )}
      </div>
    </div>
  );
}
