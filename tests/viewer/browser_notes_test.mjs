// Notes, markers and queries of a served page, and the notes of an exported file:
//   browser_notes_test.mjs COUNTRACE SERVER_TRACES SHOTS HAS_MODULE
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {chmodSync, chownSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';

import {Claims, COLLISIONS, missing, Session, startServer, wholeIndex} from './browser_session.mjs';

const reason = missing();
if (reason) {
  console.log(`SKIPPED: ${reason}`);
  process.exit(0);
}
const [countrace, makeTraces, shots, hasModule] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'countrace-notes-'));
chmodSync(directory, 0o755);
process.env.XDG_RUNTIME_DIR = directory;
const run = (command, ...args) => spawnSync(command, args, {cwd: directory, encoding: 'utf8', maxBuffer: 1 << 28});
const trace = join(directory, 'new1.ctf');
const file = join(trace, '.timeline.notes');
const stored = () => JSON.parse(readFileSync(file, 'utf8'));
const claims = new Claims();
let server;
let session;
const panel = (name) => session.page.locator(`.notes[aria-label=${name}]`);
const write = async (at, text) => {
  await session.ask(`__pv.movePlayhead(${at})`);
  await session.page.locator('.area').focus();
  await session.key('m');
  await session.page.locator('.new-note').fill(text);
  await session.page.keyboard.press('Enter');
  await session.settled();
};
const HOSTILE = '</script><img src=x onerror="document.title=1"> \u202egnol';
const post = (name, body, headers) => fetch(`${new URL(server.url).origin}/api/v1/${name}`, {
  method: 'POST', body: JSON.stringify(body),
  headers: {'Content-Type': 'application/json', Authorization: `Bearer ${new URL(server.url).searchParams.get('token')}`, ...headers},
});

try {
  assert.equal(run(makeTraces, '1').status, 0);
  server = await wholeIndex(await startServer(countrace, ['view', trace]));
  session = await Session.open();
  await session.visit(server.url);
  const {page} = session;

  await claims.claim('M writes a note at the playhead: listed, kept in the trace, there in another page, removed', async () => {
    assert.equal(existsSync(file), false);
    await write(2_000_000, 'second');
    await write(1_000_000, HOSTILE);
    assert.deepEqual(stored(), [{at: 1_000_000, text: HOSTILE}, {at: 2_000_000, text: 'second'}]);
    assert.equal(lstatSync(file).mode & 0o777, lstatSync(join(trace, 'metadata')).mode & 0o666);
    await session.shot(shots, 'notes');
    await session.revisit('');
    await panel('Notes').locator('.link').nth(1).waitFor();
    assert.deepEqual(await panel('Notes').locator('.link').evaluateAll((all) => all.map((one) => one.textContent)),
                     [`0.001\u2009000\u2009000\u2009s ${HOSTILE.replace('\u202e', '\u00b7')}`, '0.002\u2009000\u2009000\u2009s second']);
    assert.equal(await page.locator('img').count(), 0);
    await panel('Notes').getByText('second').click();
    await session.settled();
    assert.equal((await session.ask('__pv.view()')).playhead, 2_000_000);
    // What another page wrote meanwhile stays.
    const before = stored();
    assert.equal((await post('notes', {before, notes: [...before, {at: 3, text: 'other'}]})).status, 200);
    await panel('Notes').getByRole('button', {name: 'Remove note: second'}).click();
    await session.settled();
    assert.deepEqual(stored(), [{at: 1_000_000, text: HOSTILE}, {at: 3, text: 'other'}]);
    // Escape keeps none.
    await page.locator('.area').focus();
    await session.key('m');
    await page.locator('.new-note').fill('third');
    await page.keyboard.press('Escape');
    await session.settled();
    assert.equal(stored().length, 2);
    // What is refused is still there to be sent again.
    await page.route('**/api/v1/notes*', (route) => route.fulfill({status: 400, json: {error: 'no room'}}));
    await write(6, 'fourth');
    await panel('Notes').getByText('no room').waitFor();
    assert.equal(await page.locator('.new-note').inputValue(), 'fourth');
    await page.unroute('**/api/v1/notes*');
    await page.locator('.new-note').press('Enter');
    await session.settled();
    assert.deepEqual(stored().map(({text}) => text), ['other', 'fourth', HOSTILE]);
    assert.equal(await page.locator('.new-note').count(), 0);
    await panel('Notes').getByRole('button', {name: 'Remove note: fourth'}).click();
    await session.settled();
    session.problems = session.problems.filter((problem) => !/status of 4(09|00)/.test(problem));
  });

  await claims.claim('what is no list of notes is refused, and a link in their place is not followed', async () => {
    const before = stored();
    for (const notes of [{}, [{at: -1, text: ''}], [{at: 1}], [{at: 1, text: 1}], [{at: 1, text: 'x', more: 1}], [{at: 1, text: 'x'.repeat(1001)}],
                         Array.from({length: 501}, () => ({at: 1, text: ''}))]) {
      assert.equal((await post('notes', {before, notes})).status, 400, JSON.stringify(notes).slice(0, 60));
    }
    assert.equal((await post('notes', {before: [], notes: []})).status, 409);
    assert.equal((await post('notes', {before, notes: []}, {'Content-Type': 'text/plain'})).status, 415);
    assert.equal((await post('notes', {before, notes: []}, {Authorization: 'Bearer 0'})).status, 401);
    assert.deepEqual(stored(), before);
    const secret = join(directory, 'secret');
    writeFileSync(secret, '[]');
    rmSync(file);
    symlinkSync(secret, file);
    const {origin, searchParams} = new URL(server.url);
    const answer = await fetch(`${origin}/api/v1/notes`, {headers: {Authorization: `Bearer ${searchParams.get('token')}`}});
    assert.equal(answer.status, 400);
    assert.match((await answer.json()).error, /\.timeline\.notes holds no notes/);
    assert.equal((await post('notes', {before: [], notes: [{at: 1, text: 'x'}]})).status, 400);
    assert.equal(readFileSync(secret, 'utf8'), '[]');
    await session.revisit('');
    await panel('Notes').getByText('holds no notes').waitFor();
    session.problems = session.problems.filter((problem) => !/status of 400/.test(problem));
    rmSync(file);
    writeFileSync(file, JSON.stringify(before));
  });

  await claims.claim('[ and ] set markers; the panel has their difference, the address has them', async () => {
    await session.revisit('');
    for (const [at, key] of [[1_500_000, '['], [4_000_000, ']']]) {
      await session.ask(`__pv.movePlayhead(${at})`);
      await session.key(key);
    }
    assert.match(await panel('Markers').innerText(), /A to B: 2\.500\sms/);
    await page.waitForURL(/markers=1500000-4000000/);
    await session.shot(shots, 'markers');
    await session.revisit(new URL(page.url()).hash);
    await panel('Markers').getByRole('button', {name: 'select', exact: true}).click();
    await session.settled();
    assert.deepEqual((await session.ask('__pv.view()')).selection, {from: 1_500_000, to: 4_000_000});
    await panel('Markers').getByText('A 0.001').click();
    await session.settled();
    assert.equal((await session.ask('__pv.view()')).playhead, 1_500_000);
    await session.key('[');
    assert.doesNotMatch(await panel('Markers').innerText(), /A to B/);
    await panel('Markers').getByRole('button', {name: 'Remove marker B'}).click();
    assert.equal(await panel('Markers').count(), 0);
    await session.key('Escape');
  });

  const SQL = 'SELECT comm, pid, on_cpu_ns, NULL AS "none, ""at"" all" FROM processes ORDER BY pid -- and so on';
  await claims.claim('Shift Q: SQL has the rows of `countrace query`, of the whole trace and of the selection', async () => {
    await page.locator('.area').focus();
    await session.key('Shift+Q');
    const text = page.locator('.query textarea');
    const cells = () => page.locator('.query table tr').evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
    const printed = (...range) => run(countrace, 'query', '--format', 'csv', SQL, ...range, trace).stdout.trimEnd().split('\r\n').slice(1).map((line) => line.split(','));
    await text.fill(SQL);
    await page.keyboard.press('Control+Enter');
    await page.locator('.query .footer').waitFor();
    assert.deepEqual(await cells(), [['comm', 'pid', 'on_cpu_ns', 'none, "at" all'], ...printed()]);
    await session.shot(shots, 'query');
    await session.ask('__pv.run("clear")');
    await session.revisit('#tab=query&sel=1000000-4000000');
    await page.locator('.query textarea').fill(SQL);
    await page.getByRole('button', {name: 'Run'}).click();
    await page.locator('.query .footer').waitFor();
    const ranged = printed('--from', '1000000ns', '--to', '4000000ns');
    assert.notDeepEqual(ranged, printed());
    assert.deepEqual((await cells()).slice(1), ranged);
    // With another selection they are stale.
    assert.equal(await page.locator('.query .stale').count(), 0);
    await session.key('Escape');
    await page.locator('.area').focus();
    await session.key('Escape');
    await page.locator('.query .stale').waitFor();
    await page.locator('.query .footer', {hasText: 'of another statement or selection'}).waitFor();
  });

  await claims.claim('a query reads the trace only: wrong ones are refused in words', async () => {
    for (const [sql, says] of [['SELECT nope FROM processes', /no such column: nope/], ['DROP TABLE processes', /not authorized|may only|authoriz/],
                               ['SELECT 1; SELECT 2', /more than one statement/], ['ATTACH "/etc/passwd" AS a', /authoriz|too many attached/],
                               ["SELECT load_extension('x')", /authoriz/], ["SELECT writefile('x', 'y')", /no such function/], ['--tables', /no statement/], ['', /no statement|say what/]]) {
      const answer = await post('query', {sql});
      assert.equal(answer.status, 400, sql);
      assert.match((await answer.json()).error, says, sql);
    }
    assert.equal((await post('query', {sql: 'SELECT 1'}, {Authorization: 'Bearer 0'})).status, 401);
    assert.equal((await post('query', {sql: 'SELECT 1'}, {Origin: 'http://example.org'})).status, 403);
    assert.equal((await post('query', {sql: 'SELECT 1'}, {'Content-Type': 'text/plain'})).status, 415);
    for (const sql of [1, 'SELECT 1\u0000', `SELECT '${'x'.repeat(70_000)}'`]) assert.equal((await post('query', {sql})).status, 400);
    assert.equal((await post('query', {sql: 'SELECT 1', from: 1})).status, 400);
    // Bytes that are no text.
    assert.equal((await (await post('query', {sql: "SELECT x'ff41' AS n"})).json()).csv, 'n\r\n\\xffA\r\n');
    const {origin, searchParams} = new URL(server.url);
    assert.equal((await fetch(`${origin}/api/v1/query`, {headers: {Authorization: `Bearer ${searchParams.get('token')}`}})).status, 405);
    await page.locator('.query textarea').fill('SELECT nope FROM processes');
    await page.getByRole('button', {name: 'Run'}).click();
    await page.locator('.query .refused', {hasText: 'no such column'}).waitFor();
    session.problems = session.problems.filter((problem) => !/status of 400/.test(problem));
  });

  const children = () => run('sh', '-c', 'ps -eo args | grep -c "^/proc/self/exe query"').stdout.trim();
  const FOR_EVER = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c';
  await claims.claim('a query ends after 10 s, with 256 MiB, with 1 MiB of rows, or when a later one comes', async () => {
    const begin = Date.now();
    const slow = await post('query', {sql: FOR_EVER});
    assert.ok(Date.now() - begin >= 9900, `${Date.now() - begin} ms`);
    assert.match((await slow.json()).error, /more than its time of 10 s/);
    const large = await post('query', {sql: 'SELECT length(hex(zeroblob(200000000)))'});
    assert.match((await large.json()).error, /more than its memory of 10 s and 256 MiB/);
    // What fits is answered.
    assert.equal((await (await post('query', {sql: 'SELECT length(hex(zeroblob(20000000))) AS n'})).json()).csv, 'n\r\n40000000\r\n');
    const disk = await post('query', {sql: `${FOR_EVER.replace('SELECT count(*) FROM c', "SELECT count(*) FROM (SELECT x, hex(zeroblob(2000)) AS y FROM c LIMIT 200000) GROUP BY y || x")}`});
    assert.match((await disk.json()).error, /more than its/);
    const rows = await (await post('query', {sql: FOR_EVER.replace('count(*) FROM c', 'x FROM c LIMIT 1000000')})).json();
    assert.ok(rows.cut && rows.csv.length <= 1 << 20 && rows.csv.endsWith('\r\n'));
    // Which of two requests the server reads first is not known: again, until the one is answered.
    let answered = false;
    const first = post('query', {sql: FOR_EVER}).finally(() => (answered = true));
    let later;
    while (!answered) later = (await post('query', {sql: 'SELECT 1'})).status;
    assert.deepEqual([(await first).status, later], [409, 200]);
    assert.equal(children(), '0');
  });

  await claims.claim('light and dark, on each screen: no control lies over another, axe-core finds nothing', async () => {
    const axe = readFileSync(join(import.meta.dirname, '../../viewer/web/node_modules/axe-core/axe.min.js'), 'utf8');
    await session.revisit('#tab=query&t=2000000&markers=1000000-3000000');
    await page.locator('.query textarea').fill(SQL);
    await page.getByRole('button', {name: 'Run'}).click();
    await page.locator('.query .footer').waitFor();
    await page.locator('.area').focus();
    await session.key('m');
    await session.ask(`${axe};0`);
    for (const scheme of ['light', 'dark']) {
      await page.emulateMedia({colorScheme: scheme});
      for (const width of [800, 1280, 1440]) {
        await page.setViewportSize({width, height: 800});
        await session.settled();
        assert.deepEqual(await session.ask(COLLISIONS), [], `${width} px`);
        const found = await session.ask('axe.run(document, {resultTypes: ["violations"]}).then(({violations}) => ' +
            'violations.map(({impact, id, nodes}) => [impact, id, ...nodes.map(({html}) => html.slice(0, 120))]))');
        assert.deepEqual(found, [], `${scheme}, ${width} px`);
        await session.shot(shots, `marked-${scheme}-${width}`);
      }
    }
    await page.setViewportSize({width: 1440, height: 900});
    await page.emulateMedia({colorScheme: 'light'});
    await page.keyboard.press('Escape');
  });

  await claims.claim('nothing went wrong in the page', async () => assert.deepEqual(session.problems, []));
  await page.goto('about:blank');
  await server.stop();

  await claims.claim('where the folder cannot be written, notes are in the cache beside the index', async () => {
    if (process.getuid() !== 0) return console.log('      not root: not tried');
    const cache = join(directory, 'cache');
    mkdirSync(cache);
    chownSync(cache, 65534, 65534);
    chmodSync(join(trace), 0o755);
    run('chmod', '-R', 'a+rX', trace);
    rmSync(file);
    server = await wholeIndex(await startServer(
        'setpriv', ['--reuid=65534', '--regid=65534', '--clear-groups', 'env', `XDG_CACHE_HOME=${cache}`, 'XDG_RUNTIME_DIR=', countrace, 'view', trace]));
    assert.equal((await post('notes', {before: [], notes: [{at: 5, text: 'theirs'}]})).status, 200);
    assert.equal(existsSync(file), false);
    const names = run('ls', '-A', join(cache, 'countrace')).stdout;
    assert.match(names, /^[0-9a-f]{32}\.notes$/m);
    // Those of the trace's owner are seen until then.
    rmSync(join(cache, 'countrace', names.match(/^.*\.notes$/m)[0]));
    writeFileSync(file, JSON.stringify([{at: 6, text: 'of the owner'}]));
    chmodSync(file, 0o644);
    const {origin, searchParams} = new URL(server.url);
    const read = await fetch(`${origin}/api/v1/notes`, {headers: {Authorization: `Bearer ${searchParams.get('token')}`}});
    assert.deepEqual(await read.json(), {notes: [{at: 6, text: 'of the owner'}]});
    // No query outlives its server.
    void post('query', {sql: FOR_EVER}).catch(() => undefined);
    for (let i = 0; children() === '0'; ++i) assert.ok(i < 100 && await new Promise((done) => setTimeout(() => done(true), 50)), 'no query runs');
    await server.stop();
    for (let i = 0; children() !== '0'; ++i) assert.ok(i < 100 && await new Promise((done) => setTimeout(() => done(true), 50)), 'a query still runs');
  });

  await claims.claim('an exported file has the notes, of a part those in it, and keeps no new ones', async () => {
    if (hasModule !== 'ON') return console.log('      without the module of exported pages: not tried');
    writeFileSync(file, JSON.stringify([{at: 1_000_000, text: HOSTILE}, {at: 4_000_000, text: 'late'}]));
    for (const [range, shown] of [[[], [HOSTILE.replace('\u202e', '\u00b7'), 'late']], [['--from', '3ms', '--until', '5ms'], ['late']]]) {
      const html = join(directory, 'page.html');
      const done = run(countrace, 'export', '--force', '--to', 'html', '-o', html, ...range, trace);
      assert.equal(done.status, 0, done.stderr);
      await session.show(`${pathToFileURL(html)}?test=1`);
      const texts = await panel('Notes').locator('.link').evaluateAll((all) => all.map((one) => one.textContent.replace(/^[\d.\s]+s /, '')));
      assert.deepEqual(texts, shown);
      assert.equal(await page.locator('img').count(), 0);
      assert.equal(await panel('Notes').getByRole('button', {name: 'Remove'}).count(), 0);
      await session.shot(shots, 'notes-file');
    }
    assert.match(await panel('Notes').locator('.when').innerText(), /^0\.001\s000\s000\ss$/);
    await page.locator('.area').focus();
    await session.key('m');
    assert.equal(await page.locator('.new-note').count(), 0);
    await panel('Notes').getByText('No new notes are kept in this file').waitFor();
    writeFileSync(file, 'no list');
    const done = run(countrace, 'export', '--force', '--to', 'html', '-o', join(directory, 'page.html'), trace);
    assert.equal(done.status, 0);
    assert.match(done.stderr, /no notes: .*holds no notes: move it away/);
    assert.deepEqual(session.problems, []);
  });
} finally {
  await session?.close();
  rmSync(directory, {recursive: true, force: true});
}
process.exit(claims.failed === 0 ? 0 : 1);
