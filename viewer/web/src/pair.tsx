// Two traces side by side: the stage of each in a frame, in step, with one
// toolbar, one dock of two columns, and between these what `countrace diff` says.

import {effect} from '@preact/signals-core';
import {render} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';

import type {ApiError} from './api/client';
import type {Comparison} from './api/schema';
import type {PairFrame} from './app/pair_frame';
import {theme} from './core/theme';
import {formatCount, formatInstant} from './core/units';
import {Section} from './compare/comparison_table';
import {Step} from './replay/step';

const ROWS = 100;
const WAIT_MS = 50;
const SIDES = ['Before', 'After'] as const;
const BEGIN = 'begin', CLOCK = 'clock'; // no segment has such a name: it has a provider

async function stageIn(frame: HTMLIFrameElement): Promise<PairFrame> {
  for (;;) {
    const {countraceStage} = frame.contentWindow as unknown as {countraceStage?: PairFrame};
    if (countraceStage) return countraceStage;
    await new Promise((done) => setTimeout(done, WAIT_MS));
  }
}

// A machine does not start twice in so short a time; by so much its date may have
// been set meanwhile.
const ONE_BOOT_NS = 10_000_000_000n;
function isOneBoot([a, b]: readonly [PairFrame, PairFrame]): boolean {
  const apart = a.clockBeganNs - b.clockBeganNs;
  return a.hostname !== '' && a.hostname === b.hostname && a.clockBeganNs !== 0n && apart < ONE_BOOT_NS && -apart < ONE_BOOT_NS;
}

// An error of a frame is no instance of this page's classes.
function textOf(error: unknown): string {
  const {reason, message} = error as Partial<ApiError>;
  return reason ?? message ?? String(error);
}

// Where both begin if they are aligned; null: one has no such call.
async function beginsOf([a, b]: readonly [PairFrame, PairFrame], by: string, number: number): Promise<readonly [number, number]|null> {
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
  const frames = [useRef<HTMLIFrameElement>(null), useRef<HTMLIFrameElement>(null)] as const;
  const docks = [useRef<HTMLDivElement>(null), useRef<HTMLDivElement>(null)] as const;
  const toolbar = useRef<HTMLDivElement>(null);
  const [step, setStep] = useState<Step<PairFrame>|null>(null);
  const [segments, setSegments] = useState<string[]>([]);
  const [aligned, setAligned] = useState({by: BEGIN, number: 1, wrong: ''});
  const latest = useRef(0); // of the alignments that were wanted
  const [diff, setDiff] = useState<Comparison|null>(null);
  const [failed, setFailed] = useState('');
  useEffect(() => {
    void (async () => {
      const [before, after] = [frames[0].current, frames[1].current];
      if (!before || !after) return;
      const stages = await Promise.all([stageIn(before), stageIn(after)]);
      if (toolbar.current) stages[0].drawToolbar(toolbar.current);
      for (const side of [0, 1] as const) if (docks[side].current) stages[side].drawDock(docks[side].current);
      addEventListener('keydown', (event) => stages[0].press(event));
      const listSegments = async (): Promise<void> => {
        const [first, second] = await Promise.all(stages.map((stage) => stage.segments()));
        setSegments([...new Set(first)].filter((name) => second?.includes(name)).sort());
      };
      await listSegments();
      setStep(new Step(stages));
      await Promise.all(stages.map((stage) => stage.whole()));
      await listSegments();
      const answer = await fetch(`api/v1/diff?limit=${ROWS}`);
      const body = await answer.json() as Comparison&{error?: string};
      if (answer.ok) setDiff(body);
      else setFailed(body.error ?? `${answer.status}`);
    })().catch((error: unknown) => setFailed(`The two were not compared: ${textOf(error)}`));
  }, []);
  const align = async (by: string, number: number): Promise<void> => {
    if (!step || !(number >= 1)) return;
    const mine = ++latest.current;
    const [begins, wrong] = await beginsOf(step.stages, by, number).then(
        (found) => [found, `${by} has not ${number} calls in both`] as const,
        (error: unknown) => [null, `Not aligned at ${by}: ${textOf(error)}`] as const);
    if (mine !== latest.current) return; // another was wanted meanwhile
    setAligned((before) => begins ? {by, number, wrong: ''} : {...before, wrong});
    if (begins) step.align(begins);
  };
  const oneBoot = step !== null && isOneBoot(step.stages);
  const isCall = aligned.by !== BEGIN && aligned.by !== CLOCK;
  return (
    <main class="pair">
      <div ref={toolbar} class="pair-toolbar" />
      <div class="pair-head">
        <label>Same instant: <select value={aligned.by} disabled={!step} onChange={(event) => void align(event.currentTarget.value, 1)}>
          <option value={BEGIN}>begin of the trace</option>
          {oneBoot && <option value={CLOCK}>the clock of the machine</option>}
          {segments.map((name) => <option key={name} value={name}>call of {name}</option>)}
        </select></label>
        {isCall && <label>number <input type="number" min="1" max="10000" value={aligned.number}
                                        onChange={(event) => void align(aligned.by, Math.min(Math.floor(Number(event.currentTarget.value)), 10_000))} /></label>}
        {step && <span class="faint">{step.stages.map((stage, i) => `${stage.name} at ${formatInstant(step.instantOf(i ? 1 : 0), 1)}`).join(', ')}</span>}
      </div>
      {([0, 1] as const).map((side) => (
        <div class="pair-stage" key={side}>
          <h2>{SIDES[side]} <span class="faint">{step?.stages[side].name}</span></h2>
          <iframe ref={frames[side]} title={SIDES[side]} src={`/${side ? 'b' : 'a'}/?pair=1${location.search.replace('?', '&')}`} />
        </div>
      ))}
      <div class="pair-dock">
        <div ref={docks[0]} class="pair-now" role="group" aria-label="Before" />
        <Changes diff={diff} failed={failed} wrong={aligned.wrong} />
        <div ref={docks[1]} class="pair-now" role="group" aria-label="After" />
      </div>
    </main>
  );
}

effect(() => {
  document.documentElement.dataset['theme'] = theme.value.dark ? 'dark' : 'light';
});
const root = document.getElementById('app');
if (root) render(<Pair />, root);
