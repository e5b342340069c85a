// The processes that ran just before the playhead, by name; as bright as the
// share of a CPU that they had.

import type {Replay} from './replay';
import {processName} from '../core/names';
import {css} from '../core/palette';
import {formatDuration, formatPercent} from '../core/units';
import {useSignal} from '../core/use_signal';
import type {Slot} from './process_slots';

const DIMMEST = 0.12;

export function ProcessSlots({replay}: {replay: Replay}) {
  const {core: {book, focus, names}, now} = replay;
  const slots = useSignal(now.slots);
  const recent = useSignal(now.recent);
  const highlight = useSignal(focus.process);
  const span = recent ? recent.to - recent.from : 0;
  const share = (ns: number): number => span > 0 ? ns / span : 0;
  const shown = slots.reduce((sum, slot) => sum + (slot?.ns ?? 0), 0);
  const all = recent ? recent.others.on_cpu_ns + recent.processes.reduce((sum, row) => sum + row.on_cpu_ns, 0) : 0;
  // One process has its pid beside it, several have their number.
  const detail = ({processes: [first, ...more]}: Slot): string => {
    if (first === undefined) return '';
    return more.length > 0 ? `\u00d7 ${more.length + 1}` : String(names.process(first)?.pid ?? '');
  };
  return (
    <>
      <h3>Processes <span class="faint">{span > 0 ? `share of a CPU, last ${formatDuration(span)}` : ''}</span></h3>
      <ul class="tree">
        {slots.map((slot, place) => {
          if (!slot) return <li key={place} />;
          const {name, processes, ns} = slot;
          const [first] = processes;
          const dim = ns === 0 || highlight !== null && !processes.includes(highlight);
          return (
            <li key={place} class={dim ? 'dim' : ''} title={processes.map((one) => `${processName(names, one)} ${names.process(one)?.pid ?? ''}`).join(', ')}>
              <span class="glow"><span style={{
                background: first === undefined ? 'none' : css(book.value.process(first)), opacity: DIMMEST + (1 - DIMMEST) * Math.min(share(ns), 1),
              }} /></span>
              <span class="who">{name} <span class="faint">{detail(slot)}</span></span>
              <span class="share">{ns > 0 ? formatPercent(share(ns)) : ''}</span>
            </li>
          );
        })}
      </ul>
      <p class="faint others">{all > shown ? `others ${formatPercent(share(all - shown))}` : ''}</p>
    </>
  );
}
