// The machine at the playhead: the thread on each CPU, the processes that ran
// just now, the counters, and the threads that run, wait for a CPU or are inside
// a segment. While playing it is behind the playhead and marked with a
// tilde.

import type {ComponentChildren} from 'preact';

import type {Aggregate, InstantState, ProcessTotals, ThreadState} from '../api/schema';
import type {Replay} from './replay';
import {hookName, processName, threadName} from '../core/names';
import {css} from '../core/palette';
import {formatDuration, formatInstant, formatPercent} from '../core/units';
import {CpuTiles} from './cpu_tiles';
import {Counters} from './counters';
import {ProcessSlots} from './process_slots_view';
import {theme} from '../core/theme';
import {useSignal} from '../core/use_signal';

// "blocked 1.2 ms".
function doing(thread: ThreadState, at: number): string {
  const since = thread.since_ns === null ? '' :
      ` ${thread.since_inferred ? '~' : ''}${formatDuration(at - thread.since_ns)}`;
  switch (thread.state) {
    case 'running': return `CPU ${thread.cpu ?? '?'}`;
    case 'waiting': return `waits for a CPU${since}`;
    case 'throttled': return `its CPU quota is used up${since}`;
    case 'blocked': return `blocked${since}`;
    case 'off-cpu': return `off CPU${since}`;
    case 'ended': return 'ended';
    case 'unknown': return 'not known';
  }
}

// While it plays, each process stays where it is.
function inPlaces(
    rows: readonly ProcessTotals[], places: readonly (number|null)[], count: number): (ProcessTotals|undefined)[] {
  if (places.length === 0) return rows.slice(0, count);
  return places.map((process) => rows.find((row) => row.process === process));
}

function othersNote(state: InstantState): string {
  return state.threads_left_out > 0 ? `and ${state.threads_left_out} more threads` : '';
}

// Why the panel does not show the playhead's own instant.
function edgeNote(state: InstantState, playhead: number): string|null {
  if (state.t < playhead) return 'The end of the trace: what its last instant was.';
  if (state.t > playhead) return 'The begin of the trace: nothing is on record before this instant.';
  return null;
}

// Where the sums of the bars begin, or, playing backwards, end.
function sinceText(soFar: Aggregate, at: number): string {
  if (soFar.to > at) return `until ${formatInstant(soFar.to, 1000)}`;
  return soFar.from === 0 ? 'so far' : `since ${formatInstant(soFar.from, 1000)}`;
}

function Stacks({replay, state}: {replay: Replay; state: InstantState}) {
  const {core} = replay;
  const names = core.names;
  return (
    <ul class="stacks">
      {state.threads.map((thread) => (
        <li key={thread.thread}>
          <ThreadHead name={threadName(names, thread.thread)} doing={[thread.state, doing(thread, state.t)]} />
          {thread.open.map((segment) => (
            <div class="frame" key={segment.row} style={{paddingLeft: `${8 + Math.min(segment.depth, 8) * 10}px`}}>
              <span class="swatch" style={{background: css(core.book.value.hook(segment.hook))}} />
              <span class="who" title={hookName(names, segment.hook)}>{hookName(names, segment.hook)}</span>
              <span class="since">{formatDuration(state.t - segment.begin_ns)}</span>
            </div>
          ))}
        </li>
      ))}
    </ul>
  );
}

// The tid is never cut.
function ThreadHead({name, doing: [state, says]}: {name: string; doing: [string, string]}) {
  const [, comm = name, tid = ''] = /^(.*) (\d+)$/.exec(name) ?? [];
  return (
    <div class="stack-head">
      <span class="who">{comm}</span><span class="tid">{tid}</span>
      <span class={`doing ${state}`}>{says}</span>
    </div>
  );
}

// Places of one height, so that nothing jumps.
function PlayingThreads({replay, state}: {replay: Replay; state: InstantState}) {
  const {core} = replay;
  const places = useSignal(replay.now.threadPlaces);
  const names = core.names;
  return (
    <ul class="stacks playing">
      {places.map((number, place) => {
        const thread = state.threads.find((item) => item.thread === number);
        return (
          <li key={place} class={thread ? '' : 'gone'}>
            <ThreadHead name={number === null ? '' : threadName(names, number)}
                        doing={[thread?.state ?? '', thread ? doing(thread, state.t) : '']} />
            <div class="path"><bdi>{thread?.open.map((segment) => hookName(names, segment.hook)).join(' \u203a ') ?? ''}</bdi></div>
          </li>
        );
      })}
    </ul>
  );
}

// `children`: what is selected.
export function NowPanel({replay, children}: {replay: Replay; children: ComponentChildren}) {
  const {core} = replay;
  const state = useSignal(replay.now.instant);
  const soFar = useSignal(replay.now.soFar);
  const late = useSignal(replay.late);
  const highlight = useSignal(core.focus.process);
  const playback = useSignal(core.playback.play);
  const places = useSignal(replay.now.processPlaces);
  const playhead = Math.floor(playback.at);
  const playing = playback.playing && !late;
  useSignal(theme);
  const names = core.names;
  if (!state) return <aside class="now" aria-label="Now" />;
  const book = core.book.value;
  const most = Math.max(1, ...(soFar?.processes.map((row) => row.on_cpu_ns) ?? []));
  const bars = soFar ? inPlaces(soFar.processes, playing ? places : [], replay.now.barRows) : [];
  const hasCpus = state.cpus.length > 0; // else only hooks are on record
  const edge = late ? null : edgeNote(state, playhead);
  return (
    <aside class="now" aria-label="Now" tabIndex={0}>
      <div class="now-head">
        <h2>Now {playing && state.in_loss && <span class="loss-mark">records lost</span>}</h2>
        <span class="now-time">{late ? '~ ' : ''}{formatInstant(state.t, 1)}</span>
      </div>
      {children}
      {edge !== null && <p class="edge-note faint">{edge}</p>}
      {state.in_loss && !playing && <p class="loss-note">Records were lost at this instant; what is shown may be incomplete.</p>}

      {hasCpus && <h3>On the CPUs</h3>}
      {hasCpus && <CpuTiles names={names} book={book} state={state} beats={playing ? replay.now.beats.value : []} />}
      {hasCpus && <ProcessSlots replay={replay} />}
      <Counters replay={replay} state={state} />

      <h3>{hasCpus ? 'Threads' : 'Open segments'}</h3>
      {!playing && state.threads.length === 0 && <p class="faint">none</p>}
      {playing ? <PlayingThreads replay={replay} state={state} /> : <Stacks replay={replay} state={state} />}
      {(playing || state.threads_left_out > 0) && <p class="faint others">{othersNote(state)}</p>}

      {soFar && hasCpus && <h3>CPU time {sinceText(soFar, state.t)} <span class="faint">share of all CPUs</span></h3>}
      <ul class="bars">
        {Array.from({length: hasCpus ? replay.now.barRows : 0}, (_, place) => {
          const row = bars[place];
          return row ? (
            <li key={place} class={highlight !== null && highlight !== row.process ? 'dim' : ''}>
              <span class="bar" style={{width: `${row.on_cpu_ns / most * 100}%`, background: css(book.process(row.process))}} />
              <span class="who" title={processName(names, row.process)}>
                {processName(names, row.process)} <span class="faint">{names.process(row.process)?.pid}</span>
              </span>
              <span class="since">{formatDuration(row.on_cpu_ns)}</span>
              <span class="share">{formatPercent(soFar && soFar.cpu_ns > 0 ? row.on_cpu_ns / soFar.cpu_ns : 0)}</span>
            </li>
          ) : <li key={place} />;
        })}
      </ul>
    </aside>
  );
}
