// Wiring only: load the overview, build the application, mount the page; all else is
// requested when the overview is painted.

import {type Signal, signal} from '@preact/signals-core';
import {render} from 'preact';

import {type Backend, SERVER} from './api/backend';
import {ApiError, Client, isLost} from './api/client';
import type {Growth} from './api/schema';
import {Application} from './app/application';
import {forgetToken, inPair} from './core/frame';
import {Names} from './core/names';
import {addressAtEnd, addressWhenLonger, firstAddress, isAtEnd} from './app/page_address';
import {App} from './app/app';
import {isInFile, ownFile} from './app/own_file';
import {pairFrameOf} from './app/pair_frame';
import {installTestHook} from './app/test_hook';
import type {TimelineEngine} from './timeline/timeline_engine';

const GROWTH_MS = 500; // between two questions for a longer index
const LIVE_MS = 100; // the same, of a recording that goes on

let shown: Application|null = null;
let backend: Backend = SERVER;

const FIRST_ROWS_MS = 500;

// A page in the background draws no frame.
function painted(): Promise<void> {
  return new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done, 0));
    setTimeout(done, 100);
  });
}
// Until the rows are on screen: other requests would make them late.
function firstRows(engine: TimelineEngine): Promise<void> {
  return new Promise((done) => {
    engine.onFirstTiles = () => void painted().then(done);
    setTimeout(done, FIRST_ROWS_MS);
  });
}

// Shows the index that `growth` names, in place of the one that is shown, at
// `address`, which is computed when the index is there; null: the user went
// elsewhere meanwhile, and what is shown stays.
async function show(root: HTMLElement, growth: Growth, address: () => string|null): Promise<Application> {
  const client = new Client(growth.index, backend);
  const [trace, overview, recorded] = await Promise.all([
    client.trace(), client.overview(), growth.whole || growth.live ? null : client.recorded(),
  ]);
  const names = new Names(trace, client);
  // The view as it is now, not as it was when the trace was requested.
  const hash = address();
  if (hash === null && shown) return shown;
  const app = new Application(client, names, growth, overview, hash ?? '');
  const {core} = app;
  core.extent.recorded = recorded;
  const isFirst = shown === null;
  if (shown) leave(shown, app);
  shown = app;
  document.title = `${trace.path?.split('/').pop() || 'trace'} \u2013 countrace`;
  render(<App key={growth.index} app={app} />, root);
  const save = (address: string): void => {
    if (shown === app) history.replaceState(null, '', location.pathname + location.search + address);
  };
  core.view.onJump = () => {
    save(core.address.write());
    history.pushState(null, '', location.href);
  };
  // One that takes another's place has tables to fill again at once.
  await (isFirst ? firstRows(app.engine) : painted());
  app.start(save);
  if (inPair) showInPair(app);
  else app.replay.beginWhereKnown();
  void core.requests.guard(async () => names.addHooks(await client.hooks()));
  void core.requests.guard(async () => {
    app.timeline.rare.losses.value = app.engine.losses = await client.losses();
    app.engine.invalidate();
  });
  if (new URLSearchParams(location.search).get('test') === '1') installTestHook(app);
  return app;
}

// What a page that is one of several shows.
let onStage: Signal<Application>|null = null;
function showInPair(app: Application): void {
  // Threads are in sight, where the height is shared.
  const {tree} = app.timeline.rows;
  app.timeline.rows.change({cpus: tree.peek().cpus ?? false, counters: tree.peek().counters ?? false});
  if (onStage) {
    onStage.value = app;
    return;
  }
  onStage = signal(app);
  Object.assign(window, {countraceStage: pairFrameOf(onStage)});
}

// Something has the user's attention that would be lost.
function isUsed(root: HTMLElement): boolean {
  return root.querySelector('dialog[open], .function-source, .new-note') !== null ||
      document.activeElement instanceof HTMLInputElement || document.activeElement instanceof HTMLTextAreaElement;
}

// What the user set stays.
function leave(old: Application, next: Application): void {
  const [before, after] = [old.code.functions, next.code.functions];
  next.core.playback.loop.value = old.core.playback.loop.value;
  next.core.playback.skipIdle.value = old.core.playback.skipIdle.value;
  next.code.source.open.value = old.code.source.open.value;
  after.last = before.last;
  after.answer.value = before.answer.value;
  after.listing.value = before.listing.value;
  after.opened.value = before.opened.value;
  next.query.takeOver(old.query);
  for (const part of ['writing', 'draft', 'refused'] as const) (next.notes[part] as Signal<unknown>).value = old.notes[part].peek();
  next.core.page.panelOpen.value = old.core.page.panelOpen.value;
  next.tables.ranges.show(old.tables.ranges.tab.value);
  next.tables.ranges.order.value = old.tables.ranges.order.value;
  old.dispose();
}

async function start(root: HTMLElement): Promise<void> {
  forgetToken();
  addEventListener('popstate', () => shown?.core.address.read(location.hash));
  backend = await ownFile() ?? SERVER;
  const client = new Client('', backend);
  let growth = await client.growth();
  let app = await show(root, growth, () => location.hash || firstAddress(growth));
  while (!growth.whole) {
    await new Promise((done) => setTimeout(done, growth.live ? LIVE_MS : GROWTH_MS));
    if (app.core.requests.lost.value) continue; // it says so itself, and reloads
    try {
      growth = await client.growth();
      app.core.extent.growth.value = growth;
      app.core.extent.failure.value = null;
      const newer = growth;
      if (newer.index === app.core.client.index) continue;
      const goLive = app.core.extent.goLive;
      app.core.extent.goLive = false;
      if (!newer.live && !newer.whole || newer.whole && !isAtEnd(app.core)) {
        app = await show(root, newer, () => addressWhenLonger(app.core));
      } else if (goLive || isAtEnd(app.core) && !isUsed(root)) {
        app = await show(root, newer, () =>
            goLive || isAtEnd(app.core) ? addressAtEnd(app.core, newer.duration_ns) :
            newer.whole ? addressWhenLonger(app.core) : null);
      }
    } catch (error) {
      // Requests of the page that is shown say more.
      if (error instanceof ApiError) app.core.extent.failure.value = error.reason;
      else if (!isLost(error)) throw error;
      growth = app.core.extent.growth.value;
    }
  }
}

const root = document.getElementById('app');
if (root) {
  start(root).catch((error: unknown) => {
    const box = document.createElement('div');
    box.className = 'fatal';
    box.textContent = `The timeline could not be loaded: ${
        error instanceof Error ? error.message : String(error)}. ${
        isInFile() ? 'This file may be cut: get it again.' : 'Is `countrace view` still running?'}`;
    root.replaceChildren(box);
  });
}
