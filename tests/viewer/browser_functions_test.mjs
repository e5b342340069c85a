// Functions, from samples, and their code in the page:
//   browser_functions_test.mjs COUNTRACE WORKLOAD SHARES_WORKLOAD OFF_CPU_WORKLOAD SHOTS
// Records processes with samples, and compares the page with `countrace report --by
// function` and `countrace annotate`, also in a range, of one process, of one thread.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {Claims, missing, Session, startServer, wholeIndex} from './browser_session.mjs';
import {claimSampleEvents} from './sample_event_claims.mjs';
import {select} from './selection_claims.mjs';

const reason = missing() ?? (process.getuid() === 0 ? null : 'samples of whole CPUs need root');
if (reason) {
  console.log(`SKIPPED: ${reason}`);
  process.exit(0);
}
const [countrace, workload, shares, waits, shots] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'countrace-functions-'));
process.env.XDG_RUNTIME_DIR = directory;
const trace = join(directory, 'sampled.ctf');
const run = (...args) => {
  const done = spawnSync(countrace, args, {encoding: 'utf8', maxBuffer: 1 << 28});
  assert.equal(done.status, 0, `countrace ${args.join(' ')}: ${done.stderr}`);
  return done.stdout;
};
// Its name looks like a pattern; its debug information names a file that is not there.
const copy = join(directory, 'work [1]');
const bytes = readFileSync(workload).toString('latin1');
writeFileSync(copy, Buffer.from(bytes.replaceAll('samples_workload.cc', 'samples_workload.xx'), 'latin1'));
chmodSync(copy, 0o755);

const claims = new Claims();
let server;
let session;
const view = async (of) => {
  if (session && server) await session.page.goto('about:blank');
  await server?.stop();
  server = await wholeIndex(await startServer(countrace, ['view', of]));
  session ??= await Session.open();
  await session.visit(server.url);
};
const reportOf = (...more) => JSON.parse(run('report', '--by', 'function', '--format', 'json', ...more, trace));
const annotation = (...more) => JSON.parse(run('annotate', '--format', 'json', ...more, trace));
// The table, when the answer is there that `expression`, of `f`, is true of.
const table = async (expression = 'true') => {
  await session.until(`((f) => f && (${expression}))(__pv.functions())`);
  return session.ask('__pv.functions()');
};
const listing = async (expression = 'true') => {
  await session.until(`((f) => f && (${expression}))(__pv.listing())`);
  return session.ask('__pv.listing()');
};
const tab = (name) => session.page.getByRole('tab', {name}).click();
const row = (name) => session.page.locator('.functions tbody tr', {hasText: name});
const same = (shown, report) => {
  assert.deepEqual(shown.rows, report.rows.slice(0, 100));
  assert.equal(shown.total, report.rows.length);
  assert.deepEqual(shown.books, report.books);
  assert.deepEqual(shown.notes, report.notes);
};
// What the page has beside the command's.
const listed = ({sources, all, ...rest}) => rest;
const axe = async (where) => {
  // Names of processes that are not there yet are pale.
  await session.ask('__pv.movePlayhead(__pv.view().durationNs / 2)');
  await session.settled();
  await session.ask(`${readFileSync(join(import.meta.dirname, '../../viewer/web/node_modules/axe-core/axe.min.js'), 'utf8')};0`);
  const found = await session.ask(
      'axe.run(document, {resultTypes: ["violations"]}).then(({violations}) => ' +
      'violations.map(({impact, id, nodes}) => [impact, id, ...nodes.map(({html}) => html.slice(0, 120))]))');
  assert.deepEqual(found, [], where);
};

try {
  run('record', '-q', '--sample', '997', '-o', trace, '--', 'sh', '-c', '"$1" cpu 400 & "$2" threads 400 & "$2" inlined 400; wait', 'sh', copy, workload);
  await view(trace);

  await claims.claim('without a place in its address the page begins at the first instant that is known', async () => {
    const {cpus, threads} = await session.api('state?t=0&top=12');
    assert.ok(threads.length === 0 && cpus.every(({known}) => !known), 'all is known at once');
    const {t} = await session.api('step?t=0&dir=next&kind=dispatch');
    assert.ok(t > 0);
    assert.equal((await session.ask('__pv.view()')).playhead, t);
    assert.equal(await session.page.locator('.edge-note').count(), 0);
    await session.revisit('#t=0');
    assert.equal((await session.ask('__pv.view()')).playhead, 0);
    await session.revisit('');
  });

  await claims.claim('the table of functions is the report\'s', async () => {
    await tab('Functions');
    const report = reportOf();
    assert.ok(report.rows.some(({in: context}) => context === 'samples:half'), 'no segment was open');
    same(await table(), report);
    const all = await session.api('functions');
    assert.deepEqual(all.rows, report.rows);
    const samples = report.rows.reduce((sum, one) => sum + one.self_samples, 0);
    assert.deepEqual(all.all.map(({samples: of}) => of), [samples]);
    const first = await session.page.locator('.functions tbody tr').first().innerText();
    assert.ok(first.startsWith(report.rows[0].function), first);
    assert.match(first, /~[\d.]+\sms\s+\[[\d.]+, [\d.]+\sms\]\s+~[\d.]+\s%\s+\[[\d.]+, [\d.]+\]/);
    await session.shot(shots, 'functions-table');
  });

  await claims.claim('another column, another order; equal rows stay in theirs', async () => {
    const report = reportOf();
    await session.page.getByRole('button', {name: 'Total', exact: true}).click();
    const by = (key) => [...report.rows].sort((a, b) => key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);
    const byTotal = by(({total}) => -total).slice(0, 100);
    assert.deepEqual((await table(`f.rows[0].function === ${JSON.stringify(byTotal[0].function)}`)).rows, byTotal);
    assert.notDeepEqual(byTotal, report.rows.slice(0, 100));
    assert.deepEqual((await session.api('functions?sort=dso&order=ascending')).rows, by(({dso}) => dso));
    const page = await session.api('functions?offset=3&limit=2');
    assert.deepEqual(page.rows, report.rows.slice(3, 5));
    await session.page.getByRole('button', {name: 'Self', exact: true}).click();
    await table(`f.rows[0].function === ${JSON.stringify(report.rows[0].function)}`);
  });

  await claims.claim('of a range, and of a process, they are the report\'s', async () => {
    await select(session, 0.3, 0.6);
    const {selection: {from, to}} = await session.ask('__pv.view()');
    const range = ['--from', `${from}ns`, '--to', `${to}ns`];
    const all = reportOf(...range);
    same(await table('f.books[0].counted === null'), all);
    await tab('Processes');
    await session.settled();
    const worker = session.page.locator('.data tbody tr', {hasText: 'work [1]'}).first();
    const pid = (await worker.locator('td').nth(1).innerText()).trim();
    await worker.click();
    await tab('Functions');
    const report = reportOf(...range, '--process', pid);
    assert.ok(report.rows.length > 0 && report.rows.length < all.rows.length);
    same(await table(`f.total === ${report.rows.length}`), report);
    assert.match(await session.page.locator('.functions .condition').innerText(), new RegExp(`work \\[1\\] ${pid}`));
    await session.shot(shots, 'functions-range');
    await session.page.getByRole('button', {name: 'all processes'}).click();
    same(await table(`f.total === ${all.rows.length}`), all);
    await session.page.getByRole('button', {name: 'clear'}).click();
    await table('f.books[0].counted !== null');
  });

  await claims.claim('of a thread, they are the report\'s; the choice is in the address', async () => {
    const all = reportOf();
    const choice = session.page.locator('.choice select');
    const labels = await choice.locator('option').allInnerTexts();
    const {threads, threads_total: total} = await session.api('functions');
    assert.equal(labels.length, total + 1);
    assert.equal(threads.reduce((sum, one) => sum + one.samples, 0), all.books[0].samples);
    const label = labels.find((text) => text.startsWith('half '));
    const [, tid, samples] = /^half (\d+) of hooked_\w+ \d+: (\d+) samples$/.exec(label) ?? [];
    assert.ok(tid, label);
    await choice.selectOption({label});
    const report = reportOf('--thread', tid);
    assert.equal(Number(samples), report.rows.reduce((sum, one) => sum + one.self_samples, 0));
    same(await table(`f.total === ${report.rows.length} && f.rows[0].self === ${report.rows[0].self}`), report);
    await session.shot(shots, 'functions-thread');
    await row('BurnHalf').click();
    assert.deepEqual(listed(await listing()), annotation('BurnHalf*', '--thread', tid));
    assert.match(await session.page.locator('.range-what').innerText(), new RegExp(`of half ${tid},`));
    await session.key('Escape');
    await session.until('/thread=\\d/.test(location.hash)');
    await session.revisit(await session.ask('location.hash'));
    same(await table(`f.total === ${report.rows.length}`), report);
    // Another process has none of its samples; the table of threads chooses, too.
    await tab('Processes');
    await session.settled();
    const worker = session.page.locator('.data tbody tr', {hasText: 'work [1]'}).first();
    const pid = (await worker.locator('td').nth(1).innerText()).trim();
    await worker.click();
    await tab('Functions');
    const ofWorker = reportOf('--process', pid);
    same(await table(`f.total === ${ofWorker.rows.length} && f.rows[0].self === ${ofWorker.rows[0].self}`), ofWorker);
    await session.until('!/thread=/.test(location.hash)');
    await session.page.getByRole('button', {name: 'all processes'}).click();
    same(await table(`f.total === ${all.rows.length}`), all);
    await tab('Threads');
    await session.settled();
    const third = session.page.locator('.data tbody tr', {hasText: /^third/});
    const other = (await third.locator('td').nth(1).innerText()).trim();
    await third.click();
    await tab('Functions');
    const ofOther = reportOf('--thread', other);
    assert.notDeepEqual(ofOther.rows, report.rows);
    same(await table(`f.total === ${ofOther.rows.length} && f.rows[0].self === ${ofOther.rows[0].self}`), ofOther);
    await session.page.getByRole('button', {name: 'all processes'}).click();
    await table(`f.total === ${all.rows.length}`);
  });

  await claims.claim('flame graph, icicle and sandwich have the rows of the report\'s call trees, of a range, too; a click marks when', async () => {
    const {page} = session;
    const tree = (by, ...more) => JSON.parse(run('report', '--by', by, '--rows', '0', '--format', 'json', ...more, trace)).rows.filter((one) => one.total_share >= 0.001);
    const plain = (rows) => rows.map(({in: _, ...one}) => one);
    const name = 'BurnHalf';
    const {dso} = tree('calltree').find((one) => one.function.includes(name));
    for (const range of [[], [1e8, 3e8]]) {
      const [of, options] = range.length ? [`&from=${range[0]}&to=${range[1]}`, ['--from', `${range[0]}ns`, '--to', `${range[1]}ns`]] : ['', []];
      const calls = (await session.api(`sample_tree?event=0${of}`)).rows;
      assert.deepEqual(plain(calls), plain(tree('calltree', ...options)));
      const {function: whole} = calls.find((one) => one.function.includes(name));
      const callers = (await session.api(`sample_tree?event=0&callers=1&function=${encodeURIComponent(whole)}${of}`)).rows;
      assert.deepEqual(plain(callers), plain(tree('callers', '--function', whole.replace(/[*?[\\]/g, '\\$&'), ...options)));
      const {total_samples: samples} = callers.find((one) => one.depth === 0 && one.dso === dso);
      assert.ok(samples > 0);
      // When: as many samples as the tree has of it; before and after the range none.
      const {columns} = await session.api(`sample_times?event=0&columns=100&function=${encodeURIComponent(whole)}&dso=${encodeURIComponent(dso)}${of}`);
      assert.equal(columns.reduce((sum, count) => sum + count, 0), samples);
    }
    await page.getByRole('button', {name: 'Flame graph'}).click();
    await page.locator('.box').first().waitFor();
    await session.settled();
    const boxes = await page.locator('.box').evaluateAll((all) => all.map((one) => [one.textContent, one.offsetTop, one.getBoundingClientRect().width]));
    const rows = tree('calltree');
    const all = (await session.api('functions')).all[0].value;
    const width = await page.locator('.boxes').evaluate((one) => one.clientWidth);
    // Names of more than 200 letters are cut.
    const drawn = rows.filter((one) => one.total / all >= 0.002).map((one) => `${one.function}${one.inlined ? ' (inlined)' : ''}`.slice(0, 150));
    assert.deepEqual(boxes.map(([text]) => text.slice(0, 150)), drawn);
    assert.ok(Math.abs(boxes[0][2] - rows[0].total / all * width) < 1, `${boxes[0][2]} px`);
    await session.shot(shots, 'flame');
    const foot = await page.locator('.box').first().boundingBox();
    const body = await page.locator('.range-body').boundingBox();
    assert.ok(foot.y + foot.height <= body.y + body.height + 1, 'the outermost call is out of sight');
    await page.getByRole('button', {name: 'Icicle'}).click();
    await session.settled();
    const turned = await page.locator('.box').evaluateAll((all) => all.map((one) => one.offsetTop));
    assert.ok(boxes[0][1] > boxes.find(([, top]) => top !== boxes[0][1])[1] && turned[0] === 0);
    await page.locator('.box', {hasText: name}).first().click();
    await session.settled();
    await session.until('__pv.places()?.chosen.some((one) => one === 1)');
    assert.match(await page.locator('.picture .condition').innerText(), /BurnHalf.*ticks on the top strip/);
    await session.shot(shots, 'icicle');
    await page.getByRole('button', {name: 'callers and callees'}).click();
    await session.settled();
    await page.locator('.sandwich-head').first().waitFor();
    assert.equal(await page.locator('.boxes').count(), 2);
    await session.shot(shots, 'sandwich');
    await axe('the sandwich of samples');
    await page.getByRole('button', {name: 'clear'}).click();
    await session.until('__pv.places() === null');
    for (const wrong of ['sample_tree?event=x', 'sample_times?columns=0', 'sample_times?columns=4096', 'sample_tree?from=2&to=1', 'sample_stacks?threads=x&view_from=0&view_to=9',
                         'sample_stacks?threads=1&view_from=0', 'sample_stacks?threads=1&view_from=9&view_to=1',
                         `sample_stacks?threads=${'1,'.repeat(64)}1&view_from=0&view_to=9`]) {
      const status = await session.ask(`__pv.ask(${JSON.stringify(wrong)})`);
      assert.match(status, /^400 /, wrong);
    }
    session.problems = session.problems.filter((problem) => !/status of 400/.test(problem));
    await page.getByRole('button', {name: 'Table', exact: true}).click();
  });

  await claims.claim('under each thread in sight are its samples over time, as many as the report has', async () => {
    const {durationNs} = await session.ask('__pv.view()');
    const [from, to] = [0.2, 0.8].map((share) => Math.round(share * durationNs));
    await session.revisit(`#from=${from}&to=${to}`);
    await session.until('__pv.samples()');
    await session.settled();
    const shown = await session.ask('__pv.samples()');
    const tids = new Map((await session.api('threads')).items.map(({thread, tid}) => [thread, tid]));
    assert.ok(shown.threads.length > 0 && shown.from === from && shown.to === to, JSON.stringify([shown.from, shown.to]));
    let drawn = 0;
    const rows = await session.ask('__pv.rows()');
    for (const [thread, columns] of shown.threads) {
      const samples = columns.reduce((sum, count) => sum + count, 0);
      if (samples === 0) {
        assert.equal((await session.api(`functions?from=${from}&to=${to}&thread=${thread}`)).total, 0);
        continue;
      }
      const report = reportOf('--from', `${from}ns`, '--to', `${to}ns`, '--thread', String(tids.get(thread)));
      assert.equal(samples, report.rows.reduce((sum, one) => sum + one.self_samples, 0), `thread ${tids.get(thread)}`);
      const run = rows.find(({lane, kind}) => lane === `thread${thread}` && kind === 'run');
      const column = columns.findIndex((count) => count > 0);
      if (column < 0 || !run) continue;
      const alpha = await session.ask(`(() => {
        const canvas = document.querySelectorAll('.area canvas')[1];
        const {startNs, nsPerPx} = __pv.view();
        const x = (${from} + (${column} + 0.5) * ${(to - from) / columns.length} - startNs) / nsPerPx;
        const copy = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d');
        copy.drawImage(canvas, -Math.floor(x), -${Math.round(run.y + run.height)});
        return copy.getImageData(0, 0, 1, 1).data[3];
      })()`);
      assert.ok(alpha > 50, `thread ${thread}: ${alpha}`);
      ++drawn;
    }
    assert.ok(drawn > 1, `${drawn} strips`);
    await session.shot(shots, 'sample-strips');
    await session.revisit('');
    await tab('Functions');
    await table();
  });

  await claims.claim('zoomed in, V shows the sampled stacks in time: those of `countrace export`', async () => {
    const query = (sql) => run('query', '--format', 'jsonl', sql, trace).trim().split('\n').map((line) => JSON.parse(line));
    const frames = new Map(query('SELECT frame, parent, function, inlined FROM frames').map((one) => [one.frame, one]));
    const begin = (await session.api('trace')).begin_ns;
    const {thread} = query('SELECT thread, count(*) AS n FROM samples WHERE thread IS NOT NULL GROUP BY thread ORDER BY n DESC LIMIT 1')[0];
    const taken = query(`SELECT time_ns, frame FROM samples WHERE thread = ${thread} ORDER BY time_ns`).slice(19, 80);
    assert.equal(taken.length, 61);
    // What is drawn at the begin is the sample before it.
    const [from, to] = [taken[1].time_ns - begin, taken.at(-1).time_ns - begin + 1];
    const answer = await session.api(`sample_stacks?threads=${thread}&view_from=${from}&view_to=${to}`);
    const [{samples}] = answer.threads;
    assert.deepEqual(samples.map(({t, stack}) => [t, stack.map((one) => answer.functions[one]).join(' > ')]), taken.map(({time_ns: t, frame}) => {
      const names = [];
      for (let at = frame; at; at = frames.get(at).parent) names.unshift(frames.get(at).function, ...(frames.get(at).inlined ? [frames.get(at).inlined] : []));
      return [t - begin, names.join(' > ')];
    }));
    // None where there are more samples than a screen can show.
    const {durationNs} = await session.ask('__pv.view()');
    const whole = await session.api(`sample_stacks?threads=${thread}&view_from=0&view_to=${durationNs}`);
    assert.equal(whole.threads[0].samples === null, query(`SELECT count(*) AS n FROM samples WHERE thread = ${thread}`)[0].n > 512);
    const {process} = (await session.api('threads')).items.find((one) => one.thread === thread);
    await session.revisit(`#open=${process}&from=${from}&to=${to}`);
    await session.settled();
    await session.page.locator('.area').focus();
    await session.page.keyboard.press('v');
    await session.until('__pv.stacks()?.some(({boxes}) => boxes?.length > 0)');
    await session.settled();
    await session.page.waitForURL(/stacks=1/);
    const mark = (await session.ask('__pv.stacks()')).find(({boxes}) => boxes?.length > 0);
    const outer = mark.boxes.filter(({depth}) => depth === 0);
    assert.ok(outer.length > 0 && outer.every((one, i) => one.to > one.from && (i === 0 || one.from >= outer[i - 1].to)));
    const box = outer.reduce((longest, one) => one.to - one.from > longest.to - longest.from ? one : longest);
    const {startNs, nsPerPx} = await session.ask('__pv.view()');
    const [x, y] = [(Math.max(box.from, startNs) + box.to) / 2, mark.y + 5];
    const tip = await session.ask(`__pv.describe(${(x - startNs) / nsPerPx}, ${y})`);
    assert.equal(tip.title, mark.functions[box.name]);
    await session.shot(shots, 'stacks-in-time');
    const area = await session.page.locator('.area').boundingBox();
    await session.page.mouse.click(area.x + (x - startNs) / nsPerPx, area.y + y);
    await session.until(`Math.abs(__pv.view().selection?.from - ${box.from}) < 1 && Math.abs(__pv.view().selection?.to - ${box.to}) < 1`);
    await session.revisit('');
    await tab('Functions');
    await table();
  });

  await claims.claim('where the chosen process has no sample, the table says how to see the others\'', async () => {
    const {items} = await session.api('processes');
    const {process} = items.find(({comm}) => comm.startsWith('work'));
    const {durationNs} = await session.ask('__pv.view()');
    await session.revisit(`#sel=0-${Math.round(durationNs / 1000)}&tab=functions&process=${process}`);
    const button = session.page.getByRole('button', {name: 'Show all processes'});
    await button.waitFor();
    assert.match(await session.page.locator('.functions .refused').innerText(), /No sample was taken of work \[1\] \d+ in the selection/);
    await button.click();
    await session.until('!/process=/.test(location.hash)');
    await session.revisit('');
    await tab('Functions');
    await table();
  });

  await claims.claim('a click shows the code, with the counts of `countrace annotate`; the hottest line is in sight', async () => {
    const wanted = annotation('SpinIn()', '--dso', 'hooked_samples_workload');
    await row('SpinIn').click();
    const shown = await listing();
    assert.deepEqual(listed(shown), wanted);
    await session.settled();
    const [hottest] = [...wanted.events[0].lines].sort((a, b) => b.self - a.self);
    const line = session.page.locator('.listing.lines tbody tr').filter(
        {has: session.page.locator('.line-no', {hasText: new RegExp(`^${hottest.line}$`)})});
    assert.match(await line.innerText(), new RegExp(`~[\\d.]+\\sm?s\\s+~[\\d.]+\\s%\\s+\\[.*\\]\\s+${hottest.line}\\s`));
    assert.equal(await line.locator('code').innerText(), hottest.text);
    assert.match(await line.locator('.code').getAttribute('style'), /--loss\) 26%/);
    assert.ok(await line.evaluate((element) => {
      const pane = element.closest('.pane').getBoundingClientRect();
      const {top, bottom} = element.getBoundingClientRect();
      return top >= pane.top && bottom <= pane.bottom;
    }), 'the hottest line is out of sight');
    // Each instruction that has samples is there.
    const sampled = wanted.events[0].addresses.filter((one) => one.self_samples > 0);
    const cells = await session.page.locator('.listing.instructions tbody tr').evaluateAll(
        (rows) => rows.filter((one) => one.cells[0].innerText !== '').map((one) => one.cells[3].innerText));
    assert.deepEqual(cells, sampled.map(({address}) => address.slice(2)));
    // A click on a line marks its instructions; its text can be copied.
    await line.click();
    await session.settled();
    const lit = await session.page.locator('.listing.instructions tr.lit').count();
    assert.equal(lit, wanted.events[0].addresses.filter((one) => one.line === hottest.line && one.file === hottest.file).length);
    await line.locator('code').click({clickCount: 3});
    assert.ok((await session.ask('getSelection().toString()')).includes(hottest.text.trim()));
    await session.shot(shots, 'functions-source');
    await axe('the code');
  });

  await claims.claim('another range, other counts; Esc leaves the code, not the selection', async () => {
    await select(session, 0.35, 0.7);
    const {selection} = await session.ask('__pv.view()');
    const wanted = annotation('SpinIn()', '--dso', 'hooked_samples_workload', '--from', `${selection.from}ns`, '--to', `${selection.to}ns`);
    assert.deepEqual(listed(await listing(`f.events[0].self === ${wanted.events[0].self}`)), wanted);
    await session.key('Escape');
    assert.equal(await session.page.locator('.listing').count(), 0);
    assert.deepEqual((await session.ask('__pv.view()')).selection, selection);
    await session.key('Escape');
    assert.equal((await session.ask('__pv.view()')).selection, null);
  });

  await claims.claim('with the keyboard alone: U, arrows, Enter, Esc', async () => {
    await session.revisit('#t=0');
    await session.page.locator('.area').focus();
    await session.key('u');
    await session.until('document.activeElement.closest(".functions tbody") !== null && __pv.functions()');
    const report = reportOf();
    const focused = () => session.ask('document.activeElement.innerText');
    assert.ok((await focused()).startsWith(report.rows[0].function));
    await session.key('ArrowDown');
    await session.key('ArrowDown');
    await session.key('ArrowUp');
    assert.ok((await focused()).startsWith(report.rows[1].function), await focused());
    await session.key('Enter');
    const shown = await listing();
    assert.equal(shown.function, report.rows[1].function);
    await session.until('document.activeElement.classList.contains("pane")');
    await session.page.keyboard.press('End');
    await session.key('Escape');
    await session.until('document.activeElement.closest(".functions tbody") !== null');
    assert.ok((await focused()).startsWith(report.rows[1].function), await focused());
    // U leads to the table that is there already.
    await session.page.locator('.area').focus();
    await session.key('u');
    await session.until('document.activeElement.closest(".functions tbody") !== null');
    // The rows above had none of these keys.
    assert.equal(await session.page.locator('.label.focused').count(), 0);
    assert.equal((await session.ask('__pv.view()')).playhead, 0);
  });

  await claims.claim('a source that is not there is said', async () => {
    await row('BurnThird').and(session.page.locator(':has-text("work [1]")')).first().click();
    const shown = await listing();
    assert.deepEqual(listed(shown), annotation('BurnThird', '--dso', 'work [[]1]'));
    assert.deepEqual(shown.sources, []);
    assert.match(await session.page.locator('.function-source').innerText(), /samples_workload\.xx is not here/);
    assert.equal(await session.page.locator('.listing.instructions').count(), 1);
    await session.key('Escape');
  });

  await claims.claim('only with the token, only of sampled functions; wrong parameters are refused', async () => {
    const {origin, searchParams} = new URL(server.url);
    const headers = {Authorization: `Bearer ${searchParams.get('token')}`};
    const status = async (path, of = headers) => (await fetch(`${origin}/api/v1/${path}`, {headers: of})).status;
    assert.equal(await status('annotate?function=SpinIn()'), 200);
    for (const path of ['functions', 'annotate?function=SpinIn()']) assert.equal(await status(path, {}), 401, path);
    for (const name of ['/etc/passwd', '../../etc/passwd', 'main%00', 'NoSuchFunction']) {
      assert.equal(await status(`annotate?function=${name}`), 404, name);
    }
    for (const path of ['functions?sort=nothing', 'functions?order=up', 'functions?process=x', 'functions?event=1', 'functions?event=x', 'functions?process=4294967296', 'functions?thread=x', 'functions?thread=4294967296', 'functions?limit=1001',
                        'functions?from=9&to=9', 'functions?from=1', 'functions?offset=-1', 'annotate', 'annotate?function=', 'annotate?function=%',
                        'annotate?function=*']) {
      assert.equal(await status(path), 400, path);
    }
    const none = await (await fetch(`${origin}/api/v1/functions?process=4294967294`, {headers})).json();
    assert.deepEqual([none.sampled, none.total, none.rows], [true, 0, []]);
  });

  await claims.claim('axe-core has no finding in the table, dark, at 800 px, and all tabs are in sight', async () => {
    const size = session.page.viewportSize();
    await session.page.setViewportSize({...size, width: 800});
    await session.page.getByRole('button', {name: 'Light or dark'}).click();
    await session.settled();
    await axe('the table');
    const last = await session.page.getByRole('tab').last().boundingBox();
    const panel = await session.page.locator('.range-head').boundingBox();
    assert.ok(last.x + last.width <= panel.x + panel.width, `${last.x + last.width} of ${panel.x + panel.width}`);
    await session.shot(shots, 'functions-narrow');
    await session.page.setViewportSize(size);
  });

  await claimSampleEvents({session, claims, run, view, table, axe, directory, countrace, shares, waits, shots});

  await claims.claim('a trace without samples says how to take them', async () => {
    const plain = join(directory, 'plain.ctf');
    run('record', '-q', '-o', plain, '--', 'true');
    await view(plain);
    await tab('Functions');
    await table('!f.sampled');
    assert.match(await session.page.locator('.range-body').innerText(), /no samples.*countrace record --sample 199 -- CMD/s);
    const {rows, total} = await session.api('functions');
    assert.deepEqual([rows, total], [[], 0]);
    await session.shot(shots, 'functions-none');
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
