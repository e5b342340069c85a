// Wiring only: load names and overview, build the model, mount the page.

import {render} from 'preact';

import {Client} from './api/client';
import {AppModel} from './model/app_model';
import {loadNames} from './model/names';
import {addressOf, restore} from './model/page_address';
import {App} from './views/app';
import {installTestHook} from './views/test_hook';
import {TimelineEngine} from './views/timeline_engine';

// Opened by a file (`--open`) the token is still in the address.
function forgetToken(): void {
  const url = new URL(location.href);
  if (!url.searchParams.has('token')) return;
  url.searchParams.delete('token');
  history.replaceState(null, '', url.pathname + url.search + url.hash);
}

async function start(root: HTMLElement): Promise<void> {
  forgetToken();
  const client = new Client();
  const [names, overview, losses] = await Promise.all(
      [loadNames(client), client.overview(), client.losses()]);
  const model = new AppModel(client, names, location.hash);
  const engine = new TimelineEngine(model, overview, losses);
  document.title = `${names.trace.path?.split('/').pop() || 'trace'} \u2013 countrace`;
  render(<App model={model} engine={engine} />, root);
  const save = (hash: string): void =>
      history.replaceState(null, '', location.pathname + location.search + hash);
  model.onJump = () => {
    save(addressOf(model));
    history.pushState(null, '', location.href);
  };
  addEventListener('popstate', () => restore(model, location.hash));
  model.start(save);
  if (new URLSearchParams(location.search).get('test') === '1') installTestHook(model, engine);
}

const root = document.getElementById('app');
if (root) {
  start(root).catch((error: unknown) => {
    const box = document.createElement('div');
    box.className = 'fatal';
    box.textContent = `The timeline could not be loaded: ${
        error instanceof Error ? error.message : String(error)}. Is \`countrace view\` still running?`;
    root.replaceChildren(box);
  });
}
