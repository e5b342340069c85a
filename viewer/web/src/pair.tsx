// Two traces side by side: the page of each in a frame, in step, and what
// `countrace diff` says of them.

import {render} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';

import type {Comparison} from './api/schema';
import {formatCount, formatInstant} from './core/units';
import {Section} from './compare/comparison_table';
import type {Stage} from './replay/stage';

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

// Two stages in step: the one that was moved last leads. `begins` are the same
// instant.
class Step {
  private begins: readonly [number, number] = [0, 0];
  private leader: 0|1 = 0;
  private moving = true;

  constructor(readonly stages: readonly [Stage, Stage]) {
    for (const side of [0, 1] as const) {
      stages[side].watch((longer) => this.onMove(longer ? this.leader : side, longer));
    }
    this.moving = false;
    this.onMove(0, true);
  }

  // Goes there.
  align(begins: readonly [number, number]): void {
    this.begins = begins;
    this.moving = true;
    const [stage] = this.stages;
    const {at, from, to} = stage.position();
    const [begin] = begins;
    stage.follow({at: begin, from: from - at + begin, to: to - at + begin, runBegin: 0});
    this.moving = false;
    this.onMove(0, true);
  }
  instantOf(side: 0|1): number {
    return this.begins[side];
  }

  // `again`: what the leader has loaded so far is of other instants.
  private onMove(side: 0|1, again: boolean): void {
    if (this.moving) return;
    this.moving = true;
    const other = side ? 0 : 1;
    const [leads, follows] = [this.stages[side], this.stages[other]];
    const shift = this.begins[other] - this.begins[side];
    if (again || side !== this.leader) {
      this.leader = side;
      follows.beLed();
      leads.lead(follows, shift);
    }
    const {at, from, to, runBegin} = leads.position();
    follows.follow({at: at + shift, from: from + shift, to: to + shift, runBegin: runBegin === 0 ? 0 : runBegin + shift});
    leads.load();
    this.moving = false;
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
      else setWrong(body.error ?? `${answer.status}`);
    })();
  }, []);
  const align = async (segment: string): Promise<void> => {
    if (!step) return;
    const [a, b] = await Promise.all(step.stages.map((stage) => segment === BEGIN ? 0 : stage.firstCall(segment)));
    if (a === null || b === null || a === undefined || b === undefined) return setWrong(`${segment} has no call in one of them`);
    setAligned(segment);
    step.align([a, b]);
  };
  return (
    <main class="pair">
      <div class="pair-head">
        <h1>Before and after</h1>
        <label>Same instant: <select value={aligned} disabled={!step} onChange={(event) => void align(event.currentTarget.value)}>
          {[BEGIN, ...segments].map((name) => <option key={name} value={name}>{name === BEGIN ? name : `first call of ${name}`}</option>)}
        </select></label>
        {step && <span class="faint">{step.stages.map((stage, i) => `${stage.name} at ${formatInstant(step.instantOf(i ? 1 : 0), 1)}`).join(', ')}</span>}
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
