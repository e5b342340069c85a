// Names for the numbers in tiles and tables. Names come from the trace and are
// untrusted: they are only put into text nodes and canvas text.

import type {Client} from '../api/client';
import {type HookItem, NO_KEY, type ProcessItem, type RowItem, type ThreadItem, type TraceInfo} from '../api/schema';

// Makes control characters and bidirectional overrides visible.
export function clean(name: string): string {
  return name.replace(
      /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
      '\u00b7');
}

export interface Names {
  trace: TraceInfo;
  events: string[];
  processes: Map<number, ProcessItem>;
  threads: Map<number, ThreadItem>;
  hooks: Map<number, HookItem>;
  rows: RowItem[];
  hooked: ReadonlySet<number>; // processes with hooks of their own program
}

export async function loadNames(client: Client): Promise<Names> {
  const trace = await client.trace();
  const [processes, threads, hooks, rows] = await Promise.all([
    client.processes(), client.threads(), client.hooks(), client.rows(),
  ]);
  return {
    trace,
    events: (trace.events ?? []).map(clean),
    processes: new Map(processes.map(
        (item) => [item.process, {...item, comm: clean(item.comm)}])),
    threads: new Map(threads.map(
        (item) => [item.thread, {...item, comm: clean(item.comm)}])),
    hooks: new Map(
        hooks.map((item) => [item.hook, {...item, name: clean(item.name)}])),
    rows,
    hooked: new Set(processes.filter((item) => item.hooked).map((item) => item.process)),
  };
}

export function processName(names: Names, process: number): string {
  return names.processes.get(process)?.comm || 'unknown process';
}

export function threadName(names: Names, thread: number): string {
  const item = names.threads.get(thread);
  return item ? `${item.comm || '?'} ${item.tid}` : 'unknown thread';
}

export function hookName(names: Names, hook: number): string {
  return names.hooks.get(hook)?.name || `hook ${hook}`;
}

export function processOf(names: Names, thread: number): number {
  return names.threads.get(thread)?.process ?? NO_KEY;
}
