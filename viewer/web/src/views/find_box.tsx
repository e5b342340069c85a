// The find box: Enter goes to the next hit, Shift+Enter to the one before. If
// what was found is one hook, or is spelled as a hook, to its next call.

import {useMemo, useState} from 'preact/hooks';

import type {AppModel} from '../model/app_model';
import {find} from '../model/find';
import {formatCount} from '../units';

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
    const exact = hits.find((hit) => hit.kind === 'hook' && hit.text.toLowerCase() === text.trim().toLowerCase()) ??
        (hits.length === 1 ? hits[0] : undefined);
    if (exact?.kind === 'hook') return void model.revealCall(exact.hook, step > 0);
    const next = at < 0 && step < 0 ? hits.length - 1 : (at + step + hits.length) % hits.length;
    setAt(next);
    const hit = hits[next];
    if (hit?.kind === 'hook') void model.revealCall(hit.hook, true);
    else if (hit) model.reveal(hit.process, hit.thread);
  };
  const shown = hits.length === 1 ? hits[0] : hits[at];
  return (
    <div class="find" role="search">
      <input type="search" placeholder="Find  /" aria-label="Find a process, a thread, a segment or a hook" value={text}
             onInput={(event) => {
               setText(event.currentTarget.value);
               setAt(-1);
             }}
             onKeyDown={(event) => {
               if (event.key === 'Enter') go(event.shiftKey ? -1 : 1);
               else if (event.key === 'Escape') leave();
               else return;
               event.preventDefault();
               event.stopPropagation();
             }} />
      <span class="faint" aria-live="polite">
        {text === '' ? '' : hits.length === 0 ? 'none' : `${at < 0 ? '' : `${at + 1} of `}${hits.length}`}
        {shown?.kind === 'hook' ? `: ${shown.text}, ${formatCount(shown.calls)} calls` : ''}
      </span>
    </div>
  );
}
