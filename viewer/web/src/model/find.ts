// Processes and threads by a part of their name, or by their number. Pure.

import type {Names} from './names';

export interface Hit {
  process: number;
  thread: number|null; // null: the process
  text: string;
}

const MOST_HITS = 200;

// Processes first, each kind with the most CPU time first.
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
                          .map((item) => ({process: item.process, thread: null, text: `${item.comm} ${item.pid}`}));
  for (const item of [...names.threads.values()].sort(heaviest)) {
    if (item.tid === item.pid || !matches(item.comm, item.tid)) continue;
    hits.push({process: item.process, thread: item.thread, text: `${item.comm} ${item.tid}`});
  }
  return hits.slice(0, MOST_HITS);
}
