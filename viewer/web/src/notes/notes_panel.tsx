// Markers and notes in the panel: a click goes to one.

import {useEffect, useRef} from 'preact/hooks';

import {clean} from '../core/names';
import {formatDuration, formatInstant} from '../core/units';
import {useSignal} from '../core/use_signal';
import {MARKERS, type Notes} from './notes';

const MOST_LETTERS = 300;

export function NotesPanel({notes}: {notes: Notes}) {
  const {core} = notes;
  const all = [...useSignal(notes.all)].sort((one, other) => one.at - other.at);
  const markers = useSignal(notes.at);
  const writing = useSignal(notes.writing);
  const refused = useSignal(notes.refused);
  const go = (at: number) => (): void => {
    core.view.onJump();
    core.playback.moveTo(at);
    if (!core.view.holds(at)) core.view.centre(at);
  };
  const [a, b] = markers;
  const isSpan = a !== null && a !== undefined && b !== null && b !== undefined && a !== b;
  return (
    <>
      {markers.some((at) => at !== null) && (
        <section class="notes" aria-label="Markers">
          <h3>Markers</h3>
          <ul>{markers.map((at, i) => at !== null && (
            <li key={i}>
              <button class="link" onClick={go(at)}>{MARKERS[i]} <span class="when">{formatInstant(at, 1)}</span></button>
              <button class="gone" aria-label={`Remove marker ${MARKERS[i]}`}
                      onClick={() => notes.setMarker(i, null)}>{'\u00d7'}</button>
            </li>
          ))}</ul>
          {isSpan && (
            <p>A to B: <strong>{b < a ? '\u2212' : ''}{formatDuration(Math.abs(b - a))}</strong>
              <button class="link" onClick={() => core.selection.selectRange(a, b)}>select</button></p>
          )}
        </section>
      )}
      {(all.length > 0 || writing !== null || refused !== null) && (
        <section class="notes" aria-label="Notes">
          <h3>Notes</h3>
          {refused !== null && <p class="loss-note">{clean(refused)}</p>}
          <ul>{all.map((note, i) => (
            <li key={i}>
              <button class="link" onClick={go(note.at)} title={clean(note.text)}><span class="when">{formatInstant(note.at, 1)}</span> {clean(note.text)}</button>
              {notes.isKept && <button class="gone" aria-label={`Remove note: ${clean(note.text)}`} onClick={() => notes.remove(note)}>{'\u00d7'}</button>}
            </li>
          ))}</ul>
          {writing !== null && <NewNote key={writing} notes={notes} at={writing} />}
        </section>
      )}
    </>
  );
}

// Enter keeps it, Escape does not.
function NewNote({notes, at}: {notes: Notes; at: number}) {
  const input = useRef<HTMLInputElement>(null);
  const draft = useSignal(notes.draft);
  useEffect(() => input.current?.focus(), []);
  const leave = (): void => document.querySelector<HTMLElement>('.area')?.focus({preventScroll: true});
  return (
    <input ref={input} class="new-note" type="text" maxLength={MOST_LETTERS} value={draft} onInput={(event) => (notes.draft.value = event.currentTarget.value)} aria-label={`Note at ${formatInstant(at, 1)}`} placeholder={`Note at ${formatInstant(at, 1)}`}
           onKeyDown={(event) => {
             if (event.key !== 'Enter' && event.key !== 'Escape') return;
             event.stopPropagation();
             if (event.key === 'Enter') notes.add();
             else notes.drop();
             leave();
           }} />
  );
}
