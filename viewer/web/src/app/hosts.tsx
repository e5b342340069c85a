// Traces of several hosts, a frame each, on one time axis: that of the first one's
// clock.

import type {Host} from '../api/schema';
import {formatDuration, formatInstant} from '../core/units';
import {type ClockPoint, clockThrough, type SharedClock} from '../replay/shared_clock';
import {Step} from '../replay/step';
import {Frames} from './frames';
import type {PairFrame} from './pair_frame';

// On the common clock, since the first trace's begin.
function commonNs({clock: [[, begin]]}: Host, at: string): number {
  return Number(BigInt(at) - BigInt(begin));
}

// `beginNs`: from where the times of the host's page count.
export function clockOf({clock}: Host, first: Host, beginNs: bigint): SharedClock {
  const [begin, end] = clock.map(([own, common]) => [Number(BigInt(own) - beginNs), commonNs(first, common)] as const) as [ClockPoint, ClockPoint];
  return clockThrough(begin, end);
}
export function boundText({how, within_ns: within}: Host): string {
  return within === 0 ? how : `± ${formatDuration(within)} (${how})`;
}

export function Hosts({hosts}: {hosts: readonly [Host, ...Host[]]}) {
  const heading = (side: number, stage: PairFrame|undefined) => {
    const host = hosts[side] ?? hosts[0];
    const begins = `${stage?.name ?? ''} begins at ${formatInstant(commonNs(hosts[0], host.clock[0][1]), 1)}`;
    return <>{host.name}: {side === 0 ? 'common clock' : boundText(host)} <span class="faint">{begins}</span></>;
  };
  const ready = (stages: readonly PairFrame[]): void => {
    const ends = hosts.flatMap(({clock}) => clock.map(([, common]) => commonNs(hosts[0], common)));
    const pages = stages.map((stage, i) => ({stage, clock: clockOf(hosts[i] ?? hosts[0], hosts[0], stage.beginNs)}));
    const [first, ...others] = pages;
    if (first) new Step([first, ...others], {from: Math.min(...ends), to: Math.max(...ends)});
    // What has one value is one request, whatever host its calls are on.
    for (const stage of stages) {
      stage.onRequest((id) => {
        for (const other of stages) if (other !== stage) other.followRequest(id);
      });
    }
  };
  return <Frames sides={hosts.map(({name, folder}) => ({title: name, folder}))} heading={heading} ready={ready} />;
}
