// Ruler, rows and their labels.

import {useLayoutEffect, useMemo, useRef} from 'preact/hooks';

import {CounterScales, FocusRing, Labels} from './lane_labels';
import {Pointer} from './pointer';
import {RareView} from './rare/rare_view';
import type {Timeline} from './timeline';
import {RULER_HEIGHT, type TimelineEngine} from './timeline_engine';
import {Tooltip} from './tooltip';

interface Props {
  timeline: Timeline;
  engine: TimelineEngine;
  minimap: {current: HTMLCanvasElement|null};
}

export function TimelineView({timeline, engine, minimap}: Props) {
  const {core} = timeline;
  const base = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const ruler = useRef<HTMLCanvasElement>(null);
  const area = useRef<HTMLDivElement>(null);
  const pointer = useMemo(() => new Pointer(timeline, engine), [timeline, engine]);

  // Not after the next frame: the first tiles would wait for it.
  useLayoutEffect(() => {
    const element = area.current;
    if (!element || !base.current || !overlay.current || !ruler.current || !minimap.current) return;
    engine.attach(base.current, overlay.current, ruler.current, minimap.current);
    const resize = (): void => core.view.resize(element.clientWidth, element.clientHeight);
    const observer = new ResizeObserver(() => {
      resize();
      engine.invalidate();
    });
    observer.observe(element);
    resize();
    const onWheel = (event: WheelEvent): void => pointer.wheel(event, element);
    const rows = element.parentElement ?? element;
    rows.addEventListener('wheel', onWheel, {passive: false});
    return () => {
      observer.disconnect();
      rows.removeEventListener('wheel', onWheel);
    };
  }, [core, engine, pointer, minimap]);

  return (
    <div class="timeline">
      <div class="ruler-row">
        <div class="gutter ruler-gutter">time since start</div>
        <canvas class="ruler" ref={ruler} onPointerDown={(event) => pointer.scrub(event)} style={{height: `${RULER_HEIGHT}px`}} />
      </div>
      <RareView core={core} rare={timeline.rare} />
      <div class="rows">
        <Labels timeline={timeline} />
        <div class="area" ref={area} tabIndex={0} role="application"
             aria-label="Timeline. Left and right arrow keys move the playhead, up and down go from row to row, Enter opens one, W and S zoom, A and D pan, question mark lists all keys."
             onPointerDown={(event) => pointer.press(event, event.currentTarget)}
             onPointerMove={(event) => pointer.hover(event, event.currentTarget)} onPointerLeave={() => pointer.leave()}
             onDblClick={(event) => pointer.doubleClick(event, event.currentTarget)}>
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
