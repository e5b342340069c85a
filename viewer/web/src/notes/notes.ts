// What the user marks in time: notes, which are kept with the trace, and two
// markers, A and B, whose difference is shown; they are in the page's address.

import {effect, type Signal, signal} from '@preact/signals-core';

import {ApiError} from '../api/client';
import type {Note} from '../api/schema';
import type {Core} from '../core/core';
import {clean} from '../core/names';
import type {Flag} from '../timeline/paint/flag_painter';
import {noteFile} from './note_file';

export const MARKERS = ['A', 'B'] as const;

export class Notes {
  readonly all: Signal<readonly Note[]> = signal([]);
  readonly at: Signal<readonly (number|null)[]> = signal([null, null]); // of the markers
  readonly writing: Signal<number|null> = signal(null); // where a note is being written
  readonly draft = signal(''); // its text
  readonly refused: Signal<string|null> = signal(null); // why there are none
  // A recording that goes on, and a file, keep no new ones.
  readonly isKept: boolean;

  constructor(readonly core: Core, private readonly flags: Signal<readonly Flag[]>) {
    const {playback, commands, address} = core;
    this.isKept = core.client.backend.hasTrace && !core.extent.growth.peek().live;
    const mark = (which: number) => (): void => {
      const at = Math.floor(playback.play.peek().at);
      this.setMarker(which, this.at.peek()[which] === at ? null : at);
    };
    commands.register({
      'marker-a': mark(0),
      'marker-b': mark(1),
      note: () => {
        if (this.isKept) this.writing.value = Math.floor(playback.play.peek().at);
        else this.refused.value = `No new notes are kept ${core.client.backend.hasTrace ? 'while the recording goes on' : 'in this file: countrace view keeps them with the trace'}`;
      },
    });
    address.register({
      key: 'markers',
      read: (text) => {
        const [, ...ends] = /^(\d*)-(\d*)$/.exec(text ?? '') ?? [];
        this.at.value = MARKERS.map((_, i) => ends[i] ? Math.min(Number(ends[i]), core.durationNs) : null);
      },
      write: () => this.at.value.every((one) => one === null) ? null : this.at.value.map((one) => one ?? '').join('-'),
    });
  }

  setMarker(which: number, to: number|null): void {
    this.at.value = this.at.peek().map((old, i) => i === which ? to : old);
    this.core.announce(to === null ? `No marker ${MARKERS[which]}` : this.difference() ?? `Marker ${MARKERS[which]}`);
  }
  // From A to B, in words; null: one of them is not set.
  difference(): string|null {
    const [a, b] = this.at.peek();
    return a === null || a === undefined || b === null || b === undefined ? null : `A to B: ${b - a} ns`;
  }

  start(): void {
    effect(() => {
      this.flags.value = [
        ...this.all.value.map(({at, text}): Flag => ({at, text: clean(text), isMarker: false})),
        ...this.at.value.flatMap((at, i): Flag[] => at === null ? [] : [{at, text: MARKERS[i] ?? '', isMarker: true}]),
      ];
    });
    if (!this.core.client.backend.hasTrace) this.all.value = noteFile(this.core.names.trace.part_from_ns ?? 0, this.core.durationNs);
    else if (this.isKept) void this.load();
  }

  // What is being written; it stays until it is kept.
  add(): void {
    const [at, text] = [this.writing.peek(), this.draft.peek().trim()];
    if (at === null || text === '') return this.drop();
    void this.edit((notes) => [...notes, {at, text}].sort((a, b) => a.at - b.at), () => this.drop());
  }
  drop(): void {
    this.writing.value = null;
    this.draft.value = '';
  }
  // One of those that are equal.
  remove(note: Note): void {
    void this.edit((notes) => {
      const gone = notes.findIndex(({at, text}) => at === note.at && text === note.text);
      return notes.filter((_, i) => i !== gone);
    });
  }

  private load(): Promise<void> {
    return this.asked(async () => {
      this.all.value = await this.core.client.notes();
    });
  }
  // Changes what others may have written meanwhile.
  private edit(change: (notes: readonly Note[]) => Note[], done: () => void = () => undefined): Promise<void> {
    return this.asked(async () => {
      for (let tries = 3;; --tries) {
        try {
          const before = this.all.peek();
          this.all.value = await this.core.client.saveNotes(before, change(before));
          return done();
        } catch (error) {
          if (!(error instanceof ApiError) || error.status !== 409 || tries === 0) throw error;
          this.all.value = await this.core.client.notes();
        }
      }
    });
  }
  private asked(work: () => Promise<void>): Promise<void> {
    return this.core.requests.guard(async () => {
      try {
        await work();
        this.refused.value = null;
      } catch (error) {
        // There is no trace beside the index, or the file cannot be read or written.
        if (!(error instanceof ApiError) || error.status >= 500) throw error;
        if (error.status !== 404) this.refused.value = error.reason;
      }
    });
  }
}
