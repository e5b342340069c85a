// Two traces side by side: the page of each in a frame, in step, and what
// `countrace diff` says of them.

import {render} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';

import type {Comparison} from './api/schema';
import {formatCount, formatInstant} from './units';
import {Section} from './views/comparison_table';
import type {Stage} from './views/stage';

const ROWS = 100;
const WAIT_MS = 50;
const BEGIN = 'begin of the trace';

async function stageIn(frame: HTMLIFrameElement): Promise<Stage> {
  for (;;) {
    const {countraceStage} = frame.contentWindow as unknown as {countraceStage?: Stage};
    if (countraceStage) return countraceStage;
    await new Promise((done) => setTimeout(done, WAIT_MS));
  }
}

// Moves the other stage with the one that moves: `begins` are the same instant.
class Step {
  begins: [number, number] = [0, 0];
  private leading = false;

  constructor(readonly stages: readonly [Stage, Stage]) {
    for (const [side, stage] of stages.entries()) stage.watch(() => this.lead(side));
  }
  lead(side: number): void {
    if (this.leading) return;
    this.leading = true;
    const stage = this.stages[side ? 1 : 0];
    const shift = (side ? this.begins[0] : this.begins[1]) - (side ? this.begins[1] : this.begins[0]);
    const {from, to} = stage.span();
    this.stages[side ? 0 : 1].follow(stage.at() + shift, from + shift, to + shift);
    this.leading = false;
  }
}

function Pair() {
  const before = useRef<HTMLIFrameElement>(null);
  const after = useRef<HTMLIFrameElement>(null);
  const [step, setStep] = useState<Step|null>(null);
  const [segments, setSegments] = useState<string[]>([]);
  const [aligned, setAligned] = useState(BEGIN);
  const [diff, setDiff] = useState<Comparison|null>(null);
  const [wrong, setWrong] = useState('');
  useEffect(() => {
    void (async () => {
      if (!before.current || !after.current) return;
      const stages = await Promise.all([stageIn(before.current), stageIn(after.current)]);
      const [first, second] = await Promise.all(stages.map((stage) => stage.segments()));
      setSegments([...new Set(first)].filter((name) => second?.includes(name)).sort());
      setStep(new Step(stages));
    })();
    void (async () => {
      const answer = await fetch(`api/v1/diff?limit=${ROWS}`);
      const body = await answer.json() as Comparison&{error?: string};
      if (answer.ok) setDiff(body);
      else setWrong(body.error ?? `${answer.status}`);
    })();
  }, []);
  const align = async (segment: string): Promise<void> => {
    if (!step) return;
    const [a, b] = await Promise.all(step.stages.map((stage) => segment === BEGIN ? 0 : stage.firstCall(segment)));
    if (a === null || b === null || a === undefined || b === undefined) return setWrong(`${segment} has no call in one of them`);
    step.begins = [a, b];
    setAligned(segment);
    const [stage] = step.stages;
    const {from, to} = stage.span();
    stage.follow(a, from - stage.at() + a, to - stage.at() + a);
  };
  return (
    <main class="pair">
      <div class="pair-head">
        <h1>Before and after</h1>
        <label>Same instant: <select value={aligned} disabled={!step} onChange={(event) => void align(event.currentTarget.value)}>
          {[BEGIN, ...segments].map((name) => <option key={name} value={name}>{name === BEGIN ? name : `first call of ${name}`}</option>)}
        </select></label>
        {step && <span class="faint">{step.stages.map((stage, i) => `${stage.name} at ${formatInstant(step.begins[i] ?? 0, 1)}`).join(', ')}</span>}
      </div>
      <div class="pair-stages">
        <iframe ref={before} title="Before" src={`/a/${location.search}`} />
        <iframe ref={after} title="After" src={`/b/${location.search}`} />
      </div>
      <section class="pair-diff" tabIndex={0} aria-label="Changes">
        {wrong !== '' && <p class="refused" role="alert">{wrong}</p>}
        {diff ? (
          <>
            <Section title="All processes" section={diff.totals} />
            <Section title="Call path, without the segments inside" section={diff.rows} />
            <p class="footer">{formatCount(diff.rows_total)} call paths differ, {formatCount(diff.rows_equal)} are equal.
              {diff.rows_total > ROWS ? ` The first ${ROWS} are shown; countrace diff has all.` : ''}</p>
            {diff.notes.map((note) => <p class="footer" key={note}>{note}</p>)}
          </>
        ) : wrong === '' && <p class="footer">Comparing{'\u2026'}</p>}
      </section>
    </main>
  );
}

const root = document.getElementById('app');
if (root) render(<Pair />, root);
