// Names for the numbers in tiles and tables, fetched when one is missing: only
// those of what is in sight. Names come from the trace and are untrusted: they
// are only put into text nodes and canvas text.

import {type Signal, signal} from '@preact/signals-core';

import {type Aggregate, type HookItem, NO_KEY, type ProcessItem, type RowItem, type ThreadItem, type TraceInfo} from '../api/schema';

const MOST_LETTERS = 200; // of a name

// Makes visible what has no glyph or changes the direction; cuts what is long.
export function clean(name: string): string {
  return visible(name.length > MOST_LETTERS ? `${name.slice(0, MOST_LETTERS - 1)}\u2026` : name);
}
export function visible(text: string): string {
  return text.replace(
      /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
      '\u00b7');
}

// Where names come from; the client.
export interface NameSource {
  processesOf(numbers: readonly number[]): Promise<ProcessItem[]>;
  threadsOf(numbers: readonly number[]): Promise<ThreadItem[]>;
}

const MOST_AT_ONCE = 1000;

export class Names {
  readonly events: string[];
  // Rows of the machine: CPUs, their interrupts, what is not known.
  readonly rows: readonly RowItem[];
  readonly processes = new Map<number, ProcessItem>();
  readonly threads = new Map<number, ThreadItem>();
  readonly hooks = new Map<number, HookItem>();
  // Incremented when names arrive.
  readonly changed: Signal<number> = signal(0);
  pending = 0; // requests under way

  private readonly asked = {processes: new Set<number>(), threads: new Set<number>()};
  private readonly numbers = new Map<string, number>(); // of hooks
  private numberedAt = 0;
  private coming: Promise<void> = Promise.resolve(); // what was asked for last
  private missing: {processes: number[]; threads: number[]} = {processes: [], threads: []};

  constructor(readonly trace: TraceInfo, private readonly source: NameSource|null = null) {
    this.events = (trace.events ?? []).map(clean);
    this.rows = trace.machine_rows;
  }

  process(number: number): ProcessItem|undefined {
    const item = this.processes.get(number);
    if (!item) this.ask('processes', number);
    return item;
  }
  thread(number: number): ThreadItem|undefined {
    const item = this.threads.get(number);
    if (!item) this.ask('threads', number);
    return item;
  }
  // Resolves when all of these are here, or cannot be.
  know(processes: readonly number[], threads: readonly number[]): Promise<void> {
    for (const number of processes) this.process(number);
    for (const number of threads) this.thread(number);
    return this.coming;
  }
  addProcess(item: ProcessItem): void {
    this.processes.set(item.process, {...item, comm: clean(item.comm)});
  }
  addThread(item: ThreadItem): void {
    this.threads.set(item.thread, {...item, comm: clean(item.comm)});
  }
  // Those that only a report has come with its rows; another report may have
  // others of these numbers.
  addReported({processes, segments, hooks, threads = []}: Pick<Aggregate, 'processes'|'segments'|'hooks'|'threads'>): void {
    const unknown = {on_cpu_ns: null, quality: 'unknown'} as const;
    for (const {process, pid, comm} of [...processes, ...segments, ...hooks]) {
      if (pid !== undefined && comm !== undefined) {
        this.addProcess({process, pid, comm, parent_pid: 0, hooked: false, in_scope: true, ...unknown});
      }
    }
    for (const {thread, tid, pid = 0, comm, process = NO_KEY} of threads) {
      if (tid !== undefined && comm !== undefined) this.addThread({thread, tid, pid, comm, process, ...unknown});
    }
  }
  addHooks(items: readonly HookItem[]): void {
    for (const item of items) this.hooks.set(item.hook, {...item, name: clean(item.name)});
    ++this.changed.value;
  }

  // The first hook of a name.
  hookNamed(name: string): number|undefined {
    if (this.numberedAt !== this.hooks.size) {
      this.numbers.clear();
      for (const {hook, name: known} of this.hooks.values()) if (!this.numbers.has(known)) this.numbers.set(known, hook);
      this.numberedAt = this.hooks.size;
    }
    return this.numbers.get(name);
  }

  private ask(kind: 'processes'|'threads', number: number): void {
    if (number === NO_KEY || number < 0 || !this.source || this.asked[kind].has(number)) return;
    this.asked[kind].add(number);
    // One request for all that a frame, or a table, misses.
    if (this.missing.processes.length + this.missing.threads.length === 0) {
      ++this.pending;
      this.coming = new Promise((done) => setTimeout(() => void this.fetch().then(done), 0));
    }
    this.missing[kind].push(number);
  }

  private async fetch(): Promise<void> {
    const {processes, threads} = this.missing;
    this.missing = {processes: [], threads: []};
    try {
      for (const part of parts(threads)) {
        for (const item of await this.source?.threadsOf(part) ?? []) this.addThread(item);
      }
      for (const part of parts(processes)) {
        for (const item of await this.source?.processesOf(part) ?? []) this.addProcess(item);
      }
    } catch {
      // The server is gone: they are asked for again when it is back.
      for (const number of processes) this.asked.processes.delete(number);
      for (const number of threads) this.asked.threads.delete(number);
    } finally {
      --this.pending;
    }
    ++this.changed.value;
  }
}

function parts(numbers: readonly number[]): number[][] {
  const all: number[][] = [];
  for (let i = 0; i < numbers.length; i += MOST_AT_ONCE) all.push(numbers.slice(i, i + MOST_AT_ONCE));
  return all;
}

export function processName(names: Names, process: number): string {
  return names.process(process)?.comm || 'unknown process';
}

export function threadName(names: Names, thread: number): string {
  const item = names.thread(thread);
  return item ? `${item.comm || '?'} ${item.tid}` : 'unknown thread';
}

export function hookName(names: Names, hook: number): string {
  return names.hooks.get(hook)?.name || `hook ${hook}`;
}

export function processOf(names: Names, thread: number): number {
  return names.thread(thread)?.process ?? NO_KEY;
}
