// What the server says of a wait, as text: for the tooltip and the panel.

import type {WaitAnswer} from '../api/schema';
import {type Names, processOf, threadName} from '../core/names';

// What began a wait, or ended a sleep; null: not known.
export function wakeUp(names: Names, wait: WaitAnswer): string|null {
  if (wait.preempted_by !== null) return `${threadName(names, wait.preempted_by)} took its CPU`;
  switch (wait.woken_by) {
    case 'thread': return wait.waker === null ? null : `woken by ${threadName(names, wait.waker)}`;
    case 'interrupt': return 'woken by an interrupt';
    case 'idle': return 'woken by an interrupt of an idle CPU';
    case 'outside': return 'woken by a process outside the command';
    default: return null;
  }
}

interface Part {
  name: string;
  process: number|null;
  ns: number;
}

export function waitParts(names: Names, wait: WaitAnswer): Part[] {
  const rows: Part[] = wait.holders.map(({thread, ns}) => (
      {name: threadName(names, thread), process: processOf(names, thread), ns}));
  const add = (name: string, ns: number): void => {
    if (ns > 0) rows.push({name, process: null, ns});
  };
  add('other threads', wait.others_ns);
  add('idle', wait.idle_ns);
  add('outside the command', wait.outside_ns);
  add('its CPU quota', wait.throttled_ns);
  add('not known', wait.unknown_ns);
  return rows;
}
