// The panel of code, in place of the tables: of a function with its samples, or
// of the open segments.

import type {ComponentChildren} from 'preact';

import type {Core} from '../core/core';
import {useSignal} from '../core/use_signal';
import {DockEdge} from '../tables/dock_edge';

interface Props {
  core: Core;
  label: string;
  of?: string;
  head: ComponentChildren;
  back: {to: string; says?: string; go: () => void};
  children: ComponentChildren;
}

export function CodePanel({core, label, of = '', head, back, children}: Props) {
  const height = useSignal(core.page.panelHeight);
  return (
    <section class={`range open ${of}`} aria-label={label} style={height !== null ? {height: `${height}px`} : {}}>
      <DockEdge core={core} />
      <div class="range-head">
        {head}
        <button class="quiet" title={back.says} onClick={back.go}>{back.to}</button>
      </div>
      {children}
    </section>
  );
}
