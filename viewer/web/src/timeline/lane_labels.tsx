// The labels of the lanes in sight, and what they let one change.

import {useState} from 'preact/hooks';

import type {Timeline} from './timeline';
import {visibleLanes} from './rows/lanes';
import {formatEventRate} from '../core/units';
import {dragProcess} from './lane_drag';
import {useSignal} from '../core/use_signal';

const TWO_LINES = 38; // px that a label of two lines needs

export function Labels({timeline}: {timeline: Timeline}) {
  const {core} = timeline;
  const lanes = useSignal(timeline.rows.lanes);
  const scrollY = useSignal(core.view.scrollY);
  const height = useSignal(core.view.height);
  const {handlers} = useSignal(timeline.rows.tree);
  const hasHandlers = core.names.rows.some((row) => row.kind === 'handler');
  const running = useSignal(core.playback.running);
  const focus = useSignal(core.focus.lane);
  const [drop, setDrop] = useState<number|null>(null);
  const inSight = visibleLanes(lanes, scrollY, scrollY + height);
  return (
    <div class="gutter labels">
      {inSight.map((lane) => (
        <div key={lane.id} aria-current={lane.id === focus ? 'true' : undefined}
             onPointerDown={(event) => {
               if (!(event.target as Element).closest('button, select')) core.focus.lane.value = lane.id;
             }}
             class={`label ${lane.kind} ${lane.id === focus ? 'focused' : ''} ${lane.height < TWO_LINES ? 'short' : ''} ${lane.toggle?.pinned ? 'pinned' : ''} ${lane.kind === 'thread' && running.has(lane.owner) ? 'lit' : ''}`}
             style={{top: `${lane.y - scrollY}px`, height: `${lane.height}px`}}>
          {lane.kind === 'counter' ? <CounterPicker timeline={timeline} /> : (
            <>
              {lane.toggle && (
                <button class="toggle" aria-expanded={lane.toggle.open} aria-label={`${lane.label}: ${lane.toggle.open ? 'close' : 'open'}`}
                        onClick={() => timeline.commands.toggleLane(lane)}>{lane.toggle.open ? '\u25be' : '\u25b8'}</button>
              )}
              {lane.toggle && (
                <span class="lane-tools">
                  <button aria-label={`${lane.label}: ${lane.toggle.pinned ? 'unpin' : 'pin'}`} aria-pressed={lane.toggle.pinned}
                          title="Pin to the top  (P)" onClick={() => timeline.commands.togglePin(lane.process)}>{'\u2191'}</button>
                  <button aria-label={`${lane.label}: hide`} title="Hide  (H)"
                          onClick={() => timeline.commands.hide(lane.process)}>{'\u00d7'}</button>
                </span>
              )}
              {lane.id === 'cpus' && hasHandlers && (
                <button class="lane-choice" aria-pressed={handlers} title="Interrupt handlers under their CPUs"
                        onClick={() => timeline.commands.toggleHandlers()}>interrupts</button>
              )}
              {lane.kind === 'fold' && <button class="unfold" onClick={() => timeline.commands.unfold(lane)}>show</button>}
              <span class="text">
                <span class={`name ${lane.toggle ? 'drag' : ''}`} title={lane.toggle ? `${lane.label} (drag it to another place)` : lane.label}
                      onPointerDown={lane.toggle ? (event) => dragProcess(timeline, lane.process, event, setDrop) : undefined}>{lane.label}</span>
                {lane.detail && <span class="detail" title={lane.detail}>{lane.detail}</span>}
              </span>
            </>
          )}
        </div>
      ))}
      {drop !== null && <div class="drop" style={{top: `${drop - scrollY - 1}px`}} />}
    </div>
  );
}

// The ring around the lane that keys are for, over the rows.
export function FocusRing({timeline}: {timeline: Timeline}) {
  const {core} = timeline;
  const focus = useSignal(core.focus.lane);
  const lanes = useSignal(timeline.rows.lanes);
  const scrollY = useSignal(core.view.scrollY);
  const lane = focus === null ? undefined : lanes.find((one) => one.id === focus);
  return lane ? <div class="focus-ring" style={{top: `${lane.y - scrollY}px`, height: `${lane.height - 1}px`}} /> : null;
}

// The values at the tops of the counter strips.
export function CounterScales({timeline}: {timeline: Timeline}) {
  const {core} = timeline;
  const tops = useSignal(timeline.counterTops);
  const scrollY = useSignal(core.view.scrollY);
  const lanes = useSignal(timeline.rows.lanes);
  return (
    <>
      {lanes.map((lane) => {
        const row = lane.kind === 'counter' || lane.kind === 'small-counter' ? lane.rows[0]?.row ?? -1 : -1;
        const top = tops.get(row) ?? 0;
        return top <= 0 ? null : (
          <div class="scale" key={lane.id} style={{top: `${lane.y - scrollY + (lane.kind === 'counter' ? 4 : 1)}px`}}>
            {formatEventRate(core.names.events[lane.owner] ?? '', top)}
          </div>
        );
      })}
    </>
  );
}

function CounterPicker({timeline}: {timeline: Timeline}) {
  const {core} = timeline;
  const counter = useSignal(timeline.rows.counter);
  const {names} = core;
  return (
    <div class="picker">
      <select aria-label="Counter event" value={counter.event}
              onChange={(event) => (timeline.rows.counter.value = {...counter, event: Number(event.currentTarget.value)})}>
        {names.events.map((name, index) => <option value={index} key={index}>{name}</option>)}
      </select>
      <select aria-label="Counter CPU" value={counter.cpu}
              onChange={(event) => (timeline.rows.counter.value = {...counter, cpu: Number(event.currentTarget.value)})}>
        <option value={-1}>all CPUs</option>
        {Array.from({length: names.trace.cpus}, (_, cpu) => <option value={cpu} key={cpu}>CPU {cpu}</option>)}
      </select>
    </div>
  );
}
