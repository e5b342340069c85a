// The counters at the playhead: the rate just before it as a line, the rate now,
// and the total.

import {useEffect} from 'preact/hooks';

import type {InstantState} from '../api/schema';
import type {Replay} from './replay';
import {RATE_COLUMNS, sparkPath} from './recent_rates';
import {differsInEnd} from '../core/event_labels';
import {formatDuration, formatEventCount, formatEventRate} from '../core/units';
import {useSignal} from '../core/use_signal';

const LONG = 12; // letters that fit at the usual size

const HEIGHT = 14;

export function Counters({replay, state}: {replay: Replay; state: InstantState}) {
  const {core} = replay;
  const tops = useSignal(replay.now.topRates);
  const {names} = core;
  const {rates, window} = replay.now;
  useSignal(rates.arrived);
  useEffect(() => rates.load(state.t, window));
  if (state.events.length === 0) return null;
  return (
    <>
      <h3>Counters <span class="faint">rate now, counted so far</span></h3>
      <table class="counters"><tbody>
        {state.events.map((event, index) => {
          const name = names.events[index] ?? '';
          const recent = rates.of(index, state.t, window);
          const top = Math.max(tops[index] ?? 0, ...recent.map((rate) => rate ?? 0));
          const total = `${event.gap ? '\u2265 ' : event.estimated ? '~' : ''}${formatEventCount(name, event.count)}`;
          return (
            <tr key={index}>
              <th scope="row" class={differsInEnd(name, names.events) ? 'by-end' : undefined} title={name}><bdi>{name}</bdi></th>
              <td class="spark" title={top > 0 ? `the last ${formatDuration(window)}; full scale: ${formatEventRate(name, top)}, the highest so far` : ''}>
                <svg viewBox={`0 0 ${RATE_COLUMNS} ${HEIGHT}`} width={RATE_COLUMNS} height={HEIGHT} aria-hidden="true">
                  <path d={sparkPath(recent, top, HEIGHT)} />
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
