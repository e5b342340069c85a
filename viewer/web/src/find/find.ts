// Processes, threads, segments and hooks by a part of their name, or by their
// number: what the server found, in the order in which Enter goes through it.
// Pure.

import type {Found} from '../api/schema';
import {clean} from '../core/names';

export type Hit = PlaceHit|HookHit;
export interface PlaceHit {
  kind: 'process';
  process: number;
  thread: number|null; // null: the process
  ns: number|null; // of CPU time in the whole trace; null: not known
  text: string;
}
export interface HookHit {
  kind: 'hook'; // or segment
  hook: number;
  calls: number; // in the whole trace
  text: string;
}

export function hitsOf({processes, hooks, threads}: Found): Hit[] {
  return [
    ...processes.map((item): Hit => (
        {kind: 'process', process: item.process, thread: null, ns: item.on_cpu_ns, text: `${clean(item.comm)} ${item.pid}`})),
    ...hooks.map((item): Hit => ({kind: 'hook', hook: item.hook, calls: item.calls, text: clean(item.name)})),
    ...threads.map((item): Hit => (
        {kind: 'process', process: item.process, thread: item.thread, ns: item.on_cpu_ns, text: `${clean(item.comm)} ${item.tid}`})),
  ];
}
