// The page and its layout.

import {useEffect, useRef} from 'preact/hooks';

import type {AppModel} from '../core/app_model';
import {commandFor} from '../core/keymap';
import {BuildingNotice} from './building_notice';
import {focusFindBox} from '../find/find_box';
import {FunctionSource} from '../code/function_source';
import {MinimapView} from '../timeline/minimap_view';
import {ErrorPanel, HelpDialog, LiveRegion, LostPanel, QualityBanner} from './notices';
import {NowPanel} from '../replay/now_panel';
import {RangePanel} from '../tables/range_panel';
import {SourcePanel} from '../code/source_panel';
import {theme} from '../core/theme';
import type {TimelineEngine} from '../timeline/timeline_engine';
import {TimelineView} from '../timeline/timeline_view';
import {Toolbar} from './toolbar';
import {useSignal} from '../core/use_signal';

// Keys that an input, a button or a table row handles itself.
function isTyping(target: EventTarget|null, code: string): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLSelectElement || target instanceof HTMLInputElement) return true;
  if (target instanceof HTMLTableRowElement && code === 'Enter') return true;
  return target instanceof HTMLButtonElement && (code === 'Space' || code === 'Enter');
}

export function App({model, engine}: {model: AppModel; engine: TimelineEngine}) {
  const minimap = useRef<HTMLCanvasElement>(null);
  const dark = useSignal(theme).dark;
  useSignal(model.names.changed); // all views show names
  const sourceOpen = useSignal(model.source.open);
  const opened = useSignal(model.functions.opened);
  useEffect(() => {
    document.documentElement.dataset['theme'] = dark ? 'dark' : 'light';
  }, [dark]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (isTyping(event.target, event.code)) return;
      const command = commandFor(event);
      if (!command) return;
      if (model.helpOpen.value && command !== 'help' && command !== 'clear') return;
      event.preventDefault();
      if (command === 'find') return focusFindBox();
      if (command === 'commands') return focusFindBox('>');
      if (command === 'filter') return focusFindBox(model.filter.value === '' ? ':' : '');
      model.run(command, model.hover.value?.x ?? null);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [model]);
  return (
    <div class="page">
      <Toolbar model={model} />
      <BuildingNotice model={model} />
      <QualityBanner model={model} />
      <ErrorPanel model={model} />
      <LostPanel model={model} />
      <div class="body">
        <main class="main">
          <MinimapView model={model} canvas={minimap} />
          <TimelineView model={model} engine={engine} minimap={minimap} />
          {opened ? <FunctionSource key={opened.function} model={model} row={opened} /> :
            sourceOpen ? <SourcePanel model={model} engine={engine} /> : <RangePanel model={model} engine={engine} />}
        </main>
        <NowPanel model={model} engine={engine} />
      </div>
      <HelpDialog model={model} />
      <LiveRegion model={model} />
    </div>
  );
}
