// The source files of the innermost open segments at the playhead, and what the
// calls of each line took in the range of the tables.

import {type Signal, signal} from '@preact/signals-core';

import type {InstantState, SourceAnswer} from '../api/schema';
import type {Core} from '../core/core';

const MOST_SEGMENTS = 1000; // rows of the server's table

export interface LineTotal {
  calls: number;
  ownNs: number;
}
// Where a CPU is: in a file that was found, or its innermost segment in none.
export interface Place {
  cpu: number;
  process: number;
  path: string;
  line: number;
}
export interface SourceText {
  path: string;
  lines: readonly string[];
}

export class SourceView {
  readonly open = signal(false);
  readonly answers: Signal<ReadonlyMap<number, SourceAnswer>> = signal(new Map()); // by hook
  readonly byHook: Signal<ReadonlyMap<number, LineTotal>> = signal(new Map());
  private readonly texts = new Map<string, SourceText>();
  private readonly wanted = new Set<number>();

  constructor(private readonly core: Core) {}

  // Requests what is not there yet.
  want(hooks: Iterable<number>): void {
    for (const hook of hooks) {
      if (this.wanted.has(hook)) continue;
      this.wanted.add(hook);
      void this.core.requests.guard(async () => {
        const answer = await this.core.client.source(hook);
        if (answer.found && !this.texts.has(answer.path)) {
          this.texts.set(answer.path, {path: answer.path, lines: answer.text.split('\n')});
        }
        this.answers.value = new Map([...this.answers.value, [hook, answer]]);
      });
    }
  }
  textOf(path: string): SourceText|null {
    return this.texts.get(path) ?? null;
  }

  async loadTotals(from: number, to: number): Promise<void> {
    await this.core.requests.guard(async () => {
      const answer = await this.core.client.aggregate(
          from, to, {table: 'segments', column: 'wall_ns.excl', down: true, offset: 0, limit: MOST_SEGMENTS});
      this.want(answer.segments.map((row) => row.hook));
      const totals = new Map<number, LineTotal>();
      for (const row of answer.segments) {
        const sum = totals.get(row.hook) ?? {calls: 0, ownNs: 0};
        totals.set(row.hook, {calls: sum.calls + row.calls, ownNs: sum.ownNs + row.wall_ns.excl});
      }
      this.byHook.value = totals;
    });
  }
}

// The innermost segment with a known file of the thread on each CPU.
export function placesOf(
    state: InstantState, answers: ReadonlyMap<number, SourceAnswer>, processOf: (thread: number) => number): Place[] {
  const places: Place[] = [];
  for (const cpu of state.cpus) {
    const thread = state.threads.find((item) => item.thread === cpu.thread);
    for (const segment of [...thread?.open ?? []].reverse()) {
      const answer = answers.get(segment.hook);
      if (!answer?.found) continue;
      places.push({cpu: cpu.cpu, process: processOf(thread?.thread ?? -1), path: answer.path, line: answer.line});
      break;
    }
  }
  return places;
}

// Totals of the lines of a file.
export function lineTotals(
    path: string, byHook: ReadonlyMap<number, LineTotal>, answers: ReadonlyMap<number, SourceAnswer>): Map<number, LineTotal> {
  const lines = new Map<number, LineTotal>();
  for (const [hook, total] of byHook) {
    const answer = answers.get(hook);
    if (!answer?.found || answer.path !== path) continue;
    const sum = lines.get(answer.line) ?? {calls: 0, ownNs: 0};
    lines.set(answer.line, {calls: sum.calls + total.calls, ownNs: sum.ownNs + total.ownNs});
  }
  return lines;
}
