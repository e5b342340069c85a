// The processes that run most in the window, by who forked whom; as bright as
// the share of a CPU that each had just before the playhead.

import type {Replay} from './replay';
import {processName} from '../core/names';
import {css} from '../core/palette';
import {formatDuration, formatPercent} from '../core/units';
import {useSignal} from '../core/use_signal';

const DIMMEST = 0.12;
const MOST_INDENT = 10;

export function ProcessTree({replay}: {replay: Replay}) {
  const {core} = replay;
  const rows = useSignal(replay.now.tree);
  const recent = useSignal(replay.now.recent);
  const state = useSignal(replay.now.instant);
  const highlight = useSignal(core.focus.process);
  const names = core.names;
  const span = recent ? recent.to - recent.from : 0;
  const used = new Map(recent?.processes.map((row) => [row.process, row.on_cpu_ns]));
  const at = state?.t ?? 0;
  const inTree = new Set(rows.map((row) => row.process));
  const others = (recent?.others.on_cpu_ns ?? 0) +
      (recent?.processes.reduce((sum, row) => sum + (inTree.has(row.process) ? 0 : row.on_cpu_ns), 0) ?? 0);
  const share = (ns: number): number => span > 0 ? ns / span : 0;
  return (
    <>
      <h3>Processes <span class="faint">{span > 0 ? `share of a CPU, last ${formatDuration(span)}` : ''}</span></h3>
      <ul class="tree">
        {Array.from({length: replay.now.treeRows}, (_, place) => {
          const row = rows[place];
          if (!row) return <li key={place} />;
          const {process, firstNs, endedNs} = row;
          const ended = endedNs !== null && at >= endedNs;
          const unborn = firstNs !== null && at < firstNs;
          const part = share(used.get(process) ?? 0);
          return (
            <li key={place} class={`${ended ? 'ended' : unborn ? 'unborn' : ''} ${highlight !== null && highlight !== process ? 'dim' : ''}`}
                style={{paddingLeft: `${Math.min(row.depth, MOST_INDENT) * 9}px`}}>
              <span class="glow"><span style={{background: css(core.book.value.process(process)),
                opacity: ended || unborn ? 0 : DIMMEST + (1 - DIMMEST) * Math.min(part, 1)}} /></span>
              <span class="who" title={processName(names, process)}>{processName(names, process)} <span class="faint">{names.process(process)?.pid}</span></span>
              <span class="share">{ended ? 'ended' : unborn ? 'not yet' : formatPercent(part)}</span>
            </li>
          );
        })}
      </ul>
      <p class="faint others">{others > 0 ? `others ${formatPercent(share(others))}` : ''}</p>
    </>
  );
}
