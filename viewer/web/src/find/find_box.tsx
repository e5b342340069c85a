// One box. What is typed is found, and listed: Enter goes to the next hit,
// Shift+Enter to the one before (of a hook: to its next call), the arrows choose
// where Enter goes. After `>` it is a command, after
// `:` a condition on the rows, as of `report --where`, or one of the last of them.

import {useEffect, useMemo, useState} from 'preact/hooks';

import type {Timeline} from '../timeline/timeline';
import type {FindPlaces} from './find_places';
import {type Hit, hitsOf} from './find';
import {HitList} from './hit_list';
import {conditionsLike, keepCondition} from './condition_history';
import {pageAround} from '../core/frame';
import {type Command, commandsLike} from '../core/keymap';
import {formatCount} from '../core/units';
import {useSignal} from '../core/use_signal';

const FIND_MS = 80; // after the last key
const NO_HITS: readonly Hit[] = [];

// At once, so that what is typed next is in it.
export function focusFindBox(sign = ''): void {
  const input = pageAround().querySelector<HTMLInputElement>('.find input');
  if (!input) return;
  if (sign !== '') {
    input.value = sign;
    input.dispatchEvent(new Event('input', {bubbles: true}));
    input.focus();
  } else {
    input.select();
  }
}

const leave = (): void => document.querySelector<HTMLElement>('.area')?.focus({preventScroll: true});

// What the text finds, and which of it the user went to.
function useHits(timeline: Timeline, find: FindPlaces, text: string, wanted: boolean) {
  const {core} = timeline;
  const [at, setAt] = useState(-1);
  const [marked, setMarked] = useState(-1); // by the arrows: where Enter goes
  const [hits, setHits] = useState<readonly Hit[]>(NO_HITS);
  const search = async (): Promise<Hit[]> => {
    let found: Hit[] = [];
    await core.requests.guard(async () => {
      found = hitsOf(await core.client.find(text));
    });
    return found;
  };
  useEffect(() => {
    if (!wanted || text.trim() === '') {
      setHits(NO_HITS);
      return;
    }
    let stale = false;
    const timer = setTimeout(() => void search().then((found) => {
      if (!stale) setHits(found);
    }), FIND_MS);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [text, wanted]);
  useEffect(() => void find.show(hits, hits.length === 1 ? 0 : at), [hits, at]);

  const go = async (step: number): Promise<void> => {
    const found = at < 0 ? await search() : hits; // Enter may come before the answer
    if (at < 0) setHits(found);
    if (found.length === 0) return;
    const exact = found.find((hit) => hit.kind === 'hook' && hit.text.toLowerCase() === text.trim().toLowerCase()) ??
        (found.length === 1 ? found[0] : undefined);
    if (exact?.kind === 'hook') return timeline.commands.revealCall(exact.hook, step > 0);
    const next = at < 0 && step < 0 ? found.length - 1 : (at + step + found.length) % found.length;
    return goTo(found, next);
  };
  // Until the hit is in view, the page is not at rest.
  const choose = (work: () => Promise<void>): void => {
    ++core.requests.pending;
    void work().finally(() => --core.requests.pending);
  };
  const goTo = async (found: readonly Hit[], next: number): Promise<void> => {
    setAt(next);
    setMarked(-1);
    const hit = found[next];
    if (hit?.kind === 'hook') await timeline.commands.revealCall(hit.hook, true);
    else if (hit) {
      core.view.onJump();
      await timeline.commands.reveal(hit.process, hit.thread);
    }
  };
  return {at, setAt, marked, setMarked, hits, go, goTo, choose};
}

// Commands, with their keys, or conditions.
interface Choice {
  says: string;
  keys: readonly string[];
  run: () => void;
}
function choicesOf(text: string, run: (command: Command) => void, apply: (condition: string) => void): Choice[] {
  if (text.startsWith('>')) return commandsLike(text.slice(1)).map((command) => ({says: command.says, keys: command.keys.split(' '), run: () => run(command)}));
  return text.startsWith(':') ? conditionsLike(text.slice(1)).map((condition) => ({says: condition, keys: [], run: () => apply(condition)})) : [];
}
function ChoiceList({label, choices, chosen, hidden}: {label: string; choices: readonly Choice[]; chosen: number; hidden: boolean}) {
  return (
    <ul class="find-drop" id="find-list" role="listbox" aria-label={label} hidden={hidden}>
      {choices.map(({says, keys, run}, index) => (
        <li key={says} id={`find-${index}`} role="option" aria-selected={index === chosen}
            onPointerDown={(event) => {
              event.preventDefault();
              run();
            }}>
          <span>{says}</span><span class="keys">{keys.map((key) => <kbd key={key}>{key}</kbd>)}</span>
        </li>
      ))}
    </ul>
  );
}

// The one below or above in a list, at its end round to the other; -1: none yet.
function neighbour(at: number, down: boolean, count: number): number {
  return down ? (at + 1) % count : (Math.max(at, 0) - 1 + count) % count;
}

// "2 of 7: server:handle, 1 200 calls".
function foundText(hits: readonly Hit[], at: number): string {
  if (hits.length === 0) return 'none';
  const shown = hits.length === 1 ? hits[0] : hits[at];
  return `${at < 0 ? '' : `${at + 1} of `}${hits.length}` +
      (shown?.kind === 'hook' ? `: ${shown.text}, ${formatCount(shown.calls)} calls` : '');
}

export function FindBox({timeline, find}: {timeline: Timeline; find: FindPlaces}) {
  const {core} = timeline;
  const filter = useSignal(core.focus.filter);
  const refused = useSignal(timeline.rowTree.refused);
  const [text, setText] = useState(filter === '' ? '' : `:${filter}`);
  const mode = text.startsWith('>') ? 'command' : text.startsWith(':') ? 'filter' : 'find';
  const {at, setAt, marked, setMarked, hits, go, goTo, choose} = useHits(timeline, find, text, mode === 'find');
  // With another text nothing of the list is chosen.
  const change = (to: string): void => {
    setText(to);
    setAt(-1);
    setMarked(-1);
  };
  // Back, or a link, changes the filter.
  useEffect(() => {
    if (filter !== '') change(`:${filter}`);
    else if (text.startsWith(':')) change('');
  }, [filter]);

  const run = (command: Command): void => {
    setText('');
    leave();
    if (command.id === 'find') focusFindBox();
    else if (command.id === 'filter') focusFindBox(':');
    else if (command.id !== 'commands') core.commands.run(command.id, null);
  };
  const apply = (condition: string): void => {
    change(`:${condition}`);
    keepCondition(condition);
    core.focus.filter.value = condition;
  };
  const choices = useMemo(() => choicesOf(text, run, apply), [text]);
  const onEnter = (backwards: boolean): void => {
    if (mode === 'find') choose(() => marked >= 0 ? goTo(hits, marked) : go(backwards ? -1 : 1));
    else if (mode === 'filter' && at < 0) apply(text.slice(1).trim());
    else choices[Math.max(at, 0)]?.run();
  };
  const chosen = mode === 'find' ? (marked >= 0 ? marked : at) : mode === 'filter' ? at : Math.max(at, 0);
  const [focused, setFocused] = useState(false);
  const found = mode === 'find' && focused && hits.length > 0;
  const listed = (mode === 'command' || mode === 'filter' && focused && (filter === '' || text.slice(1).trim() !== filter)) && choices.length > 0 || found;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') onEnter(event.shiftKey);
    else if (event.key === 'Escape') {
      if (mode !== 'find') change(filter === '' ? '' : `:${filter}`);
      leave();
    } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && (mode === 'find' ? hits.length > 0 : listed)) {
      const down = event.key === 'ArrowDown';
      if (mode !== 'find') setAt(neighbour(mode === 'command' ? Math.max(at, 0) : at, down, choices.length));
      else setMarked(neighbour(marked >= 0 ? marked : at, down, hits.length));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const wrong = mode === 'filter' && refused !== null && text.slice(1).trim() === filter;
  return (
    <div class={`find ${mode === 'filter' ? 'filtering' : ''}`} role="search">
      <input type="text" placeholder="Find  /" spellcheck={false} value={text}
             role="combobox" aria-expanded={listed} aria-controls="find-list" aria-autocomplete="list" aria-invalid={wrong}
             aria-label="Find a process, a thread, a segment or a hook; after > a command, after : a condition on the rows"
             title={'Find; > command; : condition on the rows, as report --where: comm == "redis-server" && on_cpu_ns > 5ms'}
             {...(listed && chosen >= 0 ? {'aria-activedescendant': `find-${chosen}`} : {})}
             onFocus={() => setFocused(true)} onBlur={() => setFocused(false)}
             onInput={(event) => change(event.currentTarget.value)}
             onKeyDown={onKeyDown} />
      {filter !== '' && (
        <button class="unfilter" aria-label="Show all rows" title="Show all rows" onClick={() => {
          core.focus.filter.value = '';
          setText('');
        }}>{'\u00d7'}</button>
      )}
      <span class="faint" aria-live="polite">
        {mode === 'command' && choices.length === 0 ? 'none' : mode === 'find' && text !== '' ? foundText(hits, at) : ''}
      </span>
      {wrong && <pre class="find-drop refused" role="alert">{refused}</pre>}
      {found ? <HitList hits={hits} chosen={chosen} names={core.names} find={find} choose={(next) => choose(() => goTo(hits, next))} /> :
        <ChoiceList label={mode === 'filter' ? 'Conditions of before' : 'Commands'} choices={choices} chosen={chosen} hidden={!listed} />}
    </div>
  );
}
