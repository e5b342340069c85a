// The page on a real recording:
//   browser_trace_test.mjs COUNTRACE PROGRAM SHOTS
// Records PROGRAM, serves it with `countrace view`, and compares the page with
// the output of `countrace report`.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {Claims, missing, Session, startServer, wholeIndex} from './browser_session.mjs';
import {comparison} from './instant_comparison.mjs';
import {claimSelection} from './selection_claims.mjs';
import {claimTables} from './table_claims.mjs';

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
// The open page goes on to send requests; Chromium reports each refused one by itself.
const stopServer = async () => {
  await session.page.goto('about:blank');
  await server.stop();
};
try {
  run('record', '-o', trace, '--', program);
  const report = JSON.parse(run('report', '--format', 'json', trace));
  server = await wholeIndex(await startServer(countrace, ['view', trace]));
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
      assert.equal(same.reduce((sum, item) => sum + item.wall_ns.incl, 0), row.wall_ns.incl, row.segment);
    }
  });

  const tab = async (name) => {
    await session.page.getByRole('tab', {name}).click();
    await session.page.waitForTimeout(100); // the request waits for a drag to end
    await session.settled();
  };
  const cells = async () => (await session.page.locator('.data tbody tr:not(.rest)').evaluateAll(
      (rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText.trim()))));
  await claims.claim('each tab shows the report\'s rows', async () => {
    for (const [name, rows] of [['Threads', report.threads], ['Segments', null], ['CPUs', report.cpus], ['Waits', null], ['Hooks', null]]) {
      await tab(name);
      const shown = await cells();
      const answer = await session.ask('__pv.aggregate()');
      assert.equal(shown.length, Math.min(answer[`${name.toLowerCase()}_total`], 100), name);
      if (rows) assert.equal(shown.length, Math.min(rows.filter((row) => (row.dispatches ?? 0) > 0 || row.wall_ns).length, 100), name);
    }
    await tab('Threads');
    const [busiest] = [...report.threads].sort((a, b) => b.on_cpu_ns - a.on_cpu_ns);
    assert.equal((await cells())[0][1], String(busiest.tid));
    await tab('CPUs');
    assert.match((await session.page.locator('.data tfoot').innerText()).replaceAll('\u2009', ''), /^All/);
    await session.shot(shots, 'trace-cpus');
  });

  await claims.claim('the heads of columns say what the report says of them', async () => {
    const {columns} = await session.api('trace');
    for (const [name, table, names] of [
      ['Processes', 'processes', ['on_cpu_ns', 'dispatches']], ['Threads', 'threads', ['on_cpu_ns', 'wait_ns', 'dispatches']],
      ['Segments', 'segments', ['calls', 'wall_ns.incl', 'wall_ns.excl', 'on_cpu_ns.incl', 'on_cpu_ns.excl', 'wall_ns.mean']],
      ['CPUs', 'cpus', ['busy_ns', 'interrupts_ns', 'idle_ns', 'unattributed_ns', 'wall_ns', 'dispatches']], ['Hooks', 'hooks', ['hits']],
    ]) {
      await tab(name);
      const heads = await session.page.locator('.data th').evaluateAll((all) => all.map((head) => [head.innerText.replace(/[\u25b4\u25be]/, '').trim().toLowerCase(), head.title]));
      for (const column of names) {
        const {title, meaning} = columns[table][column];
        assert.ok(heads.some(([text, says]) => text === title.toLowerCase() && says === meaning), `${name}, ${column}: ${JSON.stringify(heads)}`);
      }
    }
  });

  await claims.claim('a click on a wait shows its longest', async () => {
    await tab('Waits');
    const [first] = (await session.ask('__pv.aggregate()')).waits;
    await session.page.locator('.data tbody tr').first().click();
    await session.settled();
    assert.equal((await session.ask('__pv.view()')).playhead, first.longest.begin_ns);
    const wait = await session.ask('__pv.wait()');
    assert.equal(wait.thread, first.longest.thread);
    assert.equal(wait.state, first.state);
    await session.shot(shots, 'trace-wait');
    await session.key('Escape');
    await session.key('0');
  });

  await claims.claim('events are the records of `countrace script`, in step with the playhead', async () => {
    const begin = BigInt((await session.api('trace')).begin_ns);
    const records = run('script', '--format', 'jsonl', trace).trim().split('\n').map((line) => {
      const {time_ns: time, ...record} = JSON.parse(line.replace(/"time_ns":(\d+)/, '"time_ns":"$1"'));
      return {...record, t: Number(BigInt(time) - begin)};
    }).filter(({event}) => event !== 'clock_sample');  // no event of the timeline
    const plain = ({nth, ...record}) => record;
    await tab('Events');
    for (const share of [0, 0.7]) {
      const at = Math.floor((await session.ask('__pv.view()')).durationNs * share);
      await session.ask(`__pv.movePlayhead(${at})`);
      await session.settled();
      const first = records.findIndex((record) => record.t >= at);
      const shown = (await session.ask('__pv.events()')).items;
      assert.deepEqual(shown.map(plain), records.slice(first, first + 100));
      if (share === 0) continue;
      await session.page.getByRole('button', {name: 'Later'}).click();
      await session.settled();
      const later = records.slice(first + 100, first + 200);
      if (later.length > 0) assert.deepEqual((await session.ask('__pv.events()')).items.map(plain), later);
      await session.page.getByRole('button', {name: 'Earlier'}).click();
      await session.settled();
      if (later.length > 0) assert.deepEqual((await session.ask('__pv.events()')).items.map(plain), records.slice(first, first + 100));
    }
    assert.equal((await cells()).length, 100);
    await session.page.locator('.data tbody tr').nth(5).click();
    await session.settled();
    const {items} = await session.ask('__pv.events()');
    assert.equal((await session.ask('__pv.view()')).playhead, items[5].t);
    await session.shot(shots, 'trace-events');
    await tab('Processes');
  });

  await claimSelection({session, claims, run, trace, report, shots});
  await claimTables({session, claims, run, trace, shots});

  await claims.claim('axe-core has no finding, light and dark, at 1440 and 800 px, at the begin and later', async () => {
    const axe = readFileSync(join(import.meta.dirname, '../../viewer/web/node_modules/axe-core/axe.min.js'), 'utf8');
    await session.ask(`${axe};0`);
    const size = session.page.viewportSize();
    const {durationNs} = await session.ask('__pv.view()');
    for (const [width, name, at] of [[800, 'Events', 0.5], [1440, 'Waits', 0], [1440, 'Processes', 0], [1440, 'Threads', 0.3]]) {
      await session.page.setViewportSize({...size, width});
      await session.ask(`__pv.movePlayhead(${Math.floor(at * durationNs)})`);
      await session.page.getByRole('button', {name: 'Light or dark'}).click();
      await tab(name);
      const found = await session.ask(
          'axe.run(document, {resultTypes: ["violations"]}).then(({violations}) => ' +
          'violations.map(({impact, id, nodes}) => [impact, id, ...nodes.map(({html}) => html.slice(0, 120))]))');
      assert.deepEqual(found, [], `${width} px, ${name}, ${at}`);
      // The timeline has the most room.
      const {width: area} = await session.page.locator('.area').boundingBox();
      if (width === 800) assert.ok(area >= 0.6 * width, `${area} of ${width} px`);
    }
    await session.page.setViewportSize(size);
    await tab('Processes');
  });

  await claims.claim('halfway, the page shows open segments and who runs', async () => {
    const segment = (await session.ask('__pv.rows()')).find((row) => row.kind === 'segment');
    assert.ok(segment, 'no segment row in sight');
    const {durationNs} = await session.ask('__pv.view()');
    await session.ask(`__pv.movePlayhead(${durationNs / 2})`);
    await session.settled();
    const state = await session.ask('__pv.state()');
    assert.equal(state.t, Math.floor(durationNs / 2));
    assert.deepEqual(state, await session.api(`state?t=${state.t}&top=12&window=${await session.ask('__pv.window()')}`));
    await session.ask(`__pv.setWindow(${durationNs * 0.49}, ${durationNs * 0.51})`);
    await session.settled();
    await session.shot(shots, 'trace-middle');
  });

  await claims.claim('at ten speeds, forwards and backwards, the panels are what `countrace state --at` says', async () => {
    const same = await comparison((name) => session.api(name));
    const {durationNs} = await session.ask('__pv.view()');
    await session.ask('__pv.realClock()');
    await session.key('0');
    let seen = 0;
    for (const speed of [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 7, 10]) {
      for (let tries = 0, way = 0; way < 2;) {
        const key = 'lj'[way];
        await session.ask(`__pv.movePlayhead(${Math.floor(durationNs * (0.2 + 0.6 * Math.random()))})`);
        await session.ask(`__pv.setSpeed(${speed})`);
        await session.settled();
        const {playhead: start} = await session.ask('__pv.view()');
        await session.page.keyboard.press(key);
        const shown = await session.page.evaluate(async (from) => {
          let frame = null;
          for (let i = 0; i < 1000 && (frame === null || frame.playhead === from); ++i) {
            await new Promise((done) => setTimeout(done, 10));
            const {playhead, playing} = __pv.view();
            frame = {playhead, playing, state: __pv.state(), soFar: __pv.soFar(), window: __pv.window(),
                     time: document.querySelector('.now-time').textContent};
          }
          return frame;
        }, start);
        await session.page.keyboard.press('k');
        await session.settled();
        // A slow machine saw only the end of a fast run.
        if (!shown.playing && ++tries < 5) continue;
        ++way;
        const instant = (ns) => Math.min(ns, durationNs - 1);
        const at = instant(shown.playhead);
        assert.equal(shown.state.t, at);
        assert.ok(key === 'l' ? shown.playhead > start : shown.playhead < start, `${start} ${shown.playhead}`);
        assert.ok([shown.soFar.from, shown.soFar.to].map(instant).includes(at));
        same(shown.state, JSON.parse(run('state', '--all', '--at', `${at}ns`, '--window', `${shown.window}ns`,
                                         '--format', 'jsonl', trace)));
        ++seen;
      }
    }
    assert.equal(seen, 20);
    await session.ask('__pv.setSpeed(1)');
  });

  await claims.claim('after a restart the open page goes on where it was, without the new address', async () => {
    const window = await session.ask('__pv.view()');
    const before = await session.ask('__pv.aggregate()');
    await server.stop();
    await session.ask(`__pv.movePlayhead(${Math.floor(window.durationNs / 3)})`);
    await session.page.locator('.lost').waitFor({state: 'visible', timeout: 20000});
    const {port} = new URL(server.url);
    const file = join(directory, readdirSync(directory).find((name) => name.startsWith('countrace-view-')));
    const address = readFileSync(file);
    server = await wholeIndex(await startServer(countrace, ['view', trace]));
    // Another program may have the port just now, so that the server took another one.
    for (let i = 0; new URL(server.url).port !== port; ++i) {
      assert.ok(i < 60, `port ${port} is not taken again`);
      await server.stop();
      writeFileSync(file, address);
      await session.page.waitForTimeout(1000);
      server = await wholeIndex(await startServer(countrace, ['view', trace]));
    }
    await session.page.locator('.lost').waitFor({state: 'detached', timeout: 20000});
    await session.settled();
    const after = await session.ask('__pv.view()');
    assert.equal(after.startNs, window.startNs);
    assert.equal(after.nsPerPx, window.nsPerPx);
    assert.equal((await session.ask('__pv.state()')).t, Math.floor(window.durationNs / 3));
    assert.deepEqual(await session.ask('__pv.aggregate()'), before);
    assert.equal(await session.page.locator('.error').count(), 0);
    // Chromium itself reports each request that fails.
    session.problems = session.problems.filter((problem) => !/^console: Failed to load resource: net::/.test(problem));
  });

  await claims.claim('opening it again uses the index and shows the same', async () => {
    const before = await session.ask('__pv.aggregate()');
    await stopServer();
    server = await wholeIndex(await startServer(countrace, ['view', trace]));
    await session.visit(server.url);
    assert.deepEqual(await session.ask('__pv.aggregate()'), before);
  });

  await claims.claim('the source view marks each CPU\'s innermost open line; out of sight, its edge has the mark', async () => {
    await stopServer();
    server = await wholeIndex(await startServer(countrace, ['view', '--source', join(import.meta.dirname, '../../examples'), trace]));
    await session.visit(server.url);
    const hooks = new Map((await session.api('hooks')).items.map(({hook, location}) => [hook, location]));
    const {durationNs} = await session.ask('__pv.view()');
    // Instants at which a CPU is in a segment, of each line one: begins and ends
    // of some, all over the trace.
    const lines = new Map();
    const steps = await Promise.all(Array.from({length: 40}, (_, i) =>
      session.api(`step?t=${Math.floor(durationNs * i / 40)}&dir=next&kind=segment&count=5`)));
    for (const t of steps.flatMap((step) => step.times ?? [])) {
      const {cpus, threads} = await session.api(`state?t=${t}&threads=all`);
      const at = cpus.flatMap(({cpu, thread}) => {
        const open = threads.find((one) => one.thread === thread)?.open ?? [];
        const [, line] = /:(\d+)$/.exec(hooks.get(open.at(-1)?.hook) ?? '') ?? [];
        return line ? [{cpu, line: Number(line)}] : [];
      });
      if (at.length > 0) lines.set(at.map(({cpu, line}) => `${cpu}:${line}`).sort().join(), {t, at});
    }
    assert.ok(lines.size > 1, `${lines.size} places`);
    await session.page.locator('.area').focus();
    await session.key('Shift+G');
    const marks = () => session.page.locator('.source-line .tracks i').evaluateAll((tracks) => tracks.flatMap((track) => {
      const line = Number(track.closest('.source-line').querySelector('.line-number').textContent);
      return track.style.background === '' ? [] : [{cpu: [...track.parentElement.children].indexOf(track), line}];
    }));
    const away = () => session.page.locator('.source-away button').evaluateAll((buttons) => buttons.map((button) => {
      const [, cpu, line] = /CPU (\d+)\D+(\d+)/.exec(button.textContent);
      return {cpu: Number(cpu), line: Number(line)};
    }));
    const go = async ({t}) => {
      await session.ask(`__pv.movePlayhead(${t})`);
      await session.settled();
      await session.until('document.querySelector(".source-line.lit")');
    };
    const inSight = () => session.until('!document.querySelector(".source-away button")');
    const places = (all) => [...new Set(all.map(({cpu, line}) => `CPU ${cpu} in line ${line}`))].sort();
    for (const instant of [...lines.values()].slice(0, 6)) {
      await go(instant);
      // A line is in sight, or its CPU is named at an edge.
      const shown = async () => places([...await marks(), ...await away()]);
      for (let i = 0; i < 100 && `${await shown()}` !== `${places(instant.at)}`; ++i) await session.page.waitForTimeout(50);
      assert.deepEqual(await shown(), places(instant.at), `at ${instant.t}`);
    }
    await session.shot(shots, 'trace-source');
    const alone = [...lines.values()].find(({at}) => at.length === 1);
    assert.ok(alone, 'at no instant one CPU is in a segment');
    await go(alone);
    await inSight();
    const [{cpu, line}] = alone.at;
    const mark = session.page.locator('.source-away button').first();
    const source = session.page.locator('.source');
    for (const [place, sign] of [['below', '\u2193'], ['above', '\u2191']]) {
      await source.evaluate((element, to) => (element.scrollTop = to), place === 'below' ? 0 : 1e6);
      await mark.waitFor();
      assert.match(await session.page.locator(`.source-away.${place}`).innerText(), new RegExp(`CPU ${cpu}\\s+${sign}\\s+${line}`));
      await mark.click();
      await inSight();
      assert.deepEqual(places(await marks()), places(alone.at));
    }
    await session.key('Shift+G');
  });

  await claims.claim('--open gives the browser a private file, and no token in its arguments', async () => {
    const tools = join(directory, 'tools');
    const seen = join(directory, 'arguments');
    mkdirSync(tools);
    // It moves the file, so that a reader sees it whole.
    writeFileSync(join(tools, 'xdg-open'), `#!/bin/sh\necho "$*" > ${seen}.new && mv ${seen}.new ${seen}\n`, {mode: 0o755});
    const {PATH} = process.env;
    process.env.PATH = `${tools}:${PATH}`;
    await stopServer();
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
    await stopServer();
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
