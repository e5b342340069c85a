// The page around those of several traces, in step: of hosts; or of two that are
// compared, and between them what `countrace diff` says.

import {effect} from '@preact/signals-core';
import {render} from 'preact';
import {useRef, useState} from 'preact/hooks';

import type {ApiError} from './api/client';
import type {Comparison, Host} from './api/schema';
import {Frames} from './app/frames';
import {Hosts} from './app/hosts';
import type {PairFrame} from './app/pair_frame';
import {forgetToken} from './core/frame';
import {theme} from './core/theme';
import {formatCount, formatInstant} from './core/units';
import {Section} from './compare/comparison_table';
import {clockFrom} from './replay/shared_clock';
import {Step} from './replay/step';

const ROWS = 100;
const SIDES = [{title: 'Before', folder: '/a/'}, {title: 'After', folder: '/b/'}] as const;
const BEGIN = 'begin', CLOCK = 'clock'; // no segment has such a name: it has a provider

// A machine does not start twice in so short a time; by so much its date may have
// been set meanwhile.
const ONE_BOOT_NS = 10_000_000_000n;
type Two = readonly [PairFrame, PairFrame];
function isOneBoot([a, b]: Two): boolean {
  const apart = a.clockBeganNs - b.clockBeganNs;
  return a.hostname !== '' && a.hostname === b.hostname && a.clockBeganNs !== 0n && apart < ONE_BOOT_NS && -apart < ONE_BOOT_NS;
}

// An error of a frame is no instance of this page's classes.
function textOf(error: unknown): string {
  const {reason, message} = error as Partial<ApiError>;
  return reason ?? message ?? String(error);
}

// Where both begin if they are aligned; null: one has no such call.
async function beginsOf([a, b]: Two, by: string, number: number): Promise<readonly [number, number]|null> {
  if (by === BEGIN) return [0, 0];
  if (by === CLOCK) {
    const later = Number(b.beginNs - a.beginNs);
    return [Math.max(later, 0), Math.max(-later, 0)];
  }
  const [first, second] = await Promise.all([a.call(by, number), b.call(by, number)]);
  return first === null || second === null ? null : [first, second];
}

// `failed`: why there is no comparison; `wrong`: why they are not aligned. Empty: nothing is.
function Changes({diff, failed, wrong}: {diff: Comparison|null; failed: string; wrong: string}) {
  return (
    <section class="pair-diff" tabIndex={0} aria-label="Changes">
      {[wrong, failed].map((text) => text !== '' && <p class="refused" role="alert">{text}</p>)}
      {diff ? (
        <>
          <Section title="All processes" section={diff.totals} />
          <Section title="Call path, without the segments inside" section={diff.rows} />
          <p class="footer">{formatCount(diff.rows_total)} call paths differ, {formatCount(diff.rows_equal)} are equal.
            {diff.rows_total > ROWS ? ` The first ${ROWS} are shown; countrace diff has all.` : ''}</p>
          {diff.notes.map((note) => <p class="footer" key={note}>{note}</p>)}
        </>
      ) : failed === '' && <p class="footer">Comparing{'\u2026'}</p>}
    </section>
  );
}

function Pair() {
  const [both, setBoth] = useState<{stages: Two; step: Step}|null>(null);
  const [segments, setSegments] = useState<string[]>([]);
  const [aligned, setAligned] = useState({by: BEGIN, number: 1, wrong: '', begins: [0, 0]});
  const latest = useRef(0); // of the alignments that were wanted
  const [diff, setDiff] = useState<Comparison|null>(null);
  const [failed, setFailed] = useState('');
  const ready = (pages: readonly PairFrame[]): void => {
    void (async () => {
      const stages = pages as unknown as Two;
      const listSegments = async (): Promise<void> => {
        const [first, second] = await Promise.all(stages.map((stage) => stage.segments()));
        setSegments([...new Set(first)].filter((name) => second?.includes(name)).sort());
      };
      await listSegments();
      const [a, b] = stages.map((stage) => ({stage, clock: clockFrom(0)}));
      if (a && b) setBoth({stages, step: new Step([a, b])});
      await Promise.all(stages.map((stage) => stage.whole()));
      await listSegments();
      const answer = await fetch(`api/v1/diff?limit=${ROWS}`);
      const body = await answer.json() as Comparison&{error?: string};
      if (answer.ok) setDiff(body);
      else setFailed(body.error ?? `${answer.status}`);
    })().catch((error: unknown) => setFailed(`The two were not compared: ${textOf(error)}`));
  };
  const align = async (by: string, number: number): Promise<void> => {
    if (!both || !(number >= 1)) return;
    const mine = ++latest.current;
    const [begins, wrong] = await beginsOf(both.stages, by, number).then(
        (found) => [found, `${by} has not ${number} calls in both`] as const,
        (error: unknown) => [null, `Not aligned at ${by}: ${textOf(error)}`] as const);
    if (mine !== latest.current) return; // another was wanted meanwhile
    setAligned((before) => begins ? {by, number, wrong: '', begins: [...begins]} : {...before, wrong});
    if (begins) both.step.align(begins.map(clockFrom));
  };
  const oneBoot = both !== null && isOneBoot(both.stages);
  const isCall = aligned.by !== BEGIN && aligned.by !== CLOCK;
  const head = (
    <div class="pair-head">
      <label>Same instant: <select value={aligned.by} disabled={!both} onChange={(event) => void align(event.currentTarget.value, 1)}>
        <option value={BEGIN}>begin of the trace</option>
        {oneBoot && <option value={CLOCK}>the clock of the machine</option>}
        {segments.map((name) => <option key={name} value={name}>call of {name}</option>)}
      </select></label>
      {isCall && <label>number <input type="number" min="1" max="10000" value={aligned.number}
                                      onChange={(event) => void align(aligned.by, Math.min(Math.floor(Number(event.currentTarget.value)), 10_000))} /></label>}
      {both && <span class="faint">{both.stages.map((stage, i) => `${stage.name} at ${formatInstant(aligned.begins[i] ?? 0, 1)}`).join(', ')}</span>}
    </div>
  );
  return <Frames sides={SIDES} ready={ready} head={head} between={<Changes diff={diff} failed={failed} wrong={aligned.wrong} />}
                 heading={(side, stage) => <>{SIDES[side]?.title} <span class="faint">{stage?.name}</span></>} />;
}

effect(() => {
  document.documentElement.dataset['theme'] = theme.value.dark ? 'dark' : 'light';
});
const root = document.getElementById('app');
if (root) {
  forgetToken();
  void (async () => {
    const {hosts: [first, ...others], messages} = await (await fetch('api/v1/hosts')).json() as {hosts: Host[]; messages: boolean};
    render(first ? <Hosts hosts={[first, ...others]} messages={messages} /> : <Pair />, root);
  })().catch((error: unknown) => (root.textContent = `The timeline could not be loaded: ${textOf(error)}. Is \`countrace view\` still running?`));
}
