// Two traces side by side, with `countrace view --beside`:
//   browser_pair_test.mjs COUNTRACE SERVER_TRACES SERVE_GROWING SHOTS
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {Claims, COLLISIONS, missing, Session, startServer} from './browser_session.mjs';
import {comparison} from './instant_comparison.mjs';

const reason = missing();
if (reason) {
  console.log(`SKIPPED: ${reason}`);
  process.exit(0);
}
const [countrace, makeTraces, serveGrowing, shots] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'countrace-pair-'));
process.env.XDG_RUNTIME_DIR = directory;
const run = (command, ...args) => {
  const done = spawnSync(command, args, {cwd: directory, encoding: 'utf8', maxBuffer: 1 << 28});
  return {status: done.status, text: done.stdout, error: done.stderr};
};
const claims = new Claims();
let server;
let session;

// The pages of the two traces.
async function framesOf({url}) {
  await session.page.goto(url);
  await session.page.goto(`${new URL(url).origin}/?test=1`);
  const frames = [];
  for (const folder of ['/a/', '/b/']) {
    for (let i = 0; ; ++i) {
      const frame = session.page.frames().find((one) => new URL(one.url() || 'about:blank').pathname === folder);
      if (frame && await frame.evaluate('Boolean(window.__pv?.ready)').catch(() => false)) {
        frames.push(frame);
        break;
      }
      assert.ok(i < 1200, `${folder} is not ready`);
      await session.page.waitForTimeout(50);
    }
  }
  return frames;
}
// What both panels show, picture by picture, until they showed `most` instants;
// `steps`: where the playhead of the first is set, the begin and the way for each.
const pictures = (most, steps = null) => session.page.evaluate(async ([wanted, [begin, way]]) => {
  const [a, b] = [...document.querySelectorAll('iframe')].map((frame) => frame.contentWindow.__pv);
  const seen = [];
  const instants = new Set();
  for (let i = 0; instants.size < wanted && i < 1800; ++i) {
    if (way) a.movePlayhead(begin + i * way);
    await new Promise((done) => requestAnimationFrame(done));
    seen.push([a.state().t, b.state().t, a.soFar().to, b.soFar().to]);
    instants.add(a.state().t);
  }
  if (instants.size < wanted) throw new Error(`${instants.size} instants in ${seen.length} pictures`);
  return seen;
}, [most, steps ?? [0, 0]]);
const inStep = (seen, shift) => {
  for (const [a, b, sumA, sumB] of seen) assert.deepEqual([b - a, sumB - sumA], [shift, shift]);
};

try {
  assert.equal(run(makeTraces, '1').status, 0);
  const traces = ['old1.ctf', 'new1.ctf'].map((name) => join(directory, name));
  server = await startServer(countrace, ['view', traces[0], '--beside', traces[1]]);
  session = await Session.open();
  const frames = await framesOf(server);
  const settled = async () => {
    for (const frame of frames) await frame.evaluate('__pv.settled()');
  };
  const views = () => Promise.all(frames.map((frame) => frame.evaluate('__pv.view()')));
  const select = session.page.locator('.pair-head select');
  await session.page.locator('.pair-head select:enabled').waitFor({timeout: 60_000});
  await session.page.locator('.pair-diff .changes').first().waitFor({timeout: 60_000});
  await settled();
  const apis = frames.map((frame) => async (path) => JSON.parse((await frame.evaluate((name) => __pv.ask(name), path)).slice(4)));
  const compare = await Promise.all(apis.map((api) => comparison(api)));
  const exact = async (playheads) => {
    await settled();
    for (const [i, frame] of frames.entries()) {
      const state = await frame.evaluate('__pv.state()');
      const window = await frame.evaluate('__pv.window()');
      assert.equal(state.t, playheads[i]);
      compare[i](state, JSON.parse(run(countrace, 'state', '--all', '--at', `${state.t}ns`, '--window', `${window}ns`, '--format', 'jsonl', traces[i]).text));
    }
  };

  await claims.claim('the playhead and the window of one move those of the other, and both are exact', async () => {
    for (const [side, at] of [[0, 1_234_567], [1, 2_345_678]]) {
      await frames[side].evaluate(`__pv.movePlayhead(${at})`);
      await frames[side].evaluate('__pv.setWindow(1000000, 3000000)');
      await exact([at, at]);
      const [a, b] = await views();
      assert.ok(Math.abs(a.startNs - b.startNs) < 1 && Math.abs(a.endNs - b.endNs) < 1, `${a.startNs} ${b.startNs}`);
    }
    await session.shot(shots, 'pair');
  });

  await claims.claim('at 1440 px the stages are above each other at one scale, under one toolbar, with processes in sight', async () => {
    assert.deepEqual(await session.page.evaluate(COLLISIONS), []);
    assert.equal(await session.page.locator('.toolbar').count(), 1);
    for (const frame of frames) {
      assert.deepEqual(await frame.evaluate(COLLISIONS), []);
      assert.equal(await frame.locator('.toolbar, .now, .range').count(), 0);
      assert.ok(await frame.locator('.label.process, .label.thread').count() >= 2);
    }
    const [before, after] = await Promise.all(['Before', 'After'].map((title) => session.page.locator(`iframe[title=${title}]`).boundingBox()));
    assert.deepEqual([before.x, before.width, before.height], [after.x, after.width, after.height]);
    assert.ok(before.y + before.height <= after.y && before.width === 1440, JSON.stringify([before, after]));
    const [a, b] = await views();
    assert.ok(Math.abs(a.nsPerPx - b.nsPerPx) < 1e-9 * a.nsPerPx, `${a.nsPerPx} ${b.nsPerPx}`);
  });

  await claims.claim('one dock has both instants, with the changes between', async () => {
    await frames[0].evaluate('__pv.movePlayhead(1500000)');
    await settled();
    const [before, changes, after] = await Promise.all(['.pair-now >> nth=0', '.pair-diff', '.pair-now >> nth=1'].map(
        (place) => session.page.locator(place).boundingBox()));
    assert.ok(before.x + before.width <= changes.x && changes.x + changes.width <= after.x + 1);
    assert.ok(before.y === changes.y && changes.y === after.y && after.x + after.width <= 1440);
    for (const [i, frame] of frames.entries()) {
      const {t, cpus} = await frame.evaluate('__pv.state()');
      const text = await session.page.locator('.pair-now').nth(i).innerText();
      assert.ok(text.replace(/\s/g, '').includes(`${(t / 1e9).toFixed(9)}s`), text);
      assert.equal(await session.page.locator('.pair-now').nth(i).locator('.cpus li').count(), cpus.length);
    }
  });

  await claims.claim('aligned at a call of a segment, they move by its begins', async () => {
    const hooks = await Promise.all(apis.map((api) => api('hooks')));
    const name = await select.evaluate((box) => [...box.options].map(({value}) => value).find((value) => value.includes(':')));
    for (const number of [1, 3]) {
      const begins = [];
      for (const [i, api] of apis.entries()) {
        const {hook} = hooks[i].items.find((item) => item.name === name);
        begins.push((await api(`step?t=0&dir=next&hook=${hook}&count=${number}`)).times[number - 1]);
      }
      if (number === 1) await select.selectOption(name);
      else await session.page.locator('.pair-head input').fill(`${number}`).then(() => session.page.keyboard.press('Enter'));
      for (let i = 0; (await views()).some(({playhead}, side) => playhead !== begins[side]); ++i) {
        assert.ok(i < 1200, 'they are not aligned');
        await session.page.waitForTimeout(50);
      }
      await exact(begins);
      await frames[1].evaluate(`__pv.movePlayhead(${begins[1] + 1000})`);
      await exact(begins.map((begin) => begin + 1000));
      const [a, b] = await views();
      assert.ok(Math.abs(b.startNs - a.startNs - (begins[1] - begins[0])) < 1, 'one instant is at one place of both');
    }
    await session.page.locator('.pair-head input').fill('9999').then(() => session.page.keyboard.press('Enter'));
    await session.page.locator('.pair-diff .refused', {hasText: 'has not 9999 calls'}).waitFor();
    await session.shot(shots, 'pair-aligned');
  });

  await claims.claim('aligned by the clock of one machine, they move by its time', async () => {
    const traces = await Promise.all(apis.map((api) => api('trace')));
    const [a, b] = traces.map(({begin_ns: begin}) => BigInt(begin));
    assert.equal(traces[0].hostname, traces[1].hostname);
    const shift = Number(a - b);
    await select.selectOption('clock');
    for (let i = 0; (await views()).some(({playhead}, side) => playhead !== Math.max(side ? shift : -shift, 0)); ++i) {
      assert.ok(i < 1200, 'they are not aligned');
      await session.page.waitForTimeout(50);
    }
    await select.selectOption('begin');
  });

  await claims.claim('an alignment that fails, or comes after a later one, changes nothing', async () => {
    const name = await select.evaluate((box) => [...box.options].map(({value}) => value).find((value) => value.includes(':')));
    const steps = /\/a\/api\/v1\/step\?.*hook=/;
    const before = await views();
    await session.page.route(steps, (route) => route.fulfill({status: 500, json: {error: 'no step'}}));
    await select.selectOption(name);
    await session.page.locator('.pair-diff .refused', {hasText: `Not aligned at ${name}: no step`}).waitFor();
    assert.equal(await select.inputValue(), 'begin');
    assert.equal(await session.page.locator('.pair-head input').count(), 0);
    assert.deepEqual(await views(), before);
    await session.page.unroute(steps);
    let release;
    const held = new Promise((done) => (release = done));
    let asked;
    const wanted = new Promise((done) => (asked = done));
    await session.page.route(steps, async (route) => {
      asked();
      await held;
      await route.continue();
    });
    await select.selectOption(name);
    await wanted;
    await select.selectOption('begin');
    await session.page.locator('.pair-diff .refused').waitFor({state: 'detached'});
    const done = session.page.waitForResponse(steps);
    release();
    await (await done).finished();
    await settled();
    await session.page.unroute(steps);
    assert.equal(await select.inputValue(), 'begin');
    assert.deepEqual((await views()).map(({playhead}) => playhead), [0, 0]);
    session.problems = session.problems.filter((problem) => !/status of 500/.test(problem));
  });

  await claims.claim('the toolbar and its keys are of both', async () => {
    await frames[0].evaluate('__pv.movePlayhead(1000000)');
    await settled();
    await session.page.locator('.toolbar [aria-label="Step forward"]').click();
    for (let i = 0; (await views()).some(({playhead}) => playhead <= 1_000_000); ++i) {
      assert.ok(i < 1200, 'no step');
      await session.page.waitForTimeout(50);
    }
    await session.page.keyboard.press('Home');
    for (let i = 0; (await views()).some(({playhead}) => playhead !== 0); ++i) {
      assert.ok(i < 1200, 'no key');
      await session.page.waitForTimeout(50);
    }
    await frames[1].locator('.area').focus();
    await session.page.keyboard.press('/');
    await session.page.locator('.toolbar .find input:focus').waitFor();
    await session.page.keyboard.press('Escape');
    await frames[1].locator('.area').focus();
    await session.page.keyboard.press('?');
    await session.page.locator('dialog.help[open]').waitFor();
    await session.page.keyboard.press('Escape');
    await session.page.locator('dialog.help[open]').waitFor({state: 'hidden'});
    await frames[1].locator('.area').focus();
    await session.page.keyboard.press('Space');
    for (let i = 0; !(await views())[1].playing; ++i) {
      assert.ok(i < 100, 'the list of keys is still open');
      await session.page.waitForTimeout(50);
    }
    await session.page.keyboard.press('Space');
    const dark = () => Promise.all([session.page, ...frames].map((page) => page.evaluate('document.documentElement.dataset.theme')));
    await session.page.locator('[aria-label="Light or dark"]').click();
    for (let i = 0; new Set(await dark()).size !== 1; ++i) {
      assert.ok(i < 100, 'they differ');
      await session.page.waitForTimeout(50);
    }
    await session.shot(shots, 'pair-dark');
    await session.page.locator('[aria-label="Light or dark"]').click();
  });

  await claims.claim('they play in step', async () => {
    for (const frame of frames) await frame.evaluate('__pv.realClock()');
    const [{playhead: start}] = await views();
    await frames[0].evaluate('__pv.setSpeed(0.1)');
    await frames[0].locator('.area').focus();
    await session.page.keyboard.press('l');
    for (let i = 0; (await views())[0].playhead === start; ++i) {
      assert.ok(i < 1200, 'it does not play');
      await session.page.waitForTimeout(20);
    }
    await session.page.keyboard.press('k');
    await settled();
    const [a, b] = await views();
    assert.ok(a.playhead > start);
    await exact([a.playhead, b.playhead]);
  });

  await claims.claim('neither shows an instant without the other, played both ways and moved by hand', async () => {
    const at = async () => (await views()).map(({playhead}) => playhead);
    for (const frame of frames) await frame.evaluate('__pv.realClock()');
    await frames[0].locator('.area').focus();
    for (const [key, speed] of [['l', 1], ['j', 0.25], ['l', 0.1], ['j', 1]]) {
      await frames[0].evaluate('__pv.movePlayhead(2000000)');
      await settled();
      const [a, b] = await at();
      await frames[0].evaluate(`__pv.setSpeed(${speed})`);
      await session.page.keyboard.press(key);
      const seen = await pictures(30);
      await session.page.keyboard.press('k');
      inStep(seen, b - a);
      await exact(await at());
    }
    const [a, b] = await at();
    inStep(await pictures(20, [1_000_000, 2_000]), b - a);
    await exact(await at());
  });

  await claims.claim('the table has the numbers of `countrace diff`', async () => {
    const printed = JSON.parse(run(countrace, 'diff', '--format', 'json', ...traces).text);
    const origin = new URL(server.url).origin;
    const answer = await session.page.evaluate(
        (base) => fetch(`${base}/api/v1/diff?format=json`).then((got) => got.json()), origin);
    assert.ok(answer.rows_total > 0);
    assert.deepEqual(answer.totals, printed.totals);
    for (const row of answer.rows) {
      assert.deepEqual(row, printed.rows.find((other) => other.process === row.process && `${other.path}` === `${row.path}`));
    }
    const shown = await session.page.locator('.pair-diff').innerText();
    assert.ok(shown.includes(`${answer.rows_total} call paths differ`), shown.slice(-300));
  });

  await claims.claim('each answer is of the trace whose folder it is in; wrong requests are refused', async () => {
    const {origin, searchParams} = new URL(server.url);
    const headers = {Authorization: `Bearer ${searchParams.get('token')}`};
    for (const [i, folder] of ['/a', '/b'].entries()) {
      const {path} = await (await fetch(`${origin}${folder}/api/v1/trace`, {headers})).json();
      assert.ok(path.endsWith(['old1.ctf', 'new1.ctf'][i]), path);
    }
    for (const [path, status] of [['/c/', 404], ['/a', 404], ['/a/pair', 404], ['/a/a/', 404], ['/api/v1/diff?limit=201', 400],
                                  ['/api/v1/diff?format=csv', 400], ['/a/api/v1/diff', 404], ['/api/v1/nothing', 404]]) {
      assert.equal((await fetch(origin + path, {headers})).status, status, path);
    }
    assert.equal((await fetch(`${origin}/api/v1/diff`, {method: 'POST', headers})).status, 405);
  });

  await claims.claim('without the token nothing is answered, and nothing went wrong in the page', async () => {
    const {origin} = new URL(server.url);
    for (const path of ['/', '/a/', '/b/api/v1/trace', '/api/v1/diff']) assert.equal((await fetch(origin + path)).status, 401, path);
    assert.deepEqual(session.problems, []);
  });

  await claims.claim('one of them that is loaded again has its toolbar and its dock', async () => {
    const tables = /\/b\/api\/v1\/aggregate/;
    await session.page.route(tables, (route) => route.fulfill({status: 500, json: {error: 'no table'}}));
    await frames[1].evaluate(`__pv.run('panel')`);
    const button = frames[1].locator('.error button', {hasText: 'Reload'});
    await button.waitFor();
    await session.page.unroute(tables);
    const again = session.page.waitForRequest((request) => /^[/]$/.test(new URL(request.url()).pathname));
    await button.click();
    await again;
    await session.page.locator('.toolbar .find input').waitFor();
    await session.page.locator('.pair-now').nth(1).locator('.cpus li').first().waitFor();
  });
  await session.page.goto('about:blank');
  await server.stop();

  await claims.claim('first parts of both are there while their indexes are built', async () => {
    server = await startServer(serveGrowing, [directory, 'pair']);
    const parts = await framesOf(server);
    for (const frame of parts) await frame.locator('.building', {hasText: 'First part'}).waitFor({timeout: 60_000});
    assert.match(await session.page.locator('.pair-diff').innerText(), /Comparing/);
    const both = async () => Promise.all(parts.map((frame) => frame.evaluate('({...__pv.view(), t: __pv.state().t})')));
    await parts[0].evaluate('__pv.setWindow(1000000, 3000000); __pv.movePlayhead(1500000)');
    for (let i = 0; (await both()).some(({t}) => t !== 1_500_000); ++i) {
      assert.ok(i < 1200, 'they are not in step');
      await session.page.waitForTimeout(50);
    }
    await session.shot(shots, 'pair-growing');
    writeFileSync(join(directory, 'go'), '');
    for (const frame of parts) await frame.locator('.building').waitFor({state: 'detached', timeout: 60_000});
    await session.page.locator('.pair-diff .changes').first().waitFor({timeout: 60_000});
    for (const frame of parts) await frame.evaluate('__pv.settled()');
    const [a, b] = await both();
    assert.ok(a.durationNs > 1.9 * b.durationNs, `${a.durationNs} ${b.durationNs}`);
    // Still where they were, and in step.
    for (const {playhead, t, startNs} of [a, b]) assert.deepEqual([playhead, t, Math.round(startNs)], [1_500_000, 1_500_000, 1_000_000]);
    // Where the shorter one has ended, it says so, and does not hold up the other.
    await parts[0].evaluate('__pv.movePlayhead(60000000)');
    for (const frame of parts) await frame.evaluate('__pv.settled()');
    const [longer, shorter] = await both();
    assert.deepEqual([longer.t, shorter.t], [60_000_000, shorter.durationNs - 1]);
    await session.page.goto('about:blank');
  });
} finally {
  writeFileSync(join(directory, 'go'), '');
  await session?.close();
  await server?.stop();
  rmSync(directory, {recursive: true, force: true});
}
process.exit(claims.failed === 0 ? 0 : 1);
