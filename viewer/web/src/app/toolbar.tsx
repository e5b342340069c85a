// Name of the trace, transport controls, time read-out.

import {computed} from '@preact/signals-core';
import {useMemo} from 'preact/hooks';

import type {Application} from './application';
import {type Follow, FOLLOWS, SPEEDS, STEP_KINDS, type StepChoice, stepName} from '../core/playback';
import {formatDuration, formatInstant, slownessOf} from '../core/units';
import {FindBox} from '../find/find_box';
import {safePalette, theme} from '../core/theme';
import {useSignal} from '../core/use_signal';

interface IconProps {
  path: string;
}
function Icon({path}: IconProps) {
  return <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d={path} fill="currentColor" /></svg>;
}
const PLAY = 'M4 2.5v11l9-5.5z';
const PAUSE = 'M4 2.5h3v11H4zM9 2.5h3v11H9z';
const BACK = 'M4 3h1.6v10H4zM13 3v10L6.5 8z';
const FORWARD = 'M10.4 3H12v10h-1.6zM3 3v10l6.5-5z';
const LOOP = 'M4 5h6V3l4 3.2L10 9.4V7H5v2H3V6a1 1 0 0 1 1-1zm8 6H6v2l-4-3.2L6 6.6V9h5V7.4h2V10a1 1 0 0 1-1 1z';

const STEPS = 'M2 12h3V9h3V6h3V3h3v1.8h-1.4v3h-3v3h-3v3H2z';
const SKIP = 'M2 3v10l5-5zM8 3v10l5-5zM13.4 3H15v10h-1.6z';

// By itself: it changes with each frame.
function Clock({app}: {app: Application}) {
  const {core, replay} = app;
  const play = useSignal(core.playback.play);
  const view = useSignal(core.view.viewport);
  const inSight = core.view.inSight();
  const selection = useSignal(core.range.chosen);
  return (
    <>
      <output class="clock" title="Playhead">{formatInstant(play.at, Math.min(view.nsPerPx, 999))}</output>
      <div class="window">
        {selection ? <span class="chip">selected {formatDuration(selection.to - selection.from)}</span> : null}
        {play.playing ?
          <span class="pace" title="Speed of the replay">{replay.transport.paceText()}</span> : selection ? null :
          <span title="Visible window">{formatDuration(inSight.to - inSight.from)} in view</span>}
      </div>
    </>
  );
}

export function Toolbar({app}: {app: Application}) {
  const {core, replay} = app;
  const playing = useSignal(useMemo(() => computed(() => core.playback.play.value.playing), [core]));
  const speed = useSignal(useMemo(() => computed(() => core.playback.play.value.speed), [core]));
  const loop = useSignal(core.playback.loop);
  const skip = useSignal(core.playback.skipIdle);
  const kind = useSignal(core.playback.stepKind);
  const byEvents = useSignal(core.playback.byEvents);
  const follow = useSignal(core.playback.follow);
  const dark = useSignal(theme).dark;
  const safe = useSignal(safePalette);
  const trace = core.names.trace;
  const title = trace.path?.replace(/\/+$/, '').split('/').pop() || 'trace';
  return (
    <header class="toolbar">
      <h1 class="brand"><span class="mark" aria-hidden="true" />countrace</h1>
      <div class="trace" title={trace.command || title}>
        <span class="trace-name">{title}</span>
        <span class="trace-facts">
          {[trace.hostname, `${trace.cpus} CPUs`, formatDuration(core.durationNs)].filter(Boolean).join('  \u00b7  ')}
        </span>
      </div>
      <div class="transport" role="group" aria-label="Replay">
        <button title="Step back  ( , )" aria-label="Step back" onClick={() => core.commands.run('previous', null)}><Icon path={BACK} /></button>
        <button class="play" title={playing ? 'Pause  (Space)' : 'Play  (Space)'}
                aria-label={playing ? 'Pause' : 'Play'} onClick={() => replay.transport.togglePlay()}>
          <Icon path={playing ? PAUSE : PLAY} />
        </button>
        <button title="Step forward  ( . )" aria-label="Step forward" onClick={() => core.commands.run('next', null)}><Icon path={FORWARD} /></button>
        <button class={loop ? 'on' : ''} title="Loop inside the selection  (O)" aria-label="Loop" aria-pressed={loop}
                onClick={() => (core.playback.loop.value = !loop)}><Icon path={LOOP} /></button>
        <button class={skip ? 'on' : ''} title="Leave out time in which all CPUs are idle  (I)" aria-label="Skip idle time" aria-pressed={skip}
                onClick={() => core.commands.run('skip-idle', null)}><Icon path={SKIP} /></button>
        <label class="setting wide"><span>step</span>
          <select aria-label="Steps" title="What a step is  (T)" value={kind}
                  onChange={(event) => (core.playback.stepKind.value = event.currentTarget.value as StepChoice)}>
            {STEP_KINDS.map((one) => <option value={one} key={one}>{stepName(one)}</option>)}
          </select>
        </label>
        <button class={`wide ${byEvents ? 'on' : ''}`} title="Play from step to step  (E)" aria-label="Play from step to step"
                aria-pressed={byEvents} onClick={() => core.commands.run('by-events', null)}><Icon path={STEPS} /></button>
        <label class="setting wide"><span>window</span>
          <select aria-label="Window" title="How the window follows the playhead  (Y)" value={follow}
                  onChange={(event) => (core.playback.follow.value = event.currentTarget.value as Follow)}>
            {FOLLOWS.map((one) => <option value={one} key={one}>{one}</option>)}
          </select>
        </label>
        <label class="setting" onWheel={(event) => {
          event.preventDefault();
          core.commands.run(event.deltaY > 0 ? 'slower' : 'faster', null);
        }}><span>speed</span>
          <select aria-label="Speed" title="Trace time against time; the wheel changes it in small steps  ( - = )" value={speed}
                  onChange={(event) => core.playback.setSpeed(Number(event.currentTarget.value))}>
            {[...new Set([...SPEEDS, core.playback.usualSpeed, speed])].sort((a, b) => b - a)
                .map((one) => <option value={one} key={one}>{slownessOf(one)}</option>)}
          </select>
        </label>
      </div>
      <Clock app={app} />
      <FindBox timeline={app.timeline} find={app.find} />
      <div class="tools">
        <button class="keyed" title="Whole trace  (0)" onClick={() => core.view.fitAll()}>Fit</button>
        <button class="wide" title="Save a picture of the timeline  (Shift P)" onClick={() => core.commands.run('picture', null)}>PNG</button>
        <button class="wide" title="Save it as a drawing  (Shift V)" onClick={() => core.commands.run('drawing', null)}>SVG</button>
        <button title="Colours that differ under colour blindness  (Shift X)" aria-pressed={safe} class={safe ? 'keyed on' : 'keyed'}
                onClick={() => core.commands.run('palette', null)}>Palette</button>
        <button class="keyed" title="Light or dark  (Shift D)" aria-label="Light or dark" onClick={() => core.commands.run('theme', null)}>{dark ? 'Light' : 'Dark'}</button>
        <button title="Keys  (?)" aria-label="Help" onClick={() => core.commands.run('help', null)}>?</button>
      </div>
    </header>
  );
}
