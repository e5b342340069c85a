// The labels of the lanes in sight, and what they let one change.

import {useState} from 'preact/hooks';

import type {Timeline} from './timeline';
import type {Lane} from './rows/lanes';
import {formatEventRate} from '../core/units';
import {dragProcess} from './lane_drag';
import {useSignal} from '../core/use_signal';

const TWO_LINES = 38; // px that a label of two lines needs
const ONE_LINE = 12;

// "redis-server" and " 4711": what is too long is cut between them.
function nameParts(label: string): [string, string] {
  const pid = /\s\d+$/.exec(label);
  return pid ? [label.slice(0, pid.index), pid[0]] : [label, ''];
}

function classOf(lane: Lane, focused: boolean, lit: boolean): string {
  return [
    'label', lane.kind, focused ? 'focused' : '', lane.height < TWO_LINES ? 'short' : '', lane.height < ONE_LINE ? 'tiny' : '',
    lane.owner % 8 === 0 ? 'named' : '',
    lane.stuck ? 'stuck' : '', lane.toggle?.pinned ? 'pinned' : '', lit ? 'lit' : '',
  ].filter(Boolean).join(' ');
}

function Opener({timeline, lane, open}: {timeline: Timeline; lane: Lane; open: boolean}) {
  return (
    <button class="toggle" aria-expanded={open} aria-label={`${lane.label}: ${open ? 'close' : 'open'}`}
            onClick={() => timeline.commands.toggleLane(lane)}>{open ? '\u25be' : '\u25b8'}</button>
  );
}

function ProcessTools({timeline, lane, pinned}: {timeline: Timeline; lane: Lane; pinned: boolean}) {
  return (
    <span class="lane-tools">
      <button aria-label={`${lane.label}: ${pinned ? 'unpin' : 'pin'}`} aria-pressed={pinned}
              title="Pin to the top  (P)" onClick={() => timeline.commands.togglePin(lane.process)}>{'\u2191'}</button>
      <button aria-label={`${lane.label}: hide`} title="Hide  (H)"
              onClick={() => timeline.commands.hide(lane.process)}>{'\u00d7'}</button>
    </span>
  );
}

function HandlersChoice({timeline}: {timeline: Timeline}) {
  const {handlers} = useSignal(timeline.rows.tree);
  return (
    <button class="lane-choice" aria-pressed={handlers} title="Interrupt handlers under their CPUs"
            onClick={() => timeline.commands.toggleHandlers()}>interrupts</button>
  );
}

function LaneName({timeline, lane, show}: {timeline: Timeline; lane: Lane; show: (y: number|null) => void}) {
  const [name, pid] = nameParts(lane.label);
  return (
    <span class="text">
      <span class={`name ${lane.toggle ? 'drag' : lane.request?.followed ? 'followed' : ''}`} title={lane.toggle ? `${lane.label} (drag it to another place)` : lane.label}
            onPointerDown={lane.toggle ? (event) => dragProcess(timeline, lane.process, event, show) : undefined}>
        <span class="cut">{name}</span>{pid && <span class="pid">{pid}</span>}
      </span>
      {lane.detail && <span class="detail" title={lane.detail}>{lane.detail}</span>}
    </span>
  );
}

export function Labels({timeline}: {timeline: Timeline}) {
  const {core, rows} = timeline;
  // What is in sight follows these.
  void [useSignal(rows.lanes), useSignal(core.view.scrollY), useSignal(core.view.height)];
  const hasHandlers = core.names.rows.some((row) => row.kind === 'handler');
  const running = useSignal(core.playback.running);
  const focus = useSignal(core.focus.lane);
  const [drop, setDrop] = useState<number|null>(null);
  const firstCpu = rows.lanes.value.find((lane) => lane.kind === 'cpu');
  return (
    <div class="gutter labels">
      {rows.inSight().map((lane) => (
        <div key={lane.id} aria-current={lane.id === focus ? 'true' : undefined}
             onPointerDown={(event) => {
               if (!(event.target as Element).closest('button, select')) core.focus.lane.value = lane.id;
             }}
             class={classOf(lane, lane.id === focus, lane.kind === 'thread' && running.has(lane.owner))}
             style={{top: `${rows.topOf(lane)}px`, height: `${lane.height}px`}}>
          {lane.fold && <Opener timeline={timeline} lane={lane} open={lane.fold.open} />}
          {lane.kind === 'counter' ? <CounterPicker timeline={timeline} /> : (
            <>
              {lane.toggle && <Opener timeline={timeline} lane={lane} open={lane.toggle.open} />}
              {lane.toggle && <ProcessTools timeline={timeline} lane={lane} pinned={lane.toggle.pinned} />}
              {lane === firstCpu && hasHandlers && lane.fold?.open !== false && <HandlersChoice timeline={timeline} />}
              {lane.kind === 'fold' && <button class="unfold" onClick={() => timeline.commands.unfold(lane)}>show</button>}
              <LaneName timeline={timeline} lane={lane} show={setDrop} />
            </>
          )}
        </div>
      ))}
      {drop !== null && <div class="drop" style={{top: `${drop - core.view.scrollY.value - 1}px`}} />}
    </div>
  );
}

// The ring around the lane that keys are for, over the rows.
export function FocusRing({timeline}: {timeline: Timeline}) {
  const {core} = timeline;
  const focus = useSignal(core.focus.lane);
  const lanes = useSignal(timeline.rows.lanes);
  useSignal(core.view.scrollY);
  const lane = focus === null ? undefined : lanes.find((one) => one.id === focus);
  const {y, height} = lane ? timeline.rows.extentOf(lane, {y: 0, height: lane.height}) : {y: 0, height: 0};
  return height > 0 ? <div class="focus-ring" style={{top: `${y}px`, height: `${height - 1}px`}} /> : null;
}

// The values at the tops of the counter strips.
export function CounterScales({timeline}: {timeline: Timeline}) {
  const {core} = timeline;
  const tops = useSignal(timeline.counterTops);
  useSignal(core.view.scrollY);
  const lanes = useSignal(timeline.rows.lanes);
  return (
    <>
      {lanes.map((lane) => {
        const row = lane.kind === 'counter' || lane.kind === 'small-counter' ? lane.rows[0]?.row ?? -1 : -1;
        const top = tops.get(row) ?? 0;
        return top <= 0 ? null : (
          <div class="scale" key={lane.id} style={{top: `${timeline.rows.topOf(lane) + (lane.kind === 'counter' ? 4 : 1)}px`}}>
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
