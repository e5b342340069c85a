// Shared by the browser tests: starts a server program, opens its page in
// Debian's chromium, collects everything that goes wrong in the page.
import {spawn} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, rmSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';

const web = join(dirname(fileURLToPath(import.meta.url)), '../../viewer/web');
const chromiumPath = process.env.COUNTRACE_CHROMIUM ?? '/usr/bin/chromium';

// The reason not to run, or null. CTest treats "SKIPPED:" as a skip.
export function missing() {
  if (!existsSync(chromiumPath)) return `no chromium at ${chromiumPath}`;
  if (!existsSync(join(web, 'node_modules/playwright-core'))) {
    return 'no playwright-core: run scripts/setup';
  }
  return null;
}

// Starts `command`; resolves with its address once it prints one.
export function startServer(command, args) {
  const child = spawn(command, args, {stdio: ['ignore', 'pipe', 'pipe']});
  let noise = '';
  child.stderr.on('data', (bytes) => (noise += bytes));
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`no address after 60 s: ${command}\n${noise}`));
    }, 60_000);
    const onLine = (line) => {
      const address = /http:\/\/127\.0\.0\.1:\d+\/\?token=[0-9a-f]+/.exec(line);
      if (!address) return;
      clearTimeout(timer);
      resolve({url: address[0], pid: child.pid, stop: () => stop(child)});
    };
    createInterface({input: child.stdout}).on('line', onLine);
    createInterface({input: child.stderr}).on('line', onLine);
    child.on('exit', (code) => {
      clearTimeout(timer);
      reject(new Error(`server ended with ${code}: ${noise}`));
    });
  });
}

// Until the server answers from the index of the whole trace, which a first
// part stands for at first if the trace is long.
export async function wholeIndex(server) {
  const {origin, searchParams} = new URL(server.url);
  const headers = {Authorization: `Bearer ${searchParams.get('token')}`};
  for (;;) {
    const {whole} = await (await fetch(`${origin}/api/v1/index`, {headers})).json();
    if (whole) return server;
    await new Promise((done) => setTimeout(done, 50));
  }
}

function stop(child) {
  return new Promise((resolve) => {
    child.removeAllListeners('exit');
    child.on('exit', (code) => resolve(code));
    child.kill('SIGINT');
  });
}

export class Session {
  static async open(options = {}) {
    const require = createRequire(join(web, 'package.json'));
    const {chromium} = require('playwright-core');
    const session = new Session();
    session.profile = mkdtempSync(join(tmpdir(), 'countrace-browser-'));
    session.context = await chromium.launchPersistentContext(session.profile, {
      executablePath: chromiumPath,
      headless: true,
      viewport: {width: 1440, height: 900},
      colorScheme: options.colorScheme ?? 'light',
      args: [
        '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
        '--disable-background-networking', '--disable-component-update', '--disable-sync',
        '--no-first-run', '--hide-scrollbars', '--force-device-scale-factor=1',
        '--font-render-hinting=none', '--disable-font-subpixel-positioning', '--disable-lcd-text',
        '--force-color-profile=srgb', '--disable-background-timer-throttling',
        '--disable-renderer-backgrounding', '--disable-backgrounding-occluded-windows',
      ],
    });
    session.page = session.context.pages()[0] ?? await session.context.newPage();
    session.problems = [];
    session.page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') {
        session.problems.push(`console: ${message.text()}`);
      }
    });
    session.page.on('pageerror', (error) => session.problems.push(`page: ${error.message}`));
    return session;
  }

  // `url` with the token; then the page with the test hook.
  async visit(url, hash = '') {
    this.origin = new URL(url).origin;
    await this.page.goto(url);
    await this.revisit(hash);
  }
  async revisit(hash = '') {
    await this.page.goto('about:blank');
    await this.show(`${this.origin}/?test=1${hash}`);
  }
  // A page with the test hook.
  async show(address) {
    await this.page.goto(address);
    // waitForFunction() would evaluate inside the page, which its CSP forbids.
    for (let i = 0; !await this.ask('Boolean(window.__pv?.ready)'); ++i) {
      if (i > 600) throw new Error('the page never became ready');
      await this.page.waitForTimeout(50);
    }
    await this.settled();
  }
  settled() {
    return this.page.evaluate('__pv.settled()');
  }
  ask(expression) {
    return this.page.evaluate(expression);
  }
  // An API answer through the page's own cookie.
  api(path) {
    return this.page.evaluate(
        (name) => fetch(`/api/v1/${name}`).then((answer) => answer.json()), path);
  }
  // Waits until an expression is true, for a minute.
  async until(expression) {
    for (let i = 0; !await this.ask(`Boolean(${expression})`); ++i) {
      if (i > 1200) throw new Error(`never true: ${expression}`);
      await this.page.waitForTimeout(50);
    }
  }
  async key(name) {
    await this.page.keyboard.press(name);
    await this.settled();
  }
  async shot(directory, name) {
    mkdirSync(directory, {recursive: true});
    await this.page.screenshot({path: join(directory, `${name}.png`)});
  }
  async close() {
    await this.context.close();
    rmSync(this.profile, {recursive: true, force: true});
  }
}

// Evaluated in a page: which controls above the rows and above the tables lie over
// another one, or out of their bar. Tabs that are scrolled away are not there.
export const COLLISIONS = `[...document.querySelectorAll('.toolbar, .range-head')].flatMap((bar) => {
  const edge = bar.getBoundingClientRect();
  const boxes = [...bar.querySelectorAll('button, select, input, a, output')]
      .filter((one) => one.checkVisibility() && !one.closest('.find-drop')).map((one) => {
    const {left, right} = one.getBoundingClientRect();
    const tabs = one.closest('.tabs')?.getBoundingClientRect();
    return {name: one.getAttribute('aria-label') ?? one.textContent, left: Math.max(left, tabs?.left ?? left), right: Math.min(right, tabs?.right ?? right)};
  }).filter(({left, right}) => right > left).sort((a, b) => a.left - b.left);
  return boxes.flatMap((box, i) => [
    ...(box.left < edge.left || box.right > edge.right + 1 ? [box.name + ' is out of its bar'] : []),
    ...(i > 0 && boxes[i - 1].right > box.left + 1 ? [boxes[i - 1].name + ' lies over ' + box.name] : []),
  ]);
})`;

// Runs claims one after the other; the exit code is 0 if all held. With
// COUNTRACE_CLAIMS, a pattern, only those whose text it is found in.
export class Claims {
  failed = 0;
  only = new RegExp(process.env.COUNTRACE_CLAIMS ?? '');
  async claim(text, work) {
    if (!this.only.test(text)) return;
    try {
      await work();
      console.log(`ok    ${text}`);
    } catch (error) {
      ++this.failed;
      console.log(`FAIL  ${text}\n      ${error.stack ?? error}`);
    }
  }
}
