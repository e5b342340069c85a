// The counters at the playhead: a needle for the rate now, and the total.

import type {InstantState} from '../api/schema';
import type {Replay} from './replay';
import {differsInEnd} from '../core/event_labels';
import {formatEventCount, formatEventRate} from '../core/units';
import {useSignal} from '../core/use_signal';

const LONG = 12; // letters that fit at the usual size

// A half circle of radius 11 around (12, 13).
const END = (share: number): string => {
  const angle = Math.PI * (1 - Math.min(Math.max(share, 0), 1));
  return `M12 13L${(12 + 10 * Math.cos(angle)).toFixed(2)} ${(13 - 10 * Math.sin(angle)).toFixed(2)}`;
};

export function Needles({replay, state}: {replay: Replay; state: InstantState}) {
  const {core} = replay;
  const tops = useSignal(replay.now.topRates);
  const names = core.names;
  if (state.events.length === 0) return null;
  return (
    <>
      <h3>Counters <span class="faint">rate now, counted so far</span></h3>
      <table class="counters"><tbody>
        {state.events.map((event, index) => {
          const name = names.events[index] ?? '';
          const top = tops[index] ?? 0;
          const total = `${event.gap ? '\u2265 ' : event.estimated ? '~' : ''}${formatEventCount(name, event.count)}`;
          return (
            <tr key={index}>
              <th scope="row" class={differsInEnd(name, names.events) ? 'by-end' : undefined} title={name}><bdi>{name}</bdi></th>
              <td class="needle" title={top > 0 ? `full scale: ${formatEventRate(name, top)}, the highest so far` : ''}>
                <svg viewBox="0 0 24 14" width="24" height="14" aria-hidden="true">
                  <path class="dial" d="M1 13A11 11 0 0 1 23 13" />
                  {event.rate !== null && <path class="hand" d={END(top > 0 ? event.rate / top : 0)} />}
                </svg>
              </td>
              <td class="rate" title={event.rate_estimated ? 'between two dumps: spread evenly' : ''}>
                {event.rate === null ? '' : `${event.rate_estimated ? '~' : ''}${formatEventRate(name, event.rate)}`}
              </td>
              <td class={total.length > LONG ? 'long' : undefined}
                  title={event.estimated ? 'between two dumps: spread evenly' : event.gap ? 'a CPU\'s count is not known' : ''}>
                {total}
              </td>
            </tr>
          );
        })}
      </tbody></table>
    </>
  );
}
