// Processes, threads, segments and hooks by a part of their name, or by their
// number. Pure.

import type {Names} from './names';

export type Hit = PlaceHit|HookHit;
export interface PlaceHit {
  kind: 'process';
  process: number;
  thread: number|null; // null: the process
  text: string;
}
export interface HookHit {
  kind: 'hook'; // or segment
  hook: number;
  calls: number; // in the whole trace
  text: string;
}

const MOST_HITS = 200;

// Processes first, each with the most CPU time first; then hooks by calls, then
// threads.
export function find(names: Names, wanted: string): Hit[] {
  const text = wanted.trim().toLowerCase();
  if (text === '') return [];
  const matches = (comm: string, id: number): boolean =>
      `${comm} ${id}`.toLowerCase().includes(text);
  const heaviest = (a: {on_cpu_ns: number|null}, b: {on_cpu_ns: number|null}): number =>
      (b.on_cpu_ns ?? 0) - (a.on_cpu_ns ?? 0);
  const hits: Hit[] = [...names.processes.values()]
                          .filter((item) => matches(item.comm, item.pid))
                          .sort(heaviest)
                          .map((item) => ({kind: 'process', process: item.process, thread: null, text: `${item.comm} ${item.pid}`}));
  const hooks = [...names.hooks.values()].filter((item) => item.name.toLowerCase().includes(text));
  for (const {hook, calls, name} of hooks.sort((a, b) => b.calls - a.calls)) {
    if (calls > 0) hits.push({kind: 'hook', hook, calls, text: name});
  }
  for (const item of [...names.threads.values()].sort(heaviest)) {
    if (item.tid === item.pid || !matches(item.comm, item.tid)) continue;
    hits.push({kind: 'process', process: item.process, thread: item.thread, text: `${item.comm} ${item.tid}`});
  }
  return hits.slice(0, MOST_HITS);
}
