// What was found, as a list: of which kind each is, its name and number, and how
// much of the trace it is.

import {formatCount, formatDuration} from '../core/units';
import type {Hit} from './find';

const MOST = 14; // listed around the chosen one

function kindOf(hit: Hit): string {
  return hit.kind === 'hook' ? 'hook' : hit.thread === null ? 'process' : 'thread';
}
function amountOf(hit: Hit): string {
  if (hit.kind === 'hook') return `${formatCount(hit.calls)} calls`;
  return hit.ns === null ? '' : formatDuration(hit.ns);
}

export function HitList({hits, chosen, choose}: {hits: readonly Hit[]; chosen: number; choose: (at: number) => void}) {
  const first = Math.max(0, Math.min(chosen - MOST + 1, hits.length - MOST));
  const rest = hits.length - first - MOST;
  return (
    <ul class="find-drop" id="find-list" role="listbox" aria-label="Found">
      {hits.slice(first, first + MOST).map((hit, index) => (
        <li key={first + index} id={`find-${first + index}`} role="option" aria-selected={first + index === chosen}
            onPointerDown={(event) => {
              event.preventDefault();
              choose(first + index);
            }}>
          <span class="faint kind">{kindOf(hit)}</span><span class="who">{hit.text}</span><span class="faint">{amountOf(hit)}</span>
        </li>
      ))}
      {rest > 0 && <li class="faint" role="presentation">and {formatCount(rest)} more</li>}
    </ul>
  );
}
