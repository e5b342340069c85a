// The page while the index of its trace is built:
//   browser_growing_test.mjs SERVE_GROWING SHOTS
// The server has first parts of a trace until the test lets it finish. The
// trace: two threads of two processes take turns of 10 us, 80 ms long.
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {Claims, missing, Session, startServer} from './browser_session.mjs';

const reason = missing();
if (reason) {
  console.log(`SKIPPED: ${reason}`);
  process.exit(0);
}
const [program, shots] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'countrace-growing-'));
const go = join(directory, 'go');
// Where a server keeps its address.
process.env.XDG_RUNTIME_DIR = directory;
const claims = new Claims();

// Until `work` gives something true.
async function until(session, work) {
  for (let i = 0; i < 1200; ++i) {
    const result = await work();
    if (result) return result;
    await session.page.waitForTimeout(50);
  }
  throw new Error('it never came');
}

// On-CPU time of the processes in a range of the index that the page shows.
const onCpu = (session, from, to) => session.page.evaluate(
    ([a, b]) => fetch(`/api/v1/aggregate?from=${a}&to=${b}&index=${window.__pv.index()}`)
                    .then((answer) => answer.json())
                    .then((answer) => answer.processes.map((row) => [row.process, row.on_cpu_ns]).sort()),
    [from, to]);

// What the minimap and the tables say that they have.
const extents = async (session) => [
  await session.page.locator('.minimap-gutter span').first().innerText(),
  (await session.page.locator('.range-what').innerText()).split(' drag')[0].trim(),
];

let server;
let session;
try {
  server = await startServer(program, [directory]);
  session = await Session.open();
  await session.visit(server.url);
  // The parts are built while the whole waits: the last one is the longest.
  const longest = await until(session, async () => {
    const growth = await session.api('index');
    const shown = await session.ask('__pv.index()');
    return growth.index === shown && growth.duration_ns > growth.trace_ns / 4 && growth;
  });

  await claims.claim('the page shows the first part, and says that it is one', async () => {
    await session.settled();
    assert.equal(longest.whole, false);
    const view = await session.ask('__pv.view()');
    assert.equal(view.durationNs, longest.duration_ns);
    assert.ok(view.endNs <= longest.duration_ns + 1, 'it shows time that it does not know');
    const notice = session.page.locator('.building');
    const share = longest.duration_ns / longest.trace_ns;
    const said = new RegExp(`first part.* of 80(\\.0\\d)?\\sms \\(${Math.floor(100 * share)} %\\); the rest follows.*The index is built: \\d+ %`, 'is');
    assert.match(await notice.innerText(), said);
    assert.deepEqual(await extents(session), [`whole trace, ${Math.floor(100 * share)} % read`, 'First part']);
    await session.shot(shots, 'growing-part');
  });

  await claims.claim('the strip of the whole trace shows how much was recorded where nothing is read yet', async () => {
    const recorded = await session.api('recorded');
    assert.equal(recorded.duration_ns, longest.trace_ns);
    const share = longest.duration_ns / longest.trace_ns;
    // A turn has one record, a quarter of a column; between two packets is a turn without any.
    const of = (columns) => columns.slice(16, -16).reduce((sum, one) => sum + one, 0) / (columns.length - 32);
    assert.ok(recorded.cpu_bytes.slice(16, -16).every((bytes) => Math.abs(bytes / of(recorded.cpu_bytes) - 1) < 0.4));
    assert.equal(of(recorded.thread_bytes), 0);
    assert.equal(of(recorded.lost), 0);
    const strip = session.page.locator('canvas.minimap');
    assert.match(await strip.getAttribute('aria-label'), new RegExp(`Whole trace, of which ${Math.floor(100 * share)} % is read`));
    // The colours along its foot: one of bars without a process, from where what is read ends to the end.
    const along = await strip.evaluate((canvas) => {
      const row = canvas.getContext('2d').getImageData(0, canvas.height - 3, canvas.width, 1).data;
      return Array.from({length: canvas.width}, (_, x) => row.slice(4 * x, 4 * x + 3).join());
    });
    const edge = share * along.length;
    const unread = along.slice(Math.ceil(edge) + 4, -4);
    assert.equal(new Set(unread).size, 1, unread.join(' '));
    assert.ok(!along.slice(4, Math.floor(edge) - 4).includes(unread[0]));
    // A place on it is a time of the whole trace.
    await session.ask('__pv.setWindow(1000000, 2000000)');
    const box = await strip.boundingBox();
    const near = async (at) => {
      await session.page.mouse.click(box.x + at * box.width, box.y + box.height / 2);
      await session.settled();
      const {startNs, endNs} = await session.ask('__pv.view()');
      return Math.abs((startNs + endNs) / 2 - Math.min(at * longest.trace_ns, longest.duration_ns)) < 2 * longest.trace_ns / box.width;
    };
    assert.ok(await near(0.1));
    assert.ok(await near(0.2));
    // What is not read yet cannot be gone to.
    assert.ok(await near(0.95));
    await session.ask(`__pv.setWindow(0, ${longest.duration_ns})`);
  });

  await claims.claim('a program that names no index waits for the whole', async () => {
    const [status, after, gone] = await session.page.evaluate(async () => {
      const answer = await fetch('/api/v1/trace');
      const unknown = await fetch('/api/v1/trace?index=0000000000000000');
      return [answer.status, answer.headers.get('Retry-After'), unknown.status];
    });
    assert.deepEqual([status, after, gone], [503, '1', 410]);
    session.problems = session.problems.filter((problem) => !/status of 503/.test(problem));
  });

  let early;
  await claims.claim('what is built comes without a reload, and the view stays', async () => {
    early = await onCpu(session, 1_000_000, 2_000_000);
    assert.equal(early.length, 2);
    await session.ask('window.sameDocument = true');
    await session.ask('__pv.setWindow(1000000, 2000000)');
    await session.ask('__pv.movePlayhead(1500000)');
    await session.page.getByRole('tab', {name: 'CPUs'}).click();
    await session.settled();
    // What is being written stays, too.
    await session.page.locator('.area').focus();
    await session.key('m');
    await session.page.locator('.new-note').fill('half a');
    await session.ask('__pv.run("query")');
    await session.page.locator('.query textarea').fill('SELECT 7');
    await session.page.getByRole('tab', {name: 'CPUs'}).click();
    writeFileSync(go, '');
    await session.page.locator('.building').waitFor({state: 'detached', timeout: 60_000});
    await session.settled();
    assert.equal(await session.page.locator('.new-note').inputValue(), 'half a');
    await session.ask('__pv.run("query")');
    assert.equal(await session.page.locator('.query textarea').inputValue(), 'SELECT 7');
    await session.page.getByRole('tab', {name: 'CPUs'}).click();
    assert.equal(await session.ask('window.sameDocument'), true);
    const growth = await session.api('index');
    assert.equal(growth.whole, true);
    assert.deepEqual(await extents(session), ['whole trace', 'Whole trace']);
    assert.match(await session.page.locator('canvas.minimap').getAttribute('aria-label'), /^Whole trace; /);
    const view = await session.ask('__pv.view()');
    assert.equal(view.durationNs, growth.duration_ns);
    assert.ok(view.durationNs > longest.duration_ns);
    assert.ok(Math.abs(view.startNs - 1_000_000) < 1 && Math.abs(view.endNs - 2_000_000) < 1, JSON.stringify(view));
    assert.equal(view.playhead, 1_500_000);
    assert.equal(await session.page.getByRole('tab', {name: 'CPUs'}).getAttribute('aria-selected'), 'true');
    assert.deepEqual(await onCpu(session, 1_000_000, 2_000_000), early);
    await session.shot(shots, 'growing-whole');
  });

  await claims.claim('no error', async () => {
    assert.equal(await session.page.locator('.error').count(), 0);
    // A request that is on its way when an index is replaced is answered 410; Chromium reports it.
    assert.deepEqual(session.problems.filter((problem) => !/status of 410/.test(problem)), []);
  });

  await claims.claim('a page whose index cannot be built says why, and shows that it has a part', async () => {
    await session.page.goto('about:blank');
    await server.stop();
    rmSync(go);
    rmSync(join(directory, 'trace.ctf'), {recursive: true});
    server = await startServer(program, [directory]);
    await session.visit(server.url);
    assert.equal(await session.page.locator('.error').count(), 0);
    writeFileSync(join(directory, 'full'), '');
    writeFileSync(go, '');
    const alert = session.page.locator('.error', {hasText: 'Only the first part'});
    await alert.waitFor({timeout: 60_000});
    assert.match(await alert.innerText(), /could not be built: Cannot write the spool file.*File too large/is);
    // No request that it makes now is answered with numbers.
    const answers = await session.page.evaluate(
        (index) => Promise.all(['index', `trace?index=${index}`, `aggregate?from=0&to=1000000&index=${index}`].map(
            (name) => fetch(`/api/v1/${name}`).then((answer) => answer.status))),
        await session.ask('__pv.index()'));
    assert.deepEqual(answers, [500, 500, 500]);
    assert.equal(await session.page.locator('.building').count(), 0);
    await session.shot(shots, 'growing-failed');
    await session.page.goto('about:blank');
  });
} finally {
  writeFileSync(go, '');
  await session?.close();
  await server?.stop();
  rmSync(directory, {recursive: true, force: true});
}
process.exit(claims.failed === 0 ? 0 : 1);
