// The page and its layout.

import {useEffect, useRef} from 'preact/hooks';

import type {Application} from './application';
import {commandFor} from '../core/keymap';
import {BuildingNotice} from './building_notice';
import {focusFindBox} from '../find/find_box';
import {FunctionTable} from '../code/function_table';
import {ComparisonTable} from '../compare/comparison_table';
import {SelectionPanel} from '../tables/selection_panel';
import {FunctionSource} from '../code/function_source';
import {MinimapView} from '../timeline/minimap_view';
import {ErrorPanel, HelpDialog, LiveRegion, LostPanel, QualityBanner} from './notices';
import {NotesPanel} from '../notes/notes_panel';
import {NowPanel} from '../replay/now_panel';
import {QueryTable} from '../query/query_table';
import {RangePanel} from '../tables/range_panel';
import {SourcePanel} from '../code/source_panel';
import {theme} from '../core/theme';
import {TimelineView} from '../timeline/timeline_view';
import {Toolbar} from './toolbar';
import {useSignal} from '../core/use_signal';

// Keys that an input, a button or a table row handles itself.
function isTyping(target: EventTarget|null, code: string): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLSelectElement || target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement) return true;
  if (target instanceof HTMLTableRowElement && code === 'Enter') return true;
  return target instanceof HTMLButtonElement && (code === 'Space' || code === 'Enter');
}

export function App({app}: {app: Application}) {
  const {core, code, compare, engine, notes, query, replay, tables, timeline} = app;
  const minimap = useRef<HTMLCanvasElement>(null);
  const dark = useSignal(theme).dark;
  useSignal(core.names.changed); // all views show names
  const sourceOpen = useSignal(code.source.open);
  const opened = useSignal(code.functions.opened);
  const others = {
    functions: () => <FunctionTable code={code} />,
    changes: () => <ComparisonTable compare={compare} />,
    query: () => <QueryTable query={query} />,
  };
  useEffect(() => {
    document.documentElement.dataset['theme'] = dark ? 'dark' : 'light';
  }, [dark]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (isTyping(event.target, event.code)) return;
      const command = commandFor(event);
      if (!command) return;
      if (core.page.helpOpen.value && command !== 'help' && command !== 'clear') return;
      event.preventDefault();
      if (command === 'find') return focusFindBox();
      if (command === 'commands') return focusFindBox('>');
      if (command === 'filter') return focusFindBox(core.focus.filter.value === '' ? ':' : '');
      core.commands.run(command, core.focus.pointer.value?.x ?? null);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [core]);
  return (
    <div class="page">
      <Toolbar app={app} />
      <BuildingNotice core={core} />
      <QualityBanner core={core} />
      <ErrorPanel core={core} />
      <LostPanel core={core} />
      <div class="body">
        <main class="main">
          <MinimapView core={core} canvas={minimap} />
          <TimelineView timeline={timeline} engine={engine} minimap={minimap} />
          {opened ? <FunctionSource key={opened.function} code={code} row={opened} /> :
            sourceOpen ? <SourcePanel code={code} instant={replay.now.instant} /> : <RangePanel tables={tables} others={others} />}
        </main>
        <NowPanel replay={replay}>
          <SelectionPanel tables={tables} />
          <NotesPanel notes={notes} />
        </NowPanel>
      </div>
      <HelpDialog core={core} />
      <LiveRegion core={core} />
    </div>
  );
}
