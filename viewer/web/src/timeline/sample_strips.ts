// How many samples were taken of each thread in sight, over time: requested when
// the view rests, drawn where it was taken until then.

import {effect, type Signal, signal} from '@preact/signals-core';

import type {Core} from '../core/core';
import {Latest} from '../core/requests';
import type {Viewport} from '../core/viewport';
import type {Brush} from './paint/brush';
import {paintSampleStrips, type Strip} from './paint/sample_painter';
import type {Theme} from '../core/palette';
import type {Rows} from './rows/rows';

const REST_MS = 200;
const MOST_THREADS = 64; // of a request
const COLUMNS = 512;
// The server reads a trace once for them; of a longer one that is too dear.
const MOST_RECORDS = 8e6;

export interface Strips {
  from: number;
  to: number;
  threads: ReadonlyMap<number, readonly number[]>; // samples, by column
}

export class SampleStrips {
  readonly shown: Signal<Strips|null> = signal(null);
  private timer: ReturnType<typeof setTimeout>|undefined;
  private hasNone = false; // the trace has no samples, or too many
  private readonly latest: Latest;

  constructor(private readonly core: Core, private readonly rows: Rows) {
    this.latest = new Latest(core.requests);
  }

  start(): void {
    const {core, rows} = this;
    // Each longer index of a trace would have it read again.
    if (!core.client.backend.hasTrace || !core.extent.growth.peek().whole || (core.names.trace.records ?? 0) > MOST_RECORDS) return;
    effect(() => {
      void [core.view.viewport.value, core.view.scrollY.value, rows.lanes.value, core.view.height.value];
      clearTimeout(this.timer);
      if (core.requests.lost.value || this.hasNone) return;
      this.timer = setTimeout(() => void this.load(), REST_MS);
    });
  }

  // Those whose threads have a row in sight, each at its foot.
  private inSight(): Strip[] {
    const strips = this.shown.peek();
    return strips === null ? [] : this.rows.inSight().flatMap((lane) => {
      const [columns, run] = [lane.kind === 'thread' && strips.threads.get(lane.owner), lane.rows.find(({kind}) => kind === 'run')];
      const extent = run && this.rows.extentOf(lane, run);
      return columns && extent && extent.height > 0 ? [{y: extent.y + extent.height - 1, columns, from: strips.from, to: strips.to}] : [];
    });
  }

  paint(context: Brush, view: Viewport, theme: Theme): void {
    paintSampleStrips(context, this.inSight(), view, theme);
  }

  private async load(): Promise<void> {
    const threads = this.rows.inSight().filter(({kind}) => kind === 'thread').map(({owner}) => owner).slice(0, MOST_THREADS);
    const {from, to} = this.core.view.inSight();
    if (threads.length === 0) return this.latest.end();
    await this.latest.run(async (signal) => {
      const answer = await this.core.client.sampleDensity(threads, from, to, COLUMNS, signal);
      this.hasNone = answer.threads === null;
      this.shown.value = answer.threads &&
          {from: Math.floor(from), to: Math.ceil(to), threads: new Map(answer.threads.map(({thread, columns}) => [thread, columns]))};
    });
  }
}
