// What the page shows of a range where records were lost:
//   browser_limits_test.mjs COUNTRACE
// Its tables have the index's numbers, marked as provisional, until the report of
// the range was read; then the report's, with their limits.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {Claims, missing, Session, startServer, wholeIndex} from './browser_session.mjs';

const reason = missing();
if (reason) {
  console.log(`SKIPPED: ${reason}`);
  process.exit(0);
}
const [countrace] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'countrace-limits-'));
process.env.XDG_RUNTIME_DIR = directory;
const trace = join(directory, 'lossy.ctf');
const run = (...args) => spawnSync(countrace, args, {encoding: 'utf8', maxBuffer: 1 << 28});
const claims = new Claims();
let server;
let session;

try {
  const recorded = run('record', '-a', '--kernel', 'syscalls,wakeups', '--kernel-ring', '64K', '-o', trace, '--', 'timeout', '1', 'sh', '-c',
                       'i=0; while [ $i -lt 9 ]; do ls -R /usr/lib/python3 >/dev/null 2>&1; i=$((i+1)); done');
  const why = !existsSync(trace) ? `cannot record the whole machine: ${recorded.stderr.split('\n')[0]}` :
      JSON.parse(run('report', '--format', 'json', trace).stdout).loss.discarded_events === 0 ? 'no record was lost' : null;
  if (why) {
    console.log(`SKIPPED: ${why}`);
    rmSync(directory, {recursive: true, force: true});
    process.exit(0);
  }
  server = await wholeIndex(await startServer(countrace, ['view', trace]));
  session = await Session.open();
  const {page} = session;
  await session.visit(server.url, '#tab=processes');
  const {items: losses} = await session.api('losses');
  // Around the first of them.
  const {duration_ns: duration} = await session.api('trace');
  const first = Math.min(...losses.map(({begin_ns}) => begin_ns));
  const [from, to] = [Math.max(first - 1_000_000, 0), Math.min(first + 300_000_000, duration - 1)];
  const report = JSON.parse(run('report', '--from', `${from}ns`, '--to', `${to}ns`, '--format', 'json', trace).stdout);
  let held = null; // answers by the report wait for it
  await page.route(/aggregate.*by=report/, async (route) => {
    await held;
    await route.continue();
  });
  let release;
  const hold = () => (held = new Promise((done) => (release = done)));
  const source = page.locator('.whose');
  const tab = (name) => page.locator('[role=tab]', {hasText: name}).click();
  const final = async () => {
    await source.waitFor({state: 'detached', timeout: 60_000});
    await session.ask('__pv.settled()');
  };
  // "12.3 ms" of a cell, within its digits.
  const UNITS = {ns: 1, 'µs': 1e3, ms: 1e6, s: 1e9};
  const nsOf = (text) => {
    const [, number, unit] = /^([\d.]+)\s*(ns|µs|ms|s)$/.exec(text.trim());
    return number * UNITS[unit];
  };
  const near = (text, ns) => assert.ok(Math.abs(nsOf(text) - ns) <= 0.001 * ns + 1, `${text} for ${ns} ns`);
  const cells = async (pid) => page.locator('.data tbody tr', {has: page.locator('td', {hasText: new RegExp(`^${pid}$`)})}).locator('td').allInnerTexts();

  await claims.claim('numbers of the index are marked until the report has come, which is then shown with its limits', async () => {
    hold();
    await session.ask(`location.hash = '#sel=${from}-${to}&tab=processes'`);
    await source.filter({hasText: 'Provisional'}).waitFor();
    assert.equal(await page.locator('.provisional .data').count(), 1);
    release();
    await final();
    assert.equal(await page.locator('.provisional').count(), 0);
    const bounded = report.processes.filter(({bounds}) => bounds?.on_cpu_ns?.[1]).slice(0, 5);
    assert.ok(bounded.length > 0, 'nothing has limits');
    const limits = await page.locator('.data thead th').allInnerTexts().then((names) => names.findIndex((name) => /^Limits of/.test(name)));
    for (const {pid, on_cpu_ns: ns, bounds} of bounded) {
      const row = await cells(pid);
      near(row[limits - 1], ns);
      const [, least, most] = /^\[([^,]+), (.+)\]$/.exec(row[limits].trim());
      near(/[a-zµ]/.test(least) ? least : `${least} ${/[a-zµ]+$/.exec(most)[0]}`, bounds.on_cpu_ns[0]);
      near(most, bounds.on_cpu_ns[1]);
    }
  });

  await claims.claim('another order of the same range does not go back to provisional numbers', async () => {
    // The page waits SOON_MS for the report that the server has kept; a busy machine may take longer.
    await page.evaluate(() => {
      const timer = window.setTimeout;
      const watch = new MutationObserver(() => window.seen.marked.push(document.querySelectorAll('.whose').length));
      window.seen = {marked: [], held: 0, timer};
      window.setTimeout = (work, ms, ...rest) => ms === 300 ? ++window.seen.held : timer(work, ms, ...rest);
      watch.observe(document.querySelector('.range'), {childList: true, subtree: true});
    });
    await page.locator('.data thead button', {hasText: /^PID/}).click();
    const pids = `[...document.querySelectorAll('.data tbody tr.clickable td:nth-child(2)')].map((cell) => Number(cell.innerText))`;
    await session.until(`seen.held > 0 && seen.marked.length > 0 && ${pids}.every((pid, i, all) => i === 0 || all[i - 1] >= pid)`);
    await session.settled();
    const marked = await page.evaluate(() => {
      window.setTimeout = window.seen.timer;
      return window.seen.marked;
    });
    assert.ok(marked.every((count) => count === 0), `${marked}`);
    await final();
  });

  await claims.claim('a report that the server has to read again is waited for with numbers of the index', async () => {
    hold();
    await page.locator('.data thead button', {hasText: /^Process/}).click();
    await source.filter({hasText: 'Provisional'}).waitFor();
    assert.equal(await page.locator('.provisional[aria-busy=true] .data').count(), 1);
    release();
    await final();
  });

  await claims.claim('with the tables closed no report is read', async () => {
    let asked = 0;
    const count = (request) => (asked += /aggregate.*by=report/.test(request.url()) ? 1 : 0);
    page.on('request', count);
    await session.ask(`__pv.run('panel')`);
    await session.ask(`location.hash = '#sel=${from + 2}-${to}&tab=processes'`);
    await session.until(`__pv.aggregate().from === ${from + 2}`);
    await page.waitForTimeout(500);
    assert.equal(asked, 0);
    await session.ask(`__pv.run('panel')`);
    await final();
    assert.ok(asked > 0);
    page.off('request', count);
  });

  await claims.claim('a later range ends the one before, and has its own numbers', async () => {
    await session.ask(`location.hash = '#sel=${from + 1}-${to}&tab=processes'`);
    await session.ask(`location.hash = '#sel=${from}-${to - 1}&tab=processes'`);
    await final();
    for (const name of ['Threads', 'Segments', 'CPUs']) {
      await tab(name);
      await final();
      assert.ok(await page.locator('.data td.limits').count() > 0, name);
    }
  });

  await claims.claim('what the report does not say of a table, and why a range has none, is said', async () => {
    await tab('Waits');
    await source.filter({hasText: 'CSV files'}).waitFor();
    await page.unroute(/aggregate.*by=report/);
    // Thirty million records would take the test minutes to write.
    await page.route(/aggregate.*by=report/, (route) => route.fulfill({status: 413, json: {error: 'a report of the range reads some 31 million records'}}));
    await session.ask(`location.hash = '#sel=${from}-${to - 2}&tab=processes'`);
    await tab('Processes');
    await source.filter({hasText: 'Numbers of the index: a report of the range reads some 31 million records.'}).waitFor();
    assert.equal(await page.locator('.provisional .data').count(), 1);
  });

  await claims.claim('a report that failed is not waited for, and may be wanted again', async () => {
    await page.unroute(/aggregate.*by=report/);
    await page.route(/aggregate.*by=report/, (route) => route.fulfill({status: 500, json: {error: 'The trace cannot be read.'}}));
    await session.ask(`location.hash = '#sel=${from}-${to - 3}&tab=processes'`);
    await source.filter({hasText: 'Numbers of the index: The trace cannot be read.'}).waitFor();
    assert.equal(await page.locator('.provisional[aria-busy=false] .data').count(), 1);
    await page.locator('.error', {hasText: 'The trace cannot be read'}).getByText('Dismiss').click();
    await page.unroute(/aggregate.*by=report/);
    await page.locator('.whose button').click();
    await final();
    assert.deepEqual(session.problems.filter((problem) => !/status of (409|413|500)/.test(problem)), []);
  });
} finally {
  await session?.close();
  await server?.stop();
  rmSync(directory, {recursive: true, force: true});
}
process.exit(claims.failed === 0 ? 0 : 1);
