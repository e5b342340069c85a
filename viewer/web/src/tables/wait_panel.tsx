// Why the selected thread does not run: who ended its sleep, who took its CPU,
// who had the CPU that it waited for.

import type {Core} from '../core/core';
import {hookName, threadName} from '../core/names';
import {waitParts, wakeUp} from '../timeline/wait_text';
import {css} from '../core/palette';
import {formatDuration, formatPercent} from '../core/units';
import {theme} from '../core/theme';
import {useSignal} from '../core/use_signal';

export function WaitPanel({core}: {core: Core}) {
  const wait = useSignal(core.selection.wait);
  useSignal(theme);
  if (!wait) return null;
  const names = core.names;
  const length = wait.end_ns - wait.begin_ns;
  const cause = wakeUp(names, wait);
  return (
    <section class="wait" aria-label="Why it waits">
      <h3>{threadName(names, wait.thread)}</h3>
      <p>
        {wait.throttled_ns > 0 ? 'has used up its CPU quota, and waits' :
            wait.state === 'waiting' ? `waits for ${wait.cpu === null ? 'a CPU' : `CPU ${wait.cpu}`}` :
            wait.call === null ? 'is blocked' : `is blocked in ${hookName(names, wait.call)}`}
        {' '}for {formatDuration(length)}{cause === null ? '' : `; ${cause}`}.
      </p>
      {wait.state === 'waiting' && (
        <ul class="bars" aria-label="Who had the CPU">
          {waitParts(names, wait).map((part) => (
            <li key={part.name}>
              <span class="bar" style={{
                width: `${part.ns / length * 100}%`,
                background: css(part.process === null ? core.book.value.theme.outside : core.book.value.process(part.process)),
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
