// The page and its layout.

import {useEffect, useRef} from 'preact/hooks';

import type {Application} from './application';
import {inPair} from '../core/frame';
import {BuildingNotice} from './building_notice';
import {FunctionTable} from '../code/function_table';
import {ComparisonTable} from '../compare/comparison_table';
import {FunctionSource} from '../code/function_source';
import {MinimapView} from '../timeline/minimap_view';
import {ErrorPanel, HelpDialog, LiveRegion, LostPanel, QualityBanner} from './notices';
import {Dock} from './pair_frame';
import {pressOwnKey} from './press_key';
import {QueryTable} from '../query/query_table';
import {RequestTable} from '../follow/request_table';
import {RangePanel} from '../tables/range_panel';
import {SourcePanel} from '../code/source_panel';
import {theme} from '../core/theme';
import {TimelineView} from '../timeline/timeline_view';
import {Toolbar} from './toolbar';
import {useSignal} from '../core/use_signal';

export function App({app}: {app: Application}) {
  const {core, code, compare, engine, follow, query, replay, tables, timeline} = app;
  const minimap = useRef<HTMLCanvasElement>(null);
  const dark = useSignal(theme).dark;
  useSignal(core.names.changed); // all views show names
  const sourceOpen = useSignal(code.source.open);
  const opened = useSignal(code.functions.opened);
  const panelOpen = useSignal(core.page.panelOpen);
  const joined = useSignal(follow.join) !== null;
  const others = {
    functions: () => <FunctionTable code={code} />,
    changes: () => <ComparisonTable compare={compare} />,
    query: () => <QueryTable query={query} />,
    requests: () => <RequestTable follow={follow} />,
  };
  useEffect(() => {
    document.documentElement.dataset['theme'] = dark ? 'dark' : 'light';
  }, [dark]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => pressOwnKey(core, event);
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [core]);
  return (
    <div class={inPair ? 'page framed' : 'page'}>
      {!inPair && <Toolbar app={app} />}
      <BuildingNotice core={core} />
      <QualityBanner core={core} />
      <ErrorPanel core={core} />
      <LostPanel core={core} />
      <div class="body">
        <main class="main">
          <MinimapView core={core} canvas={minimap} />
          <TimelineView timeline={timeline} engine={engine} minimap={minimap} />
          {opened ? <FunctionSource key={opened.function} code={code} row={opened} /> :
            sourceOpen ? <SourcePanel code={code} instant={replay.now.instant} /> : inPair && !panelOpen ? null : <RangePanel tables={tables} others={others} joined={joined} />}
        </main>
        {!inPair && <Dock app={app} />}
      </div>
      {!inPair && <HelpDialog core={core} />}
      <LiveRegion core={core} />
    </div>
  );
}
