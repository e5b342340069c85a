// The find box: Enter goes to the next hit, Shift+Enter to the one before.

import {useMemo, useState} from 'preact/hooks';

import type {AppModel} from '../model/app_model';
import {find} from '../model/find';

// At once, so that what is typed next is in it.
export function focusFindBox(): void {
  document.querySelector<HTMLInputElement>('.find input')?.select();
}

export function FindBox({model}: {model: AppModel}) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(-1);
  const hits = useMemo(() => find(model.names, text), [model, text]);
  const leave = (): void => document.querySelector<HTMLElement>('.area')?.focus({preventScroll: true});
  const go = (step: number): void => {
    if (hits.length === 0) return;
    const next = (at + step + hits.length) % hits.length;
    setAt(next);
    const hit = hits[next];
    if (hit) model.reveal(hit.process, hit.thread);
  };
  return (
    <div class="find" role="search">
      <input type="search" placeholder="Find process, thread  /" aria-label="Find a process or a thread" value={text}
             onInput={(event) => {
               setText(event.currentTarget.value);
               setAt(-1);
             }}
             onKeyDown={(event) => {
               if (event.key === 'Enter') go(event.shiftKey && at >= 0 ? -1 : 1);
               else if (event.key === 'Escape') leave();
               else return;
               event.preventDefault();
               event.stopPropagation();
             }} />
      <span class="faint" aria-live="polite">
        {text === '' ? '' : hits.length === 0 ? 'none' : `${at < 0 ? '' : `${at + 1} of `}${hits.length}`}
      </span>
    </div>
  );
}
