// The page on a real recording:
//   browser_trace_test.mjs COUNTRACE PROGRAM SHOTS
// Records PROGRAM, serves it with `countrace view`, and compares the page with
// the output of `countrace report`.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {Claims, missing, Session, startServer} from './browser_session.mjs';

const reason = missing();
if (reason) {
  console.log(`SKIPPED: ${reason}`);
  process.exit(0);
}
const [countrace, program, shots] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'countrace-view-'));
const trace = join(directory, 'small.ctf');
// Where a server keeps its address.
process.env.XDG_RUNTIME_DIR = directory;
const run = (...args) => {
  const done = spawnSync(countrace, args, {encoding: 'utf8', maxBuffer: 1 << 28});
  assert.equal(done.status, 0, `countrace ${args.join(' ')}: ${done.stderr}`);
  return done.stdout;
};
const claims = new Claims();
let server;
let session;
try {
  run('record', '-o', trace, '--', program);
  const report = JSON.parse(run('report', '--format', 'json', trace));
  server = await startServer(countrace, ['view', trace]);
  session = await Session.open();
  await session.visit(server.url);
  await session.shot(shots, 'trace-fit');

  await claims.claim('every process of the report is in the table, with its CPU time to the ns', async () => {
    const shown = await session.ask('__pv.aggregate()');
    const names = (await session.api('processes')).items;
    for (const row of report.processes.filter((item) => item.on_cpu_ns > 0)) {
      const known = names.filter((item) => item.pid === row.pid).map((item) => item.process);
      const totals = shown.processes.filter((item) => known.includes(item.process));
      assert.ok(totals.some((item) => item.on_cpu_ns === row.on_cpu_ns), `${row.comm} ${row.pid}`);
      assert.ok(totals.some((item) => item.dispatches === row.dispatches), `${row.comm} ${row.pid}`);
      const [counted] = totals;
      for (const [event, count] of Object.entries(row.counts ?? {})) {
        const index = report.trace.events.indexOf(event);
        if (count === null || counted?.incomplete || counted?.counts[index] === undefined) continue;
        assert.ok(totals.some((item) => item.counts[index] === count), `${row.comm} ${event}`);
      }
    }
  });

  await claims.claim('every segment of the report has its calls and its inclusive wall time', async () => {
    const {durationNs} = await session.ask('__pv.view()');
    const shown = await session.api(`aggregate?from=0&to=${durationNs}&tables=segments`);
    const hooks = (await session.api('hooks')).items;
    const names = (await session.api('processes')).items;
    assert.ok(report.segments.length > 0);
    for (const row of report.segments) {
      const hook = hooks.filter((item) => item.name === row.segment).map((item) => item.hook);
      const process = names.filter((item) => item.pid === row.pid).map((item) => item.process);
      const same = shown.segments.filter((item) => hook.includes(item.hook) && process.includes(item.process));
      assert.equal(same.reduce((sum, item) => sum + item.calls, 0), row.calls, row.segment);
      assert.equal(same.reduce((sum, item) => sum + item.wall_incl_ns, 0), row.wall_ns.incl, row.segment);
    }
  });

  await claims.claim('halfway, the page shows open segments and who runs', async () => {
    const segment = (await session.ask('__pv.rows()')).find((row) => row.kind === 'segment');
    assert.ok(segment, 'no segment row in sight');
    const {durationNs} = await session.ask('__pv.view()');
    await session.ask(`__pv.movePlayhead(${durationNs / 2})`);
    await session.settled();
    const state = await session.ask('__pv.state()');
    assert.equal(state.t, Math.floor(durationNs / 2));
    assert.deepEqual(state, await session.api(`state?t=${state.t}`));
    await session.ask(`__pv.setWindow(${durationNs * 0.49}, ${durationNs * 0.51})`);
    await session.settled();
    await session.shot(shots, 'trace-middle');
  });

  await claims.claim('after a restart the open page goes on where it was, without the new address', async () => {
    const window = await session.ask('__pv.view()');
    const before = await session.ask('__pv.aggregate()');
    await server.stop();
    await session.ask(`__pv.movePlayhead(${Math.floor(window.durationNs / 3)})`);
    await session.page.locator('.lost').waitFor({state: 'visible', timeout: 20000});
    server = await startServer(countrace, ['view', trace]);
    await session.page.locator('.lost').waitFor({state: 'detached', timeout: 20000});
    await session.settled();
    const after = await session.ask('__pv.view()');
    assert.equal(after.startNs, window.startNs);
    assert.equal(after.nsPerPx, window.nsPerPx);
    assert.equal((await session.ask('__pv.state()')).t, Math.floor(window.durationNs / 3));
    assert.deepEqual(await session.ask('__pv.aggregate()'), before);
    assert.equal(await session.page.locator('.error').count(), 0);
    // Chromium itself reports each request that fails.
    session.problems = session.problems.filter((problem) => !/ERR_CONNECTION_REFUSED|ERR_EMPTY|ERR_CONNECTION_RESET/.test(problem));
  });

  await claims.claim('opening it again uses the index and shows the same', async () => {
    const before = await session.ask('__pv.aggregate()');
    await server.stop();
    server = await startServer(countrace, ['view', trace]);
    await session.visit(server.url);
    assert.deepEqual(await session.ask('__pv.aggregate()'), before);
  });

  await claims.claim('--open gives the browser a private file, and no token in its arguments', async () => {
    const tools = join(directory, 'tools');
    const seen = join(directory, 'arguments');
    mkdirSync(tools);
    // It moves the file, so that a reader sees it whole.
    writeFileSync(join(tools, 'xdg-open'), `#!/bin/sh\necho "$*" > ${seen}.new && mv ${seen}.new ${seen}\n`, {mode: 0o755});
    const {PATH} = process.env;
    process.env.PATH = `${tools}:${PATH}`;
    await server.stop();
    server = await startServer(countrace, ['view', '--open', '--at', '50%', trace]);
    process.env.PATH = PATH;
    for (let i = 0; !existsSync(seen); ++i) {
      assert.ok(i < 400, 'xdg-open was not started');
      await new Promise((done) => setTimeout(done, 50));
    }
    const file = readFileSync(seen, 'utf8').trim();
    assert.doesNotMatch(file, /token|[0-9a-f]{32}/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    await session.page.goto(`file://${file}`);
    await session.page.waitForURL((url) => url.host.startsWith('127.0.0.1') && !url.searchParams.has('token'));
    assert.match(session.page.url(), /[#&]t=\d+/);
    await session.page.locator('.now-time').waitFor({state: 'visible', timeout: 20000});
    await server.stop();
    assert.ok(!existsSync(file));
    server = undefined;
  });

  await claims.claim('nothing went wrong in the page', async () => {
    assert.deepEqual(session.problems, []);
  });
} finally {
  await session?.close();
  await server?.stop();
  rmSync(directory, {recursive: true, force: true});
}
process.exit(claims.failed === 0 ? 0 : 1);
