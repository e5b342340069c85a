// Pages of traces in frames, one below the other, under one toolbar and above one
// dock that has a part of each.

import type {ComponentChild} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';

import type {PairFrame} from './pair_frame';

const WAIT_MS = 50;

async function stageIn(frame: HTMLIFrameElement): Promise<PairFrame> {
  for (;;) {
    const {countraceStage} = frame.contentWindow as unknown as {countraceStage?: PairFrame};
    if (countraceStage) return countraceStage;
    await new Promise((done) => setTimeout(done, WAIT_MS));
  }
}

// `folder`: of a page. `ready`: called when all are there; `between`: behind the
// first part of the dock.
export function Frames({sides, heading, head, between, ready}: {
  sides: readonly {title: string; folder: string}[];
  heading: (side: number, stage: PairFrame|undefined) => ComponentChild;
  head?: ComponentChild;
  between?: ComponentChild;
  ready: (stages: readonly PairFrame[]) => void;
}) {
  const around = useRef<HTMLElement>(null);
  const [stages, setStages] = useState<readonly PairFrame[]>([]);
  useEffect(() => {
    void (async () => {
      const all = <T extends HTMLElement>(selector: string): T[] => [...around.current?.querySelectorAll<T>(selector) ?? []];
      const pages = await Promise.all(all<HTMLIFrameElement>('iframe').map(stageIn));
      for (const toolbar of all('.pair-toolbar')) pages[0]?.drawToolbar(toolbar);
      for (const [side, dock] of all('.pair-now').entries()) pages[side]?.drawDock(dock);
      addEventListener('keydown', (event) => pages[0]?.press(event));
      setStages(pages);
      ready(pages);
    })();
  }, []);
  const docks = sides.map(({title}) => <div class="pair-now" key={title} role="group" aria-label={title} />);
  return (
    <main class="pair" ref={around}>
      <div class="pair-toolbar" />
      {head}
      {sides.map(({title, folder}, side) => (
        <div class="pair-stage" key={title}>
          <h2>{heading(side, stages[side])}</h2>
          <iframe title={title} src={`${folder}?pair=1${location.search.replace('?', '&')}`} />
        </div>
      ))}
      <div class="pair-dock">{docks.slice(0, 1)}{between}{docks.slice(1)}</div>
    </main>
  );
}
