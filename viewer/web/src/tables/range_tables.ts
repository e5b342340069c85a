// The tables of the selection, or of the whole trace: which one is shown, its
// order and page, and the answers.

import {effect, type Signal, signal} from '@preact/signals-core';

import {ApiError, isReplaced} from '../api/client';
import type {Aggregate} from '../api/schema';
import {type Field, wordField} from '../core/address';
import type {Core} from '../core/core';
import type {Span} from '../core/range';
import type {Selected} from '../core/selection';
import {afterFailure, instead, isThereSoon, readReport, type Source} from './reported_rows';
import {keysOf, selectedRow, type Table, tablesOf} from './selected_row';

export const TABLE_ROWS = 100; // of a page of a table
const MOST_ROWS = 1000; // of an answer
const REST_MS = 40; // after the last move of a drag

export type Tab = Table|'functions'|'calltree'|'allcolumns'|'events'|'changes'|'query'|'requests';
export const TABS: readonly Tab[] = ['processes', 'threads', 'segments', 'hooks', 'cpus', 'waits', 'events', 'functions', 'calltree', 'allcolumns', 'query', 'requests'];
// From the trace, with all columns of the report.
export const isReported = (tab: Tab): tab is 'calltree'|'allcolumns' => tab === 'calltree' || tab === 'allcolumns';
const isTable = (tab: Tab): tab is Table => tab !== 'events' && tab !== 'changes' && tab !== 'functions' && tab !== 'query' && tab !== 'requests' && !isReported(tab);
export interface Order {
  column: string; // API.md, "aggregate"
  down: boolean;
}
export const FIRST_ORDER: Record<Table|'functions'|'requests', Order> = {
  processes: {column: 'on_cpu_ns', down: true},
  threads: {column: 'on_cpu_ns', down: true},
  segments: {column: 'wall_ns.excl', down: true},
  hooks: {column: 'hits', down: true},
  cpus: {column: '', down: false}, // by number
  waits: {column: 'ns', down: true},
  functions: {column: 'self', down: true},
  requests: {column: 'duration_ns', down: true},
};

// The table that an answer holds.
export function tableOf(data: Aggregate): Table {
  for (const table of ['threads', 'segments', 'hooks', 'cpus', 'waits'] as const) {
    if (typeof data[`${table}_total`] === 'number') return table;
  }
  return 'processes';
}

const keyOf = ({from, to}: Span): string => `${from} ${to}`;

export class RangeTables {
  readonly tab: Signal<Tab> = signal('processes');
  readonly order: Signal<Order> = signal(FIRST_ORDER.processes);
  readonly offset = signal(0); // first row of the page
  readonly aggregate: Signal<Aggregate|null> = signal(null);
  condition = ''; // that selected the rows of `aggregate`
  readonly source: Signal<Source> = signal('report');
  // Why the server has no such table of this range.
  readonly refused: Signal<string|null> = signal(null);

  private abort: AbortController|null = null;
  private timer: ReturnType<typeof setTimeout>|undefined;
  private arrived: Selected|null = null; // its row was found, or is not there
  private arrivedAt = 0; // the page of it
  private seeks = 0; // the last one has its way
  private reported = ''; // the range of which the report was read last
  private readonly tries = signal(0);

  constructor(private readonly core: Core) {
    // Without kernel records there are no processes to show, only segments.
    if (!core.names.rows.some((row) => row.kind === 'cpu')) this.show('segments');
  }

  // Starts the requests that follow the signals.
  start(): void {
    effect(() => {
      void [this.core.range.chosen.value, this.core.focus.filter.value];
      this.offset.value = 0;
    });
    effect(() => {
      const range = this.core.range.chosen.value;
      if (this.core.requests.lost.value || !isTable(this.tab.value)) return;
      void [this.offset.value, this.order.value, this.core.focus.filter.value, this.core.page.panelOpen.value, this.tries.value];
      // Dragging changes the range at every move: send the request when it
      // stops.
      clearTimeout(this.timer);
      this.timer = setTimeout(
          () => void this.load(range ?? {from: 0, to: this.core.durationNs}), REST_MS);
    });
    let isFirst = true; // a link says itself which table is shown
    effect(() => {
      const selected = this.core.selection.selected.value;
      const [first, ...others] = selected ? tablesOf(selected) : [];
      const tab = this.tab.peek();
      if (!isFirst && first && isTable(tab) && ![first, ...others].includes(tab)) this.show(first);
      isFirst = false;
    });
    effect(() => {
      void this.core.selection.wait.value;
      this.arrive();
    });
  }

  field(): Field {
    const {tab} = this;
    const show = (one: Tab): void => this.show(one);
    return wordField('tab', TABS, {
      get value() { return tab.value; },
      set value(one) { show(one); },
    });
  }
  show(tab: Tab): void {
    if (tab === this.tab.value) return;
    this.tab.value = tab;
    this.offset.value = 0;
    if (isTable(tab) || tab === 'functions' || tab === 'requests') this.order.value = FIRST_ORDER[tab];
  }
  // The report that was not to be had.
  readAgain(): void {
    ++this.tries.value;
  }
  // The table by another column; by the same one, the other way.
  orderBy(column: string, down: boolean): void {
    const {order} = this;
    this.offset.value = 0;
    order.value = {column, down: order.value.column === column ? !order.value.down : down};
  }

  private async load(range: Span): Promise<void> {
    this.abort?.abort();
    const abort = new AbortController();
    this.abort = abort;
    const table = this.tab.peek();
    if (!isTable(table)) return;
    await this.core.requests.guard(async () => {
      this.refused.value = null;
      try {
        const show = (answer: Aggregate, source: Source): void => {
          abort.signal.throwIfAborted();
          this.condition = condition;
          this.core.names.addReported(answer);
          this.source.value = source;
          this.aggregate.value = answer;
          this.announce(answer);
          this.arrive();
        };
        const condition = this.core.focus.filter.peek();
        const page = (byReport: boolean): Promise<Aggregate> =>
            this.page(table, range, this.offset.peek(), TABLE_ROWS, {byReport, signal: abort.signal});
        const read = (): ReturnType<typeof readReport> => readReport(() => page(true), abort.signal);
        const isRead = keyOf(range) === this.reported && table !== 'waits' && this.core.page.panelOpen.peek();
        // What was read is there at once: the table does not change to and fro. Unless
        // the server has read so many others since that it has to read it again.
        const report = isRead ? read() : null;
        if (!report || !await isThereSoon(report)) {
          const answer = await page(false);
          const source = answer.final ? 'report' : instead(table, this.core);
          show(answer, source);
          if (source !== 'reading' || !this.core.page.panelOpen.peek()) return;
        }
        const answer = await (report ?? read());
        if ('why' in answer) {
          this.source.value = answer;
        } else {
          // What is selected may be on another page of these rows than of the index's;
          // where the user turned pages meanwhile, they stay.
          if (!isRead && this.offset.peek() === this.arrivedAt) this.arrived = null;
          this.reported = keyOf(range);
          show(answer, 'report');
        }
      } catch (error) {
        this.source.value = afterFailure(this.source.peek(), error);
        if (!(error instanceof ApiError)) throw error;
        if (table === 'waits' && /too many dispatches/.test(error.message)) {
          this.refused.value = 'The range has too many dispatches to say why threads wait. Select a part of it.';
          return;
        }
        // What is no condition here is refused beside the box; the rows stay.
        if (error.status !== 400 || this.core.focus.filter.peek() === '') throw error;
      }
    });
  }

  private page(table: Table, range: Span, offset: number, limit: number, {byReport, signal}: {byReport: boolean; signal?: AbortSignal}): Promise<Aggregate> {
    return this.core.client.aggregate(
        range.from, range.to, {table, ...this.order.peek(), offset, limit, where: this.core.focus.filter.peek(), byReport}, signal);
  }

  // What is selected arrives in its row: the page that has it is shown, once.
  private arrive(): void {
    const {selected: {value: selected}, wait: {value: wait}} = this.core.selection;
    const [table, data] = [this.tab.peek(), this.aggregate.peek()];
    if (!selected || selected === this.arrived || !data || tableOf(data) !== table || !tablesOf(selected).includes(table)) return;
    if (selected.kind === 'wait' && !wait) return;
    this.arrived = selected;
    this.arrivedAt = this.offset.peek();
    if (selectedRow(data, table, selected, wait) === null) void this.seek(table, selected);
  }
  private async seek(table: Table, selected: Selected): Promise<void> {
    const mine = ++this.seeks;
    await this.core.requests.guard(async () => {
      const range = this.core.range.chosen.peek() ?? {from: 0, to: this.core.durationNs};
      const byReport = this.source.peek() === 'report' && keyOf(range) === this.reported && table !== 'waits';
      for (let offset = 0, more = true; more; offset += MOST_ROWS) {
        const data = await this.page(table, range, offset, MOST_ROWS, {byReport}).catch((error: unknown) => {
          if (isReplaced(error)) return null; // another page reads the trace; the rows stay
          throw error;
        });
        if (!data) return;
        const rows = keysOf(data, table);
        const at = rows.indexOf(selectedRow(data, table, selected, this.core.selection.wait.peek()) ?? '');
        if (mine !== this.seeks || this.core.selection.selected.peek() !== selected || this.tab.peek() !== table) return;
        if (at >= 0) this.offset.value = this.arrivedAt = (offset + at) - (offset + at) % TABLE_ROWS;
        more = at < 0 && rows.length === MOST_ROWS;
      }
    });
  }

  private announce(answer: Aggregate): void {
    const {core} = this;
    if (!core.range.chosen.value || this.tab.peek() !== 'processes') return;
    const top = answer.processes.reduce<typeof answer.processes[number]|undefined>(
        (most, row) => most && most.on_cpu_ns >= row.on_cpu_ns ? most : row, undefined);
    core.announce(top ?
        `Selected; most CPU time: ${core.names.process(top.process)?.comm ?? '?'}` :
        'Selected; nothing ran');
  }
}
