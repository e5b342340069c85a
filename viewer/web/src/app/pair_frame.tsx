// What the page of one trace gives to the page that shows several (pair.tsx): its
// stage, and its toolbar and dock, which it draws into that page.

import type {ReadonlySignal} from '@preact/signals-core';
import {computed, effect} from '@preact/signals-core';
import {type ComponentChild, render} from 'preact';

import type {Application} from './application';
import {type Stage, stageOf} from '../replay/stage';
import {RequestPanel} from '../follow/request_panel';
import {NotesPanel} from '../notes/notes_panel';
import {NowPanel} from '../replay/now_panel';
import {SelectionPanel} from '../tables/selection_panel';
import {useSignal} from '../core/use_signal';
import {HelpDialog} from './notices';
import {pressKey} from './press_key';
import {Toolbar} from './toolbar';

export interface PairFrame extends Stage {
  drawToolbar(root: HTMLElement): void;
  drawDock(root: HTMLElement): void;
  // A key of the page around does what it does here.
  press(event: KeyboardEvent): void;
  // Calls `chosen` with the request that the user chose here; null: none any more.
  onRequest(chosen: (id: string|null) => void): void;
  // Follows that of another page, where it is.
  followRequest(id: string|null): void;
  // Calls `look` now, and when a value that it read has changed.
  observe(look: (app: Application) => void): void;
}

// Again for each index, and as names come.
function Part({shown, draw}: {shown: ReadonlySignal<Application>; draw: (app: Application) => ComponentChild}) {
  const app = useSignal(shown);
  useSignal(app.core.names.changed);
  return <>{draw(app)}</>;
}

export function Dock({app: {follow, notes, replay, tables}}: {app: Application}) {
  return (
    <NowPanel replay={replay}>
      <RequestPanel follow={follow} />
      <SelectionPanel tables={tables} />
      <NotesPanel notes={notes} />
    </NowPanel>
  );
}

export function pairFrameOf(shown: ReadonlySignal<Application>): PairFrame {
  const part = (root: HTMLElement, draw: (app: Application) => ComponentChild): void =>
      render(<Part shown={shown} draw={draw} />, root);
  return {
    ...stageOf(computed(() => shown.value.replay)),
    drawToolbar: (root) => part(root, (app) => (
      <>
        <Toolbar key={app.core.client.index} app={app} />
        <HelpDialog core={app.core} />
      </>
    )),
    drawDock: (root) => part(root, (app) => <Dock key={app.core.client.index} app={app} />),
    press: (event) => pressKey(shown.peek().core, event),
    onRequest: (chosen) => void effect(() => {
      shown.value.follow.onChoice = chosen;
    }),
    observe: (look) => void effect(() => look(shown.value)),
    followRequest: (id) => shown.peek().follow.accompany(id),
  };
}
