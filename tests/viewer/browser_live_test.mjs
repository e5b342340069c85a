// `countrace view --live` beside a real recording:
//   browser_live_test.mjs COUNTRACE SHOTS
// The page follows its end, stays where the user went, and has the whole trace
// when the recording has ended.
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {Claims, missing, Session, startServer} from './browser_session.mjs';

const reason = missing() ?? (process.getuid() === 0 ? null : 'kernel records need root');
if (reason) {
  console.log(`SKIPPED: ${reason}`);
  process.exit(0);
}
const [countrace, shots] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'countrace-live-'));
const trace = join(directory, 'live.ctf');
const end = join(directory, 'end');
// Where a server keeps its address.
process.env.XDG_RUNTIME_DIR = directory;
const run = (...args) => spawnSync(countrace, args, {encoding: 'utf8', maxBuffer: 1 << 28});
const claims = new Claims();
let recorder;
let server;
let session;

// The page builds itself again while it is asked.
const view = async () => {
  for (;;) {
    const now = await session.ask('window.__pv?.ready ? __pv.view() : null');
    if (now) return now;
  }
};
async function until(what, condition) {
  for (let i = 0; i < 1200; ++i) {
    const result = await condition();
    if (result) return result;
    await session.page.waitForTimeout(50);
  }
  throw new Error(`never: ${what}`);
}
const atEnd = (shown) => Math.abs(shown.endNs - shown.durationNs) < 2 && Math.abs(shown.playhead - shown.durationNs) < 2;

try {
  recorder = spawn(countrace, ['record', '-q', '-o', trace, '--', 'sh', '-c',
                               `while [ ! -e ${end} ]; do sleep 0.005; done`], {stdio: 'inherit'});
  const ended = new Promise((done) => recorder.on('exit', done));
  for (let i = 0; !existsSync(join(trace, '.session')); ++i) {
    assert.ok(i < 1200, 'no recording');
    await new Promise((done) => setTimeout(done, 50));
  }
  server = await startServer(countrace, ['view', '--live', trace]);
  session = await Session.open();
  await session.visit(server.url);

  const devtools = await session.context.newCDPSession(session.page);
  await devtools.send('HeapProfiler.enable');
  const nodesInUse = async () => {
    await devtools.send('HeapProfiler.collectGarbage');
    return (await devtools.send('Memory.getDOMCounters')).nodes;
  };
  const nodes = await nodesInUse();

  await claims.claim('the page follows the end of the recording', async () => {
    const first = await view();
    assert.ok(atEnd(first), JSON.stringify(first));
    for (let longer = first.durationNs, i = 0; i < 6; ++i) {
      const shown = await until('a longer part', async () => {
        const now = await view();
        return now.durationNs > longer && now;
      });
      assert.ok(atEnd(shown), JSON.stringify(shown));
      longer = shown.durationNs;
    }
    assert.match(await session.page.locator('.building').innerText(), /Live/);
    // Two pages: a new one, and the old one until it is collected.
    assert.ok(await nodesInUse() < 3 * nodes, 'pages that were left stay in memory');
    await session.shot(shots, 'live');
  });

  await claims.claim('it stays where the user goes, and says what came since', async () => {
    // The hook may still be that of a page that is just being replaced.
    const went = await until('the page there', async () => {
      await session.page.evaluate(() => {
        __pv.setWindow(0, 1000000);
        __pv.movePlayhead(500000);
      });
      await session.page.waitForTimeout(300);
      const now = await view();
      return now.startNs === 0 && now.playhead === 500000 && session.ask('__pv.index()');
    });
    const since = (await session.api('index')).duration_ns;
    await until('newer indexes', async () => (await session.api('index')).duration_ns > since + 2e9);
    const now = await view();
    assert.equal(await session.ask('__pv.index()'), went);
    assert.deepEqual([now.startNs, Math.round(now.endNs), now.playhead], [0, 1000000, 500000]);
    const notice = session.page.locator('.building.live');
    assert.match(await notice.innerText(), /Recording\s+.*s more since/);
    await session.settled();
    assert.equal((await session.ask('__pv.state()')).t, 500000);
    await notice.getByRole('button', {name: 'Go to now'}).click();
    await until('the end', async () => {
      const shown = await view();
      return atEnd(shown) && shown.durationNs > since;
    });
  });

  await claims.claim('when the recording ends, all of it is there', async () => {
    writeFileSync(end, '');
    assert.equal(await ended, 0);
    await session.page.locator('.building').waitFor({state: 'detached', timeout: 60_000});
    await session.until('window.__pv?.ready');
    await session.settled();
    assert.ok(atEnd(await view()));
    const {whole, live, duration_ns} = await session.api('index');
    assert.deepEqual([whole, live], [true, false]);
    const report = JSON.parse(run('report', '--format', 'json', trace).stdout);
    assert.equal(duration_ns, report.trace.end_ns - report.trace.begin_ns);
    const sum = (rows) => rows.reduce((total, row) => total + row.on_cpu_ns, 0);
    // A busy machine starts more processes than an answer has rows.
    const counted = [];
    for (let first = 0; first === counted.length; first += 1000) {
      counted.push(...(await session.api(`aggregate?from=0&to=${duration_ns}&tables=processes&first=${first}&top=1000`)).processes);
    }
    assert.ok(counted.length > 10);
    // Where the kernel did not show a switch, the report has limits, and the index a guess.
    const limits = report.processes.map(({on_cpu_ns: ns, bounds}) => bounds?.on_cpu_ns ?? [ns ?? 0, ns ?? 0]);
    const [least, most] = [0, 1].map((end) => limits.reduce((total, limit) => total + (limit[end] ?? Infinity), 0));
    assert.ok(least <= sum(counted) && sum(counted) <= most, `${sum(counted)} of ${least} to ${most} ns`);
  });

  await claims.claim('what cannot be followed is refused with a reason', async () => {
    for (const [args, status, says] of [
           [['--live', trace], 1, /live\.ctf is not being recorded: leave out --live/],
           [['--live', '--at', '50%', trace], 2, /leave out --at/]]) {
      const done = run('view', ...args);
      assert.deepEqual([done.status, done.stdout], [status, ''], done.stderr);
      assert.match(done.stderr, says);
    }
    const flight = join(directory, 'flight.ctf');
    const done = run('record', '-q', '--flight', '1M', '-o', flight, '--', countrace, 'view', '--live', flight);
    assert.equal(done.status, 1, done.stderr);
    assert.match(done.stderr, /is a flight recording.*countrace snapshot/);
  });

  await claims.claim('nothing went wrong in the page', async () => {
    assert.equal(await session.page.locator('.error').count(), 0);
    assert.deepEqual(session.problems, []);
  });
} finally {
  writeFileSync(end, '');
  await session?.page.goto('about:blank');
  await server?.stop();
  await session?.close();
  recorder?.kill('SIGKILL');
  rmSync(directory, {recursive: true, force: true});
}
process.exit(claims.failed === 0 ? 0 : 1);
