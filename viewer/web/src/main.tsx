// Wiring only: load the overview, build the model, mount the page; all else is
// requested when the overview is painted.

import {type Signal, signal} from '@preact/signals-core';
import {render} from 'preact';

import {type Backend, SERVER} from './api/backend';
import {ApiError, Client, isLost} from './api/client';
import type {Growth} from './api/schema';
import {AppModel} from './core/app_model';
import {Names} from './core/names';
import {addressAtEnd, addressOf, addressWhenLonger, firstAddress, isAtEnd, restore} from './core/page_address';
import {decodeHash} from './core/url_hash';
import {App} from './app/app';
import {isInFile, ownFile} from './app/own_file';
import {savePicture} from './timeline/save_picture';
import {stageOf} from './replay/stage';
import {installTestHook} from './app/test_hook';
import {safePalette, togglePalette, toggleTheme} from './core/theme';
import {TimelineEngine} from './timeline/timeline_engine';

const GROWTH_MS = 500; // between two questions for a longer index
const LIVE_MS = 100; // the same, of a recording that goes on

// Opened by a file (`--open`) the token is still in the address.
function forgetToken(): void {
  const url = new URL(location.href);
  if (!url.searchParams.has('token')) return;
  url.searchParams.delete('token');
  history.replaceState(null, '', url.pathname + url.search + url.hash);
}

interface Shown {
  model: AppModel;
  engine: TimelineEngine;
}
let shown: Shown|null = null;
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
async function show(root: HTMLElement, growth: Growth, address: () => string|null): Promise<Shown> {
  const client = new Client(growth.index, backend);
  const [trace, overview] = await Promise.all([client.trace(), client.overview()]);
  const names = new Names(trace, client);
  // The view as it is now, not as it was when the trace was requested.
  const hash = address();
  if (hash === null && shown) return shown;
  // A link shows the colours that it was made with; what this browser stored stays.
  if (decodeHash(hash ?? '').safePalette) safePalette.value = true;
  const model = new AppModel(client, names, growth, hash ?? '');
  const isFirst = shown === null;
  if (shown) leave(shown, model);
  const engine = new TimelineEngine(model, overview);
  shown = {model, engine};
  document.title = `${trace.path?.split('/').pop() || 'trace'} \u2013 countrace`;
  render(<App key={growth.index} model={model} engine={engine} />, root);
  const save = (hash: string): void => {
    if (shown?.model === model) history.replaceState(null, '', location.pathname + location.search + hash);
  };
  model.onJump = () => {
    save(addressOf(model));
    history.pushState(null, '', location.href);
  };
  model.onPicture = (kind) => savePicture(engine, document.title.split(' ')[0] || 'trace', kind);
  model.onAppearance = (what) => what === 'palette' ? togglePalette() : toggleTheme();
  // One that takes another's place has tables to fill again at once.
  await (isFirst ? firstRows(engine) : painted());
  model.start(save);
  if (parent !== window) showInPair(model);
  void model.guard(async () => names.addHooks(await client.hooks()));
  void model.guard(async () => {
    model.rare.losses.value = engine.losses = await client.losses();
    engine.invalidate();
  });
  if (new URLSearchParams(location.search).get('test') === '1') installTestHook(model, engine);
  return shown;
}

// The model of a page that is one of two.
let stageModel: Signal<AppModel>|null = null;
function showInPair(model: AppModel): void {
  if (stageModel) {
    stageModel.value = model;
    return;
  }
  stageModel = signal(model);
  Object.assign(window, {countraceStage: stageOf(stageModel)});
}

// Something has the user's attention that would be lost.
function isUsed(root: HTMLElement): boolean {
  return root.querySelector('dialog[open], .function-source') !== null ||
      document.activeElement instanceof HTMLInputElement;
}

function leave({model, engine}: Shown, next: AppModel): void {
  next.loop.value = model.loop.value;
  next.skipIdle.value = model.skipIdle.value;
  next.source.open.value = model.source.open.value;
  next.functions.last = model.functions.last;
  next.functions.answer.value = model.functions.answer.value;
  next.functions.listing.value = model.functions.listing.value;
  next.functions.opened.value = model.functions.opened.value;
  next.panelOpen.value = model.panelOpen.value;
  next.tables.show(model.tables.tab.value);
  next.tables.order.value = model.tables.order.value;
  model.transport.pause();
  model.client.onLost = () => undefined;
  engine.dispose();
}

async function start(root: HTMLElement): Promise<void> {
  forgetToken();
  addEventListener('popstate', () => {
    if (shown) restore(shown.model, location.hash);
  });
  backend = await ownFile() ?? SERVER;
  const client = new Client('', backend);
  let growth = await client.growth();
  let {model} = await show(root, growth, () => location.hash || firstAddress(growth));
  while (!growth.whole) {
    await new Promise((done) => setTimeout(done, growth.live ? LIVE_MS : GROWTH_MS));
    if (model.lost.value) continue; // it says so itself, and reloads
    try {
      growth = await client.growth();
      model.growth.value = growth;
      model.buildFailure.value = null;
      const newer = growth;
      if (newer.index === model.client.index) continue;
      const goLive = model.goLive;
      model.goLive = false;
      if (!newer.live && !newer.whole || newer.whole && !isAtEnd(model)) {
        ({model} = await show(root, newer, () => addressWhenLonger(model)));
      } else if (goLive || isAtEnd(model) && !isUsed(root)) {
        ({model} = await show(root, newer, () =>
            goLive || isAtEnd(model) ? addressAtEnd(model, newer.duration_ns) :
            newer.whole ? addressWhenLonger(model) : null));
      }
    } catch (error) {
      // Requests of the page that is shown say more.
      if (error instanceof ApiError) model.buildFailure.value = error.reason;
      else if (!isLost(error)) throw error;
      growth = model.growth.value;
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
