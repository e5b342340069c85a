// The file of `countrace export --to html` in a browser without a network:
//   browser_export_test.mjs COUNTRACE PROGRAM SHOTS HAS_MODULE
// Records PROGRAM, exports it, and compares the page with `countrace state` and
// with the answers of `countrace view`, byte for byte.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {Claims, missing, Session, startServer, wholeIndex} from './browser_session.mjs';
import {comparison} from './instant_comparison.mjs';

const [countrace, program, shots, hasModule] = process.argv.slice(2);
const reason = hasModule === 'ON' ? missing() : 'built without the module of exported pages (scripts/setup)';
if (reason) {
  console.log(`SKIPPED: ${reason}`);
  process.exit(0);
}
const directory = mkdtempSync(join(tmpdir(), 'countrace-export-'));
const trace = join(directory, 'small.ctf');
const file = join(directory, 'small page.html');
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
  const sampled = ['--sample', '997', ...(process.getuid() === 0 ? ['--sample', 'every=100:page-faults', '--offcpu', '1ms'] : [])];
  run('record', '-q', ...sampled, '-o', trace, '--', program, '2000', '2');
  run('export', '--to', 'html', '-o', file, trace);
  session = await Session.open();
  await session.context.setOffline(true);
  const requested = [];
  session.context.on('request', (request) => requested.push(request.url()));
  await session.show(`file://${encodeURI(file)}?test=1`);
  await session.settled();
  await session.shot(shots, 'export');
  const ask = (path, body) => session.page.evaluate(
      ([name, text]) => __pv.ask(name, text), [path, body]);
  const json = async (path) => JSON.parse((await ask(path)).slice(4));
  const {durationNs} = await session.ask('__pv.view()');
  const within = (share) => Math.floor(durationNs * share);
  // Answers about functions are the same; of a range, the file has notes on all
  // programs, and the tail of a distribution is computed by other code.
  const sameFunctions = (own, other, path) => {
    const [p, otherP] = [own, other].map(({books}) => books.map(({periods}) => periods?.p ?? null));
    assert.ok(p.every((one, i) => one === null ? otherP[i] === null : Math.abs(one - otherP[i]) <= 1e-9 * otherP[i] + 1e-15), `${path}: ${p}, ${otherP}`);
    for (const {periods} of [...own.books, ...other.books]) delete periods?.p;
    if (/from=/.test(path)) {
      delete own.notes;
      delete other.notes;
    }
    assert.deepEqual(own, other, path);
  };

  // A number of a row of the page's; where the kernel did not show a switch, the report has limits of it, and the
  // index a guess.
  const agrees = (row, own, name) => {
    const [least, most] = row.bounds?.[name] ?? [row[name], row[name]];
    return least <= own[name] && (most === null || own[name] <= most);
  };

  await claims.claim('the page has the report\'s processes, with their CPU time to the ns', async () => {
    const report = JSON.parse(run('report', '--format', 'json', trace));
    const shown = await session.ask('__pv.aggregate()');
    for (const row of report.processes.filter((item) => item.on_cpu_ns > 0)) {
      assert.ok(shown.processes.some((item) => agrees(row, item, 'on_cpu_ns') && agrees(row, item, 'dispatches')), row.comm);
    }
  });

  await claims.claim('at 20 instants, the panels are what `countrace state --at` says', async () => {
    const same = await comparison(json);
    for (let i = 0; i < 20; ++i) {
      await session.ask(`__pv.movePlayhead(${within(Math.random())})`);
      await session.settled();
      const {playhead} = await session.ask('__pv.view()');
      const state = await session.ask('__pv.state()');
      assert.equal(state.t, playhead);
      same(state, JSON.parse(run('state', '--all', '--at', `${playhead}ns`, '--window',
                                 `${await session.ask('__pv.window()')}ns`, '--format', 'jsonl', trace)));
    }
  });

  await claims.claim('it plays, and each frame is exact', async () => {
    const same = await comparison(json);
    await session.ask('__pv.realClock()');
    for (const key of ['l', 'j']) {
      await session.ask(`__pv.movePlayhead(${within(0.5)})`);
      await session.ask('__pv.setSpeed(0.1)');
      await session.settled();
      await session.page.keyboard.press(key);
      await session.until(`__pv.view().playhead ${key === 'l' ? '>' : '<'} ${within(0.5)}`);
      await session.page.keyboard.press('k');
      await session.settled();
      const state = await session.ask('__pv.state()');
      assert.equal(state.t, (await session.ask('__pv.view()')).playhead);
      same(state, JSON.parse(run('state', '--all', '--at', `${state.t}ns`, '--window',
                                 `${await session.ask('__pv.window()')}ns`, '--format', 'jsonl', trace)));
    }
    await session.shot(shots, 'export-played');
  });

  await claims.claim('every answer is the server\'s, byte for byte', async () => {
    server = await wholeIndex(await startServer(countrace, ['view', trace]));
    const {origin, searchParams} = new URL(server.url);
    const headers = {Authorization: `Bearer ${searchParams.get('token')}`};
    const served = async (path, body) => {
      const answer = await fetch(`${origin}/api/v1/${path}`, body === undefined ?
          {headers} : {method: 'POST', headers: {...headers, 'Content-Type': 'application/json'}, body});
      return `${answer.status} ${Buffer.from(await answer.arrayBuffer()).toString('latin1')}`;
    };
    const {rows, machine_row, processes, counter_rows_from} = await json('trace');
    const hooks = (await json('hooks')).items.map((item) => item.hook);
    const paths = ['trace', 'processes', 'threads', 'hooks', 'rows', 'losses', 'overview', 'longest', 'processes?ids=0,1',
                   'find?q=re', 'find?q=%52E', 'find?q=%', 'nothing', 'tile/0/99/0', 'tile/x',
                   `tile/${machine_row}/20/0`, `tile/${machine_row + processes + 1}/20/0`, 'aggregate', 'aggregate?from=9&to=1',
                   'state', 'state?t=x', 'state?t=1&top=2000', 'step?t=0', 'rows?from=0', 'hits?hook=1&from=0&to=1&columns=0',
                   `wait?thread=99999&t=1`, `aggregate?from=0&to=${durationNs}&sort=nothing`];
    const times = Array.from({length: 12}, () => within(Math.random()));
    for (const [i, t] of times.entries()) {
      const to = Math.max(t, times[(i + 1) % times.length]);
      const from = Math.min(t, times[(i + 1) % times.length]);
      for (const table of ['processes', 'threads', 'segments', 'paths', 'hooks', 'cpus', 'waits']) {
        paths.push(`aggregate?from=${from}&to=${to}&tables=${table}`);
      }
      paths.push(`state?t=${t}&top=12&window=${to - from}`, `state?t=${t}&threads=all`, `rows?from=${from}&to=${to}&top=20`,
                 `rows?from=${from}&to=${to}&parent=0,1&also=1`, `wait?thread=${i % 4}&t=${t}`,
                 `step?t=${t}&dir=next&kind=any&count=5`, `step?t=${t}&dir=previous&kind=dispatch`,
                 `hits?hook=${hooks[i % hooks.length]}&from=${from}&to=${to}`,
                 `durations?process=${i % processes}&hook=${hooks[i % hooks.length]}&from=${from}&to=${to}`,
                 `aggregate?from=${from}&to=${to}&tables=threads&sort=wait_ns&order=ascending&limit=3`);
    }
    for (const path of paths) assert.equal(await ask(path), await served(path), path);
    const table = async (path) => {
      const [own, other] = [await json(path), JSON.parse((await served(path)).slice(4))];
      sameFunctions(own, other, path);
      return other;
    };
    const functions = ['functions', 'functions?sort=total&order=ascending', 'functions?event=0&limit=3&offset=2'];
    const {threads, all} = await table('functions');
    for (const [i, {process, thread}] of threads.slice(0, 8).entries()) {
      functions.push(`functions?process=${process}`, `functions?thread=${thread}`, `functions?process=${process}&thread=${thread}&event=${i % all.length}`);
    }
    for (const [i, t] of times.entries()) {
      const [from, to] = [t, times[(i + 1) % times.length]].sort((a, b) => a - b);
      functions.push(`functions?from=${from}&to=${to}`, `functions?from=${from}&to=${to}&thread=${threads[i % threads.length].thread}`);
    }
    functions.push(`functions?from=0&to=${within(0.5)}`, `functions?from=${within(0.5)}&to=${durationNs + 1}`);
    // In some of these nothing runs, and no sample is.
    for (let i = 0; i < 32; ++i) functions.push(`functions?from=${within(i / 32)}&to=${within(i / 32) + 2000}`);
    let compared = 0;
    for (const path of functions) compared += (await table(path)).rows.length;
    assert.ok(compared > 100 && all.every(({samples}) => samples > 0), `${compared} rows, ${JSON.stringify(all)}`);
    for (const path of ['functions?sort=no', 'functions?thread=x', 'functions?from=2&to=2', 'functions?event=9']) {
      assert.match(await ask(path), /^400 /);
      assert.equal(await ask(path), await served(path), path);
    }
    const posts = [
      ['tiles', {generation: 7, tiles: Array.from({length: rows}, (_, row) => [row, 14 + row % 12, 0])}],
      ['tiles', {generation: 8, tiles: Array.from({length: machine_row - counter_rows_from}, (_, i) => [counter_rows_from + i, 20, 0])}],
      ['tiles', {tiles: [[machine_row, 18, 1], [machine_row + 1, 18, 1]]}], ['tiles', {tiles: [[0, 1]]}], ['tiles', 'x'],
      ['frames', {times, threads: 12, processes: 10, recent_processes: 10, since: times[0], window: 1000000}],
      ['frames', {times: [-1]}], ['frames', {times: Array.from({length: 121}, () => 1)}],
    ];
    for (const [path, body] of posts) {
      const text = JSON.stringify(body);
      const answer = await served(path, text);
      // Its length first: assert prints what differs, byte by byte.
      assert.equal((await ask(path, text)).length, answer.length, `${path} ${text.slice(0, 80)}`);
      assert.ok(await ask(path, text) === answer, `${path} ${text.slice(0, 80)}`);
    }
    await server.stop();
    server = undefined;
  });

  await claims.claim('a file of a part has the numbers of that range, and says what it is', async () => {
    const [from, to] = [within(0.3), within(0.6)];
    const part = join(directory, 'part.html');
    run('export', '--to', 'html', '--from', `${from}ns`, '--until', `${to}ns`, '-o', part, trace);
    const report = JSON.parse(run('report', '--from', `${from}ns`, '--to', `${to}ns`, '--format', 'json', trace));
    const tables = 'threads,segments,paths,hooks,cpus,waits';
    const whole = await json(`aggregate?from=${from}&to=${to}&tables=${tables}`);
    const wholeHooks = (await json('hooks')).items;
    const functions = await json(`functions?from=${from}&to=${to}`);
    const states = [];
    for (const share of [0.31, 0.45, 0.59]) states.push([within(share), await json(`state?t=${within(share)}&top=12&window=1000`)]);
    const page = await session.context.newPage();
    await page.goto(`file://${encodeURI(part)}?test=1`);
    for (let i = 0; !await page.evaluate('Boolean(window.__pv?.ready)'); ++i) {
      assert.ok(i < 1200, 'the part never became ready');
      await page.waitForTimeout(50);
    }
    await page.evaluate('__pv.settled()');
    const askPart = async (path) => JSON.parse((await page.evaluate((name) => __pv.ask(name), path)).slice(4));
    const info = await askPart('trace');
    assert.deepEqual([info.part_from_ns, info.duration_ns], [from, to - from]);
    assert.equal(info.duration_ns, report.trace.end_ns - report.trace.begin_ns);
    const shown = await askPart(`aggregate?from=0&to=${to - from}&tables=${tables}`);
    const own = await askPart('functions');
    assert.ok(own.books.every(({counted}) => counted === null) && own.rows.length > 0);
    sameFunctions(own, functions, 'functions?from=');
    const exact = ['on_cpu_ns', 'wait_ns', 'wall_ns.incl', 'wall_ns.excl', 'hits', 'busy_ns', 'idle_ns', 'interrupts_ns',
                   'thread', 'process', 'cpu', 'hook', 'path'];
    const cells = (rows) => rows.map((row) => exact.map((name) => name.split('.').reduce((of, part) => of?.[part], row))).sort((x, y) => `${x}` < `${y}` ? -1 : 1)
        .filter((row) => row.slice(0, 8).some((cell) => cell > 0));
    let rows = 0;
    for (const table of ['processes', 'threads', 'segments', 'paths', 'hooks', 'cpus']) {
      assert.deepEqual(cells(shown[table]), cells(whole[table]), table);
      rows += shown[table].length;
    }
    // A sleep that begins before the part is in it from the thread's first dispatch on.
    const blocked = (answer) => answer.threads.reduce((sum, row) => sum + row.blocked_ns, 0);
    assert.ok(blocked(shown) <= blocked(whole), `${blocked(shown)} of ${blocked(whole)} ns`);
    assert.ok(rows > 12, `${rows} rows`);
    // What is open where the part begins, begins there.
    const open = (await json(`state?t=${from}&threads=all&window=1`)).threads.reduce((sum, {open: calls}) => sum + calls.length, 0);
    const calls = (answer) => answer.segments.reduce((sum, row) => sum + row.calls, 0);
    const more = calls(shown) - calls(whole);
    assert.ok(more >= 0 && more <= open, `${more} more calls, ${open} open`);
    for (const row of report.processes.filter((item) => item.on_cpu_ns > 0)) {
      assert.ok(shown.processes.some((item) => agrees(row, item, 'on_cpu_ns')), row.comm);
    }
    // The same machine at an instant, but for the begins of what the edge cuts.
    for (const [at, state] of states) {
      const other = await askPart(`state?t=${at - from}&top=12&window=1000`);
      assert.deepEqual(other.cpus.map(({thread, known}) => [thread, known]), state.cpus.map(({thread, known}) => [thread, known]));
      // A sleep from before the part, too, is there from the first dispatch on.
      const slept = new Set(state.threads.filter(({state: doing, since_ns}) => doing === 'blocked' && since_ns < from).map(({thread}) => thread));
      const threads = (answer) => answer.threads.map(({thread, state: doing, open}) =>
        [thread, slept.has(thread) && doing === 'unknown' ? 'blocked' : doing, open.map(({hook}) => hook)]).sort();
      assert.deepEqual(threads(other), threads(state));
    }
    assert.deepEqual((await askPart('hooks')).items.map(({name}) => name), wholeHooks.map(({name}) => name));
    assert.match(await page.locator('.building').innerText(), /Part\s+.* from .* after the begin of the trace; times count from there/);
    assert.match(await page.locator('.range-what').innerText(), /^Part/);
    await page.screenshot({path: join(shots, 'export-part.png')});
    await page.close();
  });

  await claims.claim('the call tree is the report\'s', async () => {
    await session.page.getByRole('tab', {name: 'Segments'}).click();
    await session.page.getByRole('button', {name: 'Call tree'}).click();
    await session.until('__pv.callTree()');
    await session.settled();
    const {rows, total, sums} = await session.ask('__pv.callTree()');
    const report = JSON.parse(run('report', '--by', 'path', '--format', 'json', trace));
    const handlers = new Set((await json('hooks')).items.filter(({origin}) => origin === 'interrupt').map(({name}) => name));
    const expected = report.segment_paths.filter(({segment}) => !handlers.has(segment));
    const cells = (all) => all.map(({path, calls, wall_ns: wall, on_cpu_ns: onCpu}) =>
        JSON.stringify([path, calls, wall.incl, wall.excl, onCpu?.incl ?? null])).sort();
    assert.ok(total > 1 && total <= 300, total);
    assert.deepEqual(cells(rows), cells(expected));
    assert.equal(sums.wall_ns.excl, expected.reduce((sum, row) => sum + row.wall_ns.excl, 0));
    const heads = await session.page.locator('.calltree th .title').allInnerTexts();
    assert.ok(heads.includes('Wall self') && heads.includes('On-CPU') && !heads.includes('p99'), `${heads}`);
    assert.equal(await session.page.locator('.calltree tbody tr:not(.group)').count(), rows.length);
    assert.match(await session.page.locator('.condition').innerText(), /From the index.*countrace view/);
    await session.shot(shots, 'export-call-tree');
  });

  await claims.claim('what is not in the file is said in plain words', async () => {
    await session.page.getByRole('tab', {name: 'Events'}).click();
    await session.settled();
    assert.match(await session.page.locator('.range-body').innerText(), /not the trace.*countrace view/);
    assert.equal(await session.page.locator('a.csv').count(), 0);
    await session.page.keyboard.press('u');
    await session.until('__pv.functions()');
    await session.settled();
    await session.shot(shots, 'export-functions');
    const {rows: shown, total} = await session.ask('__pv.functions()');
    const report = JSON.parse(run('report', '--by', 'function', '--format', 'json', trace)).rows.filter(({event}) => event === shown[0].event);
    assert.deepEqual([shown, total], [report.slice(0, 100), report.length]);
    await session.page.locator('.functions tbody tr').first().click();
    await session.page.locator('.function-source .refused').filter({hasText: 'countrace annotate'}).waitFor();
    assert.match(await session.page.locator('.function-source .refused').innerText(), /names of functions, not their code.*countrace view/);
    await session.shot(shots, 'export-code');
    await session.page.keyboard.press('Escape');
    await session.settled();
    await session.page.getByRole('tab', {name: 'Processes'}).click();
    await session.settled();
    assert.equal(await session.page.locator('a.csv').count(), 0);
    await session.page.keyboard.press('Shift+G');
    await session.settled();
    assert.match(await session.page.locator('.range').innerText(), /Source files are not in this file|no open segment/);
    await session.page.keyboard.press('Shift+G');
    await session.page.locator('.find input').fill(':on_cpu_ns > 1ms');
    await session.page.keyboard.press('Enter');
    await session.until('document.querySelector(".find-drop.refused")');
    assert.match(await session.page.locator('.find-drop.refused').innerText(), /filter.*countrace view/);
    for (const path of ['events?t=0', 'csv?table=process', 'compare', 'calltree', 'annotate?function=f']) assert.match(await ask(path), /^501 .*countrace view/);
    assert.equal(await session.page.locator('.error').count(), 0);
    await session.shot(shots, 'export-filter');
  });

  await claims.claim('a damaged file says so', async () => {
    const page = readFileSync(file, 'latin1');
    const begin = page.indexOf('class="index-part">') + 19;
    const end = page.indexOf('</script>', begin);
    const cuts = [page.slice(0, begin + 400) + page.slice(end), page.slice(0, begin + 1000) + 'A'.repeat(400) + page.slice(begin + 1400),
                  page.replace(/data-index-bytes="\d+"/, 'data-index-bytes="5000"')];
    for (const [i, cut] of cuts.entries()) {
      writeFileSync(join(directory, `cut-${i}.html`), cut, 'latin1');
      await session.page.goto(`file://${encodeURI(directory)}/cut-${i}.html`);
      await session.page.locator('.fatal').waitFor({state: 'visible', timeout: 60_000});
      assert.match(await session.page.locator('.fatal').innerText(), /^The timeline could not be loaded: .*get it again\.$/);
    }
    await session.page.goto('about:blank');
  });

  await claims.claim('it requests nothing outside the file, and nothing went wrong in the page', async () => {
    assert.deepEqual(requested.filter((url) => !/^(file|blob|data):/.test(url)), []);
    assert.deepEqual(session.problems, []);
  });
} finally {
  await session?.close();
  await server?.stop();
  rmSync(directory, {recursive: true, force: true});
}
process.exit(claims.failed === 0 ? 0 : 1);
