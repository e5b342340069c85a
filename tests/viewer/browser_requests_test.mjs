// Requests of `view --join`, in the server and in the page:
//   browser_requests_test.mjs COUNTRACE REQUEST_PIPELINE SHOTS
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {Claims, COLLISIONS, missing, Session, startServer, wholeIndex} from './browser_session.mjs';

const reason = missing();
if (reason) {
  console.log(`SKIPPED: ${reason}`);
  process.exit(0);
}
const [countrace, pipeline, shots] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'countrace-requests-'));
process.env.XDG_RUNTIME_DIR = directory;
process.chdir(directory);
symlinkSync(pipeline, 'request_pipeline');
const run = (...args) => spawnSync(countrace, args, {encoding: 'utf8', maxBuffer: 1 << 28});
const claims = new Claims();
let server;
let session;
const serve = async (...args) => {
  await server?.stop();
  server = await wholeIndex(await startServer(countrace, ['view', ...args]));
};
const api = async (path) => {
  const {origin, searchParams} = new URL(server.url);
  const answer = await fetch(`${origin}/api/v1/${path}`, {headers: {Authorization: `Bearer ${searchParams.get('token')}`}});
  return {status: answer.status, ...await answer.json()};
};
const sum = (rows, name) => rows.reduce((all, row) => all + row[name], 0);
// What the document has a reader type, and its file.
const text = readFileSync(join(import.meta.dirname, '../../docs/timeline.md'), 'utf8').split('## Follow one request')[1];
const command = (verb) => new RegExp(`^    countrace (${verb} .*)$`, 'm').exec(text)[1].split(' ');
const lines = /^ {4}# requests\.join.*\n(?: {4}.*\n)+/m.exec(text)[0].replaceAll(/^ {4}/gm, '');
const TRACE = 'pipeline.ctf';
const HOOKS = ['client:generate', 'server:request', 'store:write'];
const REQUESTS = 2000;

try {
  const recorded = run(...command('record'));
  assert.equal(recorded.status, 0, recorded.stderr);
  writeFileSync('requests.join', lines);
  await serve('--join', 'arg0', TRACE);

  await claims.claim('each call has the times that report has of it, and all calls are in a request', async () => {
    const slowest = new Map();
    for (const hook of HOOKS) {
      const {calls} = JSON.parse(run('report', '--slowest', '100000', hook, '--format', 'json', TRACE).stdout);
      assert.equal(calls.length, REQUESTS);
      for (const call of calls) slowest.set(`${hook} ${call.begin_ns}`, call);
    }
    const report = JSON.parse(run('report', '--by', 'segment', '--format', 'json', TRACE).stdout);
    for (const args of [command('view').slice(1, -1), ['--join', './requests.join']]) {
      await serve(...args, TRACE);
      const {begin_ns: begin, losses} = await api('trace');
      const hooks = new Map((await api('hooks')).items.map(({hook, name}) => [hook, name]));
      const pages = [];
      for (let offset = 0; offset < REQUESTS; offset += 500) pages.push(await api(`requests?sort=id&order=ascending&offset=${offset}&limit=500&spans=32`));
      const rows = pages.flatMap((page) => page.rows);
      assert.deepEqual([pages[0].total, pages[0].of, pages[0].lost, pages[0].without_value, pages[0].left_out], [REQUESTS, REQUESTS, 0, 0, 0]);
      assert.deepEqual(rows.map(({id}) => id), Array.from({length: REQUESTS}, (_, i) => String(i)));
      for (const row of rows) {
        const calls = row.spans.map((span) => {
          const call = slowest.get(`${hooks.get(span.hook)} ${BigInt(begin) + BigInt(span.begin_ns)}`);
          assert.ok(call, `${hooks.get(span.hook)} of request ${row.id}`);
          assert.deepEqual([span.end_ns - span.begin_ns, span.on_cpu_ns, span.wait_ns], [call.wall_ns, call.on_cpu_ns, call.wait_ns]);
          assert.equal(call.payload, `{ arg0 = ${row.id} }`);
          // A wake-up may be among lost records, which takes no time on a CPU.
          assert.ok(span.exact ? call.quality === 'exact' : call.quality !== 'exact' || losses > 0);
          return call;
        });
        assert.equal(calls.length, HOOKS.length);
        assert.deepEqual([row.on_cpu_ns, row.wait_ns], [sum(calls, 'on_cpu_ns'), sum(calls, 'wait_ns')]);
        assert.equal(row.end_ns, Math.max(...row.spans.map(({end_ns}) => end_ns)));
        // A switch that the kernel did not show, or a lost record, leaves limits.
        const inexact = row.spans.filter((span) => !span.exact);
        if (inexact.length === 0) assert.deepEqual([row.bounds, row.qualities], [{}, []]);
        if (inexact.some((span) => span.end_ns > span.begin_ns)) assert.ok(row.qualities.length > 0);
        assert.equal(row.lost, false);
        for (const [name, [least, most]] of Object.entries(row.bounds)) {
          assert.ok(least <= row[name] && (most === null || row[name] <= most), `${name} of request ${row.id}`);
        }
      }
      const segments = report.segments.filter(({segment}) => HOOKS.includes(segment));
      assert.equal(sum(rows, 'on_cpu_ns'), segments.reduce((all, {on_cpu_ns}) => all + on_cpu_ns.incl, 0));
    }
  });

  await claims.claim('answers have an order, a range and limits', async () => {
    for (const sort of ['begin_ns', 'duration_ns', 'on_cpu_ns', 'wait_ns', 'between_ns', 'threads', 'calls']) {
      for (const order of ['ascending', 'descending']) {
        const {rows} = await api(`requests?sort=${sort}&order=${order}`);
        const numbers = rows.map((row) => row[sort]);
        assert.deepEqual(numbers, [...numbers].sort((a, b) => order === 'ascending' ? a - b : b - a), sort);
      }
    }
    const {rows} = await api('requests?sort=begin_ns&order=ascending&limit=1000');
    const [from, to] = [rows[400].begin_ns, rows[410].begin_ns];
    const part = await api(`requests?from=${from}&to=${to}`);
    assert.equal(part.total, rows.filter((row) => row.begin_ns < to && row.end_ns >= from).length);
    assert.deepEqual((await api('requests?id=856')).rows.map(({id}) => id), ['856']);
    assert.deepEqual((await api('requests?id=none')).rows, []);
    for (const wrong of ['sort=size', 'order=up', 'limit=1001', 'limit=1000&spans=17', 'spans=16385', 'from=7', 'id=%2']) {
      assert.equal((await api(`requests?${wrong}`)).status, 400, wrong);
    }
  });

  await claims.claim('a value or a file that does not fit is refused, with its place and what there is', async () => {
    writeFileSync('wrong.join', 'client:* arg0\nserver:requests arg0\n');
    writeFileSync('short.join', '# nothing else\nserver:*\n');
    for (const [args, said] of [
      [['--join', 'size'], /no hook of the trace has a value `size` at its enter; there are arg0, arg1/],
      [['--join', './wrong.join'], /\.\/wrong\.join:2:1: the trace has no hook `server:requests`; did you mean `server:request`\?/],
      [['--join', './short.join'], /\.\/short\.join:2:1: expected hooks and the name of their value, as `server:\* arg0`, found `server:\*`/],
      [['--join', './none.join'], /\.\/none\.join: No such file/],
      [['--join', ''], /--join needs the name of a value, or a file, and one whole trace/],
      [['--join', 'arg0', '--beside', TRACE], /leave out --live and --beside/],
    ]) {
      const {status, stderr} = run('view', ...args, TRACE);
      assert.equal(status, 2, stderr);
      assert.match(stderr, said);
    }
  });

  session = await Session.open();
  const {page} = session;
  const lanes = () => page.locator('.label.request').evaluateAll((all) => all.map((label) => ({
    name: label.querySelector('.cut').textContent, top: label.getBoundingClientRect().top, stuck: label.classList.contains('stuck'),
    followed: label.querySelector('.followed') !== null,
  })).sort((a, b) => a.top - b.top));
  const followed = async () => (await lanes()).find((lane) => lane.followed)?.name ?? null;
  const inSight = async (thread) => session.ask(`(() => {
    const area = document.querySelector('.area').getBoundingClientRect();
    return [...document.querySelectorAll('.label.thread')].some((label) => {
      const {top, bottom} = label.getBoundingClientRect();
      return label.textContent.includes('${thread}') && top >= area.top - 1 && top < area.bottom && bottom > area.top;
    });
  })()`);
  const open = async (hash = '') => {
    await session.visit(server.url, hash);
    await session.until('document.querySelector(".label.request")');
    await session.settled();
  };
  const goTo = async (id) => {
    await page.locator('.area').focus();
    await session.key('g');
    await page.locator('.request-box').fill(id);
    await page.keyboard.press('Enter');
    await session.settled();
  };

  await claims.claim('requests are read after the first rows; their lanes are the longest in view, the others fold', async () => {
    // The page waits FIRST_ROWS_MS for its rows; a busy machine may take longer.
    await page.addInitScript(() => {
      const timer = window.setTimeout;
      window.held = 0;
      if (/[?&]held/.test(location.search)) window.setTimeout = (work, ms, ...rest) => ms === 500 ? ++window.held : timer(work, ms, ...rest);
    });
    await open('&held');
    assert.equal(await session.ask('held'), 1);
    const asked = await session.ask('performance.getEntriesByType("resource").map(({name, startTime, responseEnd}) => ({name: name.split("/api/v1/")[1] ?? "", startTime, responseEnd}))');
    const requests = asked.filter(({name}) => name.startsWith('requests'));
    assert.equal(requests.length, 1);
    assert.ok(requests[0].startTime >= asked.find(({name}) => name.startsWith('tiles')).responseEnd);
    const {rows} = await api('requests?limit=4');
    const [heading, ...all] = await lanes();
    assert.equal(heading.name, 'Requests');
    assert.deepEqual(all.map(({name}) => name), rows.map(({id}) => id));
    assert.match(await page.locator('.label.fold').first().textContent(), /^show1\u2009996 shorter/);
    await page.locator('.label.fold .unfold').first().click();
    await session.until('document.querySelectorAll(".label.request").length > 8');
    await page.getByRole('button', {name: 'Requests: close'}).click();
    await session.until('document.querySelectorAll(".label.request").length === 1');
    await session.shot(shots, 'requests-folded');
  });

  await claims.claim('G goes to the request with an id; an id that no call has is said', async () => {
    await open();
    await goTo('856');
    const {rows: [row]} = await api('requests?id=856&spans=10');
    const view = await session.ask('__pv.view()');
    assert.ok(view.startNs <= row.begin_ns && view.endNs >= row.end_ns && view.endNs - view.startNs < 1.2 * row.duration_ns);
    assert.deepEqual([view.playhead, view.selection], [row.begin_ns, {from: row.begin_ns, to: row.end_ns}]);
    assert.equal(await followed(), '856');
    const calls = await page.locator('.request[aria-label=Request] li').allTextContents();
    assert.equal(calls.length, row.spans.length);
    for (const [i, hook] of HOOKS.entries()) assert.ok(calls[i].includes(hook), calls[i]);
    await session.shot(shots, 'requests-jump');
    await goTo('856x');
    assert.match(await page.locator('.refused').textContent(), /No request 856x/);
    assert.equal(await followed(), '856');
  });

  await claims.claim('the table has the slowest first; a click selects in time and follows, and the table stays', async () => {
    await open('#tab=requests');
    const table = page.locator('.range-body table');
    await table.waitFor();
    const shows = async ({rows}) => {
      const ids = () => table.locator('tbody tr td:first-child').allTextContents();
      const wanted = rows.map(({id}) => id);
      for (let i = 0; i < 100 && `${await ids()}` !== `${wanted}`; ++i) await page.waitForTimeout(50);
      assert.deepEqual(await ids(), wanted);
    };
    const first = await api('requests?limit=100');
    const {rows} = first;
    await shows(first);
    await table.locator('tbody tr').nth(2).click();
    await session.settled();
    assert.deepEqual((await session.ask('__pv.view()')).selection, {from: rows[2].begin_ns, to: rows[2].end_ns});
    await page.waitForTimeout(200);
    await session.settled();
    await shows(first);
    assert.equal(await followed(), rows[2].id);
    await table.getByRole('button', {name: 'On CPU'}).click();
    await shows(await api('requests?limit=100&sort=on_cpu_ns'));
    await page.getByRole('button', {name: 'Next'}).click();
    await shows(await api('requests?limit=100&offset=100&sort=on_cpu_ns'));
    assert.deepEqual(await session.ask(COLLISIONS), []);
    // A link shows the same request.
    await page.waitForURL(({hash}) => new RegExp(`[#&]request=${rows[2].id}(&|$)`).test(hash));
    const hash = await session.ask('location.hash.slice(1)');
    await session.revisit(`#${hash}`);
    await session.until('document.querySelector(".name.followed")');
    assert.equal(await followed(), rows[2].id);
    await page.locator('.area').focus();
    await session.key('Escape');
    assert.equal(await followed(), null);
  });

  await claims.claim('while another page has the trace read, this one requests its rows again', async () => {
    let busy = 2;
    const answer = (route) => busy-- > 0 ? route.fulfill({status: 409, json: {error: 'The trace is read'}}) : route.continue();
    await page.route('**/requests?*', answer);
    await open('#request=856');
    await page.unroute('**/requests?*', answer);
    assert.ok(busy < 0);
    await session.until('document.querySelector(".name.followed")');
    for (const problem of session.problems.splice(0)) assert.match(problem, /409/);
  });

  await claims.claim('another address is followed; what was left is not, by a late answer; what was refused goes', async () => {
    await open('#request=856');
    await session.until('document.querySelector(".name.followed")');
    assert.equal(await followed(), '856');
    await session.ask('(location.hash = location.hash.replace("request=856", "request=17"), 0)');
    for (let i = 0; i < 100 && await followed() !== '17'; ++i) await page.waitForTimeout(50);
    assert.equal(await followed(), '17');
    const late = async (route) => {
      await new Promise((done) => setTimeout(done, 400));
      await route.continue();
    };
    await page.route('**/requests?id=*', late);
    await page.locator('.area').focus();
    await session.key('g');
    await page.locator('.request-box').fill('300');
    await page.keyboard.press('Enter');
    await page.locator('.area').focus();
    await session.key('Escape');
    await page.waitForTimeout(800);
    await session.settled();
    assert.equal(await followed(), null);
    await page.unroute('**/requests?id=*', late);
    await goTo('856x');
    assert.equal(await page.locator('.refused').count(), 1);
    await page.locator('.range-body table').getByRole('button', {name: 'On CPU'}).click();
    for (let i = 0; i < 100 && await page.locator('.refused').count() > 0; ++i) await page.waitForTimeout(50);
    assert.equal(await page.locator('.refused').count(), 0);
  });

  await claims.claim('a call of a lane says what it is, and a click selects it on its thread', async () => {
    await open();
    await goTo('856');
    const {rows: [row]} = await api('requests?id=856&spans=10');
    const span = row.spans.find(({begin_ns, end_ns}) => end_ns - begin_ns === Math.max(...row.spans.map((one) => one.end_ns - one.begin_ns)));
    const area = await page.locator('.area').boundingBox();
    const view = await session.ask('__pv.view()');
    const lane = (await lanes()).find((one) => one.followed);
    const at = [area.x + ((span.begin_ns + span.end_ns) / 2 - view.startNs) / view.nsPerPx, lane.top + 9];
    await page.mouse.move(...at);
    await page.locator('.tooltip').waitFor();
    const tip = await page.locator('.tooltip').innerText();
    assert.match(tip, /request 856: .* 3 calls in 3 threads/);
    assert.match(tip, /on CPU .*, waits for a CPU/);
    await page.mouse.click(...at);
    await session.settled();
    const item = await session.ask('__pv.item()');
    assert.deepEqual([item.kind, item.thread, item.hook, item.from, item.to], ['segment', span.thread, span.hook, span.begin_ns, span.end_ns]);
  });

  await claims.claim('the replay follows: the thread that works on the request comes into view, its lane stays', async () => {
    await page.setViewportSize({width: 1280, height: 620});
    await open();
    await goTo('856');
    await page.locator('.area').focus();
    const {rows: [row]} = await api('requests?id=856&spans=10');
    for (const span of [...row.spans, row.spans[0]]) {
      await session.ask(`__pv.movePlayhead(${span.begin_ns})`);
      await session.settled();
      await page.waitForTimeout(100);
      await session.settled();
      const {items: [{tid}]} = await api(`threads?ids=${span.thread}`);
      assert.ok(await inSight(tid), `thread ${tid}`);
    }
    const {top, stuck} = (await lanes()).find((lane) => lane.followed);
    const area = await page.locator('.area').boundingBox();
    assert.ok(stuck && top >= area.y - 1 && top < area.y + 10, 'its lane is not at the top');
    await session.shot(shots, 'requests-followed');
    await page.setViewportSize({width: 1440, height: 900});
  });

  await claims.claim('no serious finding of axe with lanes, table and panel of a request, light and dark', async () => {
    for (const theme of ['light', 'dark']) {
      await open('#tab=requests');
      await goTo('856');
      if (theme === 'dark') await session.key('Shift+D');
      await session.ask(`${readFileSync(join(import.meta.dirname, '../../viewer/web/node_modules/axe-core/axe.min.js'), 'utf8')};0`);
      const found = await session.ask('axe.run(document, {resultTypes: ["violations"]}).then(({violations}) => ' +
          'violations.filter(({impact}) => impact === "serious" || impact === "critical").map(({id, nodes}) => [id, nodes[0].html]))');
      assert.deepEqual(found, [], theme);
    }
  });

  await claims.claim('without --join nothing is read: G says how to begin', async () => {
    await serve(TRACE);
    assert.deepEqual(await api('requests'), {status: 200, join: null});
    await session.visit(server.url);
    assert.equal(await page.getByRole('tab', {name: 'Requests'}).count(), 0);
    await session.key('g');
    assert.match(await page.locator('.range-body').textContent(), /countrace view --join VALUE/);
    assert.equal(await page.locator('.label.request').count(), 0);
  });

  await claims.claim('where records were lost, what they may hide has limits, in server and page', async () => {
    const lossy = run('record', '--mode', 'discard', '--size', '2M', '--sub-buffer-size', '64K', '-o', 'lossy.ctf', '--', pipeline, '20000');
    assert.equal(lossy.status, 0, lossy.stderr);
    await serve('--join', 'arg0', 'lossy.ctf');
    const answer = await api('requests?limit=1000');
    assert.ok(answer.lost > 0 && answer.of < 20000, 'nothing was lost');
    for (const row of answer.rows) {
      assert.ok(row.qualities.includes('bounded'));
      for (const name of ['duration_ns', 'calls', 'threads', 'on_cpu_ns', 'wait_ns']) {
        const [least, most] = row.bounds[name];
        assert.ok(least <= row[name] && most === null, name);
      }
    }
    await open('#tab=requests');
    await page.locator('.range-body table').waitFor();
    assert.match(await page.locator('.request-head').textContent(), /Records were lost: any request may have had more calls/);
    assert.match(await page.locator('.range-body tbody tr').first().textContent(), /\u221e/);
    await session.shot(shots, 'requests-lossy');
  });

  assert.deepEqual(session.problems, []);
} catch (error) {
  ++claims.failed;
  console.log(error);
} finally {
  await session?.close();
  await server?.stop();
  process.chdir(tmpdir());
  rmSync(directory, {recursive: true, force: true});
}
process.exit(claims.failed === 0 ? 0 : 1);
