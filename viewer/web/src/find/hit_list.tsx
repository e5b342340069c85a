// What was found, as a list: of which kind each is, its name and number, how much
// of the trace it is, and where in it.

import type {Names} from '../core/names';
import {formatCount, formatDuration} from '../core/units';
import {useSignal} from '../core/use_signal';
import type {Hit} from './find';
import {type FindPlaces, PLACE_COLUMNS} from './find_places';

const MOST = 14; // listed around the chosen one

const CALL = 2; // HookItem.kind of a segment

function kindOf(names: Names, hit: Hit): string {
  if (hit.kind === 'hook') return names.hooks.get(hit.hook)?.kind === CALL ? 'segment' : 'hook';
  return hit.thread === null ? 'process' : 'thread';
}
function amountOf(hit: Hit): string {
  if (hit.kind === 'hook') return `${formatCount(hit.calls)} calls`;
  return hit.ns === null ? '' : formatDuration(hit.ns);
}

// Where in the whole trace; not known, or not known yet: undefined.
function Place({columns}: {columns: Uint8Array|undefined}) {
  const runs: string[] = [];
  for (let from = columns?.indexOf(1) ?? -1; columns && from >= 0;) {
    const end = columns.indexOf(0, from);
    const to = end < 0 ? columns.length : end;
    // A tick of less than a pixel would not be seen.
    runs.push(`M${from} 0h${Math.max(to - from, PLACE_COLUMNS / 100)}v1h${-Math.max(to - from, PLACE_COLUMNS / 100)}z`);
    from = end < 0 ? -1 : columns.indexOf(1, end);
  }
  return (
    <svg class="place" viewBox={`0 0 ${PLACE_COLUMNS} 1`} preserveAspectRatio="none" aria-hidden="true">
      <path d={runs.join('')} fill="currentColor" />
    </svg>
  );
}

interface Props {
  hits: readonly Hit[];
  chosen: number;
  names: Names;
  find: FindPlaces;
  choose: (at: number) => void;
}

export function HitList({hits, chosen, names, find, choose}: Props) {
  const places = useSignal(find.placesOf);
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
          <span class="faint kind">{kindOf(names, hit)}</span><span class="who">{hit.text}</span><span class="faint">{amountOf(hit)}</span>
          <Place columns={places.get(hit)} />
        </li>
      ))}
      {rest > 0 && <li class="faint" role="presentation">and {formatCount(rest)} more</li>}
    </ul>
  );
}
