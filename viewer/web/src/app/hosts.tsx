// Traces of several hosts, a frame each, on one time axis: that of the first one's
// clock.

import {useState} from 'preact/hooks';

import type {Host} from '../api/schema';
import {formatDuration, formatInstant} from '../core/units';
import {type ClockPoint, clockThrough, type SharedClock} from '../replay/shared_clock';
import {Step} from '../replay/step';
import {Frames} from './frames';
import {type HostPage, Messages} from './messages';
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

// `messages`: it is known which there are.
export function Hosts({hosts, messages}: {hosts: readonly [Host, ...Host[]]; messages: boolean}) {
  const [pages, setPages] = useState<readonly HostPage[]>([]); // when all are whole: threads of a first part have other numbers
  const ends = hosts.flatMap(({clock}) => clock.map(([, common]) => commonNs(hosts[0], common)));
  const begin = Math.min(...ends);
  const heading = (side: number, stage: PairFrame|undefined) => {
    const host = hosts[side] ?? hosts[0];
    const begins = `${stage?.name ?? ''} begins at ${formatInstant(commonNs(hosts[0], host.clock[0][1]), 1)}`;
    return <>{host.name}: {side === 0 ? 'common clock' : boundText(host)} <span class="faint">{begins}</span></>;
  };
  const ready = (stages: readonly PairFrame[]): void => {
    const [first, ...others] = stages.map((stage, i): HostPage => {
      const host = hosts[i] ?? hosts[0];
      const bound = host.within_ns === 0 ? '' : ` ± ${formatDuration(host.within_ns)}`;
      return {host, stage, clock: clockOf(host, hosts[0], stage.beginNs), text: (at) => formatInstant(at, 1) + bound};
    });
    if (!first) return;
    new Step([first, ...others], {from: begin, to: Math.max(...ends)});
    for (const {stage, clock, text} of others) {
      stage.observe(({core}) => (core.instantText = (at) => `${formatInstant(at, 1)} (${hosts[0].name}: ${text(clock.shared(at))})`));
    }
    // What has one value is one request, whatever host its calls are on.
    for (const stage of stages) {
      stage.onRequest((id) => {
        for (const other of stages) if (other !== stage) other.followRequest(id);
      });
    }
    void Promise.all(stages.map((stage) => stage.whole())).then(() => setPages([first, ...others]));
  };
  const head = messages && <div class="pair-head">{pages.length > 0 && <Messages pages={pages} beginNs={begin} />}</div>;
  return <Frames sides={hosts.map(({name, folder}) => ({title: name, folder}))} heading={heading} head={head} ready={ready} />;
}
