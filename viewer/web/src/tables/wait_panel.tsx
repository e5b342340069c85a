// Why the selected thread does not run: who ended its sleep, who took its CPU,
// who had the CPU that it waited for.

import type {WaitAnswer} from '../api/schema';
import type {AppModel} from '../core/app_model';
import {hookName, type Names, processOf, threadName} from '../core/names';
import {css} from '../core/palette';
import {formatDuration, formatPercent} from '../core/units';
import type {TimelineEngine} from '../timeline/timeline_engine';
import {theme} from '../core/theme';
import {useSignal} from '../core/use_signal';

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
  add('not known', wait.unknown_ns);
  return rows;
}

export function WaitPanel({model, engine}: {model: AppModel; engine: TimelineEngine}) {
  const wait = useSignal(model.wait);
  useSignal(theme);
  if (!wait) return null;
  const names = model.names;
  const length = wait.end_ns - wait.begin_ns;
  const cause = wakeUp(names, wait);
  return (
    <section class="wait" aria-label="Why it waits">
      <h3>{threadName(names, wait.thread)}</h3>
      <p>
        {wait.state === 'waiting' ? `waits for ${wait.cpu === null ? 'a CPU' : `CPU ${wait.cpu}`}` :
            wait.call === null ? 'is blocked' : `is blocked in ${hookName(names, wait.call)}`}
        {' '}for {formatDuration(length)}{cause === null ? '' : `; ${cause}`}.
      </p>
      {wait.state === 'waiting' && (
        <ul class="bars" aria-label="Who had the CPU">
          {waitParts(names, wait).map((part) => (
            <li key={part.name}>
              <span class="bar" style={{
                width: `${part.ns / length * 100}%`,
                background: css(part.process === null ? engine.book.theme.outside : engine.book.process(part.process)),
              }} />
              <span class="who" title={part.name}>{part.name}</span>
              <span class="since">{formatDuration(part.ns)}</span>
              <span class="share">{formatPercent(part.ns / length)}</span>
            </li>
          ))}
        </ul>
      )}
      {wait.interrupts_ns > 0 && <p class="faint">{formatDuration(wait.interrupts_ns)} of it in interrupts</p>}
    </section>
  );
}
