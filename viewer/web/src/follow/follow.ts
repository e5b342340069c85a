// Requests: the calls and points of all threads that carry the same value
// (`view --join`). Their lanes and table, and the one that is followed.

import {effect, type Signal, signal} from '@preact/signals-core';

import {ApiError, isReplaced} from '../api/client';
import type {RequestRow, RequestsAnswer, RequestSpan} from '../api/requests_schema';
import type {Core} from '../core/core';
import {clean, processOf} from '../core/names';
import type {Span} from '../core/range';
import {TABLE_ROWS} from '../tables/range_tables';
import type {Tables} from '../tables/tables';
import {MORE, usualRequests} from '../timeline/rows/request_lanes';
import type {Timeline} from '../timeline/timeline';

const REST_MS = 200; // lanes come and go when a zoom rests
const DRAG_MS = 40; // after the last move of a drag
const MOST_LANES = 200;
const LANE_SPANS = 64; // calls of a lane
export const MOST_SPANS = 4096; // of the request that is followed
const RETRY_MS = 300;
const LONGEST_RETRY_MS = 10_000;

export class Follow {
  readonly chosen: Signal<RequestRow|null> = signal(null);
  // What joins calls, from the first answer on; null: nothing does.
  readonly join: Signal<string|null> = signal(null);
  readonly answer: Signal<RequestsAnswer|null> = signal(null); // the table's
  readonly range: Signal<Span|null> = signal(null); // of the table; null: the whole trace
  readonly refused: Signal<string|null> = signal(null);
  readonly wantsFocus = signal(false); // the keyboard goes to the box for an id
  // Called with the id of a request that the user chose; null: none any more.
  onChoice: (id: string|null) => void = () => undefined;

  private timer: ReturnType<typeof setTimeout>|undefined;
  private tableTimer: ReturnType<typeof setTimeout>|undefined;
  private abort: AbortController|null = null;
  private loading: Promise<void>|null = null; // of the lanes: one at a time
  private hasNone = false; // nothing joins calls
  private wanted: string|null = null; // of the address, until it is known
  private generation = 0; // of what is followed: a later one takes its place
  // Where the playhead met it last: in which thread, among which rows.
  private met: {thread: number|null; among: unknown} = {thread: null, among: null};

  constructor(readonly core: Core, private readonly timeline: Timeline, readonly tables: Tables) {
    core.commands.register({
      request: () => {
        core.page.panelOpen.value = true;
        this.wantsFocus.value = true;
        tables.ranges.show('requests');
      },
    });
    core.address.register({
      key: 'request',
      read: (text) => {
        this.wanted = text ? decoded(text) : null;
        if (this.join.peek() === null) return;
        if (this.wanted === null) this.leave();
        else void this.find(this.wanted, false);
      },
      write: () => this.chosen.value ? encodeURIComponent(this.chosen.value.id) : this.wanted && encodeURIComponent(this.wanted),
    });
    timeline.onRequest = (row, span) => this.take(row, span);
  }

  // Reads nothing before the first picture, nor while the index grows: each
  // longer one would have the trace read again.
  start(): void {
    const {core, timeline: {rows}, tables: {ranges}} = this;
    if (!core.client.backend.hasTrace || !core.extent.growth.peek().whole) return;
    effect(() => {
      void [core.view.viewport.value, core.view.height.value, rows.tree.value];
      if (!core.requests.lost.value && !this.hasNone) this.wantLanes(this.join.peek() === null ? 0 : REST_MS);
    });
    effect(() => {
      const chosen = core.range.chosen.value;
      const own = this.chosen.peek();
      // A click on a row selects its time: the table stays as it is.
      if (!own || !chosen || chosen.from !== own.begin_ns || chosen.to !== own.end_ns) this.range.value = chosen;
    });
    effect(() => {
      void [this.range.value, this.join.value, ranges.order.value, ranges.offset.value];
      clearTimeout(this.tableTimer);
      if (core.requests.lost.value || ranges.tab.value !== 'requests' || this.join.value === null) return;
      this.tableTimer = setTimeout(() => void this.loadTable(), DRAG_MS);
    });
    effect(() => {
      const rows = this.timeline.rows.requests.peek();
      const chosen = this.chosen.value;
      if (rows) this.timeline.rows.requests.value = {...rows, chosen};
    });
    effect(() => this.meet(core.playback.play.value.at, rows.threads.value));
  }

  // Selects it in time, and follows it.
  show(row: RequestRow): void {
    const {core} = this;
    this.refused.value = null;
    this.onChoice(row.id);
    this.chosen.value = row;
    void this.find(row.id, false); // with all of its calls
    core.view.show(row.begin_ns, row.end_ns);
    core.selection.selectRange(row.begin_ns, row.end_ns);
    core.playback.moveTo(row.begin_ns);
    core.announce(`Request ${clean(row.id)}`);
  }
  // One call of it, or a place of its lane, was clicked.
  take(row: RequestRow, span: RequestSpan|null): void {
    this.onChoice(row.id);
    if (row.request !== this.chosen.peek()?.request) this.chosen.value = row;
    void this.find(row.id, false);
    if (!span) return;
    const {core, timeline} = this;
    void timeline.commands.revealThread(span.thread, {quiet: true, calls: true}).then(() => core.selection.select({
      kind: span.point ? 'hook' : 'segment', process: processOf(core.names, span.thread), thread: span.thread, hook: span.hook, row: null,
      from: span.begin_ns, to: span.end_ns,
    }));
  }
  leave(): void {
    this.onChoice(null);
    this.accompany(null);
  }
  // A page beside this one follows that: so does this one, if it has it.
  accompany(id: string|null): void {
    if (id !== null && this.chosen.peek()?.id === id) return;
    ++this.generation;
    this.chosen.value = this.wanted = null;
    if (id !== null) void this.find(id, false);
  }
  // The one with this id; `jump`: into view.
  async find(id: string, jump: boolean): Promise<void> {
    const generation = ++this.generation;
    const isWanted = (): boolean => generation === this.generation;
    await this.ask(async () => {
      if (!isWanted()) return;
      const [row] = (await this.core.client.requestNamed(id, MOST_SPANS)).rows;
      if (!isWanted()) return;
      this.wanted = null;
      this.refused.value = row ? null : `No request ${clean(id)}: none of the trace's calls has this ${this.join.peek() ?? 'value'}`;
      if (!row) return;
      if (jump) this.show(row);
      else this.chosen.value = row;
    });
  }

  // The thread that works on it at the playhead comes into view; `among`: the
  // rows, which a zoom ranks anew.
  private meet(at: number, among: unknown): void {
    const row = this.chosen.peek();
    if (!row || at < row.begin_ns || at > row.end_ns) return;
    const now = row.spans.filter(({begin_ns: from, end_ns: to}) => from <= at && at <= to).pop();
    if (!now || now.thread === this.met.thread && among === this.met.among) return;
    this.met = {thread: now.thread, among};
    const {rows, commands} = this.timeline;
    const lane = rows.lanes.peek().find(({id}) => id === `thread${now.thread}`);
    const top = lane ? rows.topOf(lane) : -1;
    if (lane && top >= rows.stuckPx.peek() && top + lane.height <= this.core.view.height.peek()) return;
    void commands.revealThread(now.thread, {quiet: true, calls: true});
  }

  // The first answer may be long in coming, since the trace is read for it.
  private wantLanes(afterMs: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      if (this.loading) return this.loading.then(() => this.wantLanes(0));
      this.loading = this.loadLanes();
      await this.loading;
      this.loading = null;
    }, afterMs);
  }
  private loadLanes(): Promise<void> {
    const {core, timeline: {rows}} = this;
    return this.ask(async () => {
      const tree = rows.tree.peek();
      const limit = Math.min(usualRequests(core.view.height.peek()) + tree.moreRequests * MORE, MOST_LANES);
      const {from, to} = core.view.inSight();
      const answer = await core.client.requestRows(
          {from: Math.floor(from), to: Math.ceil(to)}, {column: 'duration_ns', down: true, offset: 0, limit, spans: LANE_SPANS});
      this.hasNone = answer.join === null;
      if (answer.join === null) return;
      const isFirst = this.join.peek() === null;
      this.join.value = answer.join;
      rows.requests.value = {join: answer.join, rows: answer.rows, total: answer.total, chosen: this.chosen.peek()};
      if (isFirst && this.wanted !== null) void this.find(this.wanted, false);
    });
  }
  private async loadTable(): Promise<void> {
    const {core, tables: {ranges}} = this;
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    // What was said before the first table is of the address.
    if (this.answer.peek() !== null) this.refused.value = null;
    await this.ask(async () => {
      this.answer.value = await core.client.requestRows(
          this.range.peek(), {...ranges.order.peek(), offset: ranges.offset.peek(), limit: TABLE_ROWS, spans: 0}, abort.signal);
    });
  }
  // Requests it again while the trace is read for another question.
  private ask(work: () => Promise<void>): Promise<void> {
    return this.core.requests.guard(async () => {
      for (let pause = RETRY_MS;; pause = Math.min(2 * pause, LONGEST_RETRY_MS)) {
        try {
          return await work();
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          if (!isReplaced(error)) {
            this.refused.value = error.reason; // the trace cannot be read any more
            return;
          }
        }
        await new Promise((done) => setTimeout(done, pause));
      }
    });
  }
}

function decoded(text: string): string|null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
