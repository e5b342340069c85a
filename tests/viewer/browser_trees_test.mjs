// The strips of trees of rules, against `report --tree NAME --by time`:
//   browser_trees_test.mjs COUNTRACE SHOTS
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {Claims, missing, Session, startServer, wholeIndex} from './browser_session.mjs';

const reason = missing();
if (reason) {
  console.log(`SKIPPED: ${reason}`);
  process.exit(0);
}
const [countrace, shots] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'countrace-trees-'));
process.env.XDG_RUNTIME_DIR = directory;
const trace = join(directory, 'runs.ctf');
const rules = join(directory, 'mine.toml');
const run = (...args) => {
  const {status, stdout, stderr} = spawnSync(countrace, args, {encoding: 'utf8'});
  assert.equal(status, 0, stderr);
  return stdout;
};
const claims = new Claims();
let server;
let session;

// What `perf stat -I 100` printed in 40 seconds: of the cycles of each tenth,
// what the parts of the tree `cpi` have.
function listing() {
  const lines = ['# started on Mon Nov 30 02:00:00 2026', ''];
  for (let second = 0.1; second <= 40; second += 0.1) {
    const cycles = 1e9 + second * 1e7;
    const counts = {
      PM_RUN_CYC: cycles, PM_INST_CMPL: 4e8 + second * 1e6, PM_GRP_CMPL: 1e8 + 3e6 * second,
      // From the 30th on more than there is: the stalls are below zero.
      PM_GCT_NOSLOT_CYC: second > 30 ? cycles : 3e8 - second * 1e6,
    };
    for (const [event, count] of Object.entries(counts)) {
      lines.push(`${(second + 1e-4).toFixed(9).padStart(16)},${Math.round(count)},,${event},1000000000,100.00,,`);
    }
  }
  return `${lines.join('\n')}\n`;
}
const MINE = `[metric.all]
tree = "mine"
expr = "\`PM_RUN_CYC\`"
per = "done"
description = "all cycles of mine"
[metric.done]
expr = "\`PM_INST_CMPL\`"
[metric.empty]
parent = "all"
code = "E"
expr = "\`PM_GCT_NOSLOT_CYC\`"
`;

try {
  writeFileSync(join(directory, 'runs.csv'), listing());
  writeFileSync(rules, MINE);
  run('import', '-o', trace, join(directory, 'runs.csv'));
  server = await wholeIndex(await startServer(countrace, ['view', '--rules', rules, trace]));
  session = await Session.open();
  await session.visit(server.url);
  const {page} = session;
  await session.until('__pv.trees()?.trees.length === 2');
  await session.settled();
  const strip = (name) => page.locator('.label.tree').filter({hasText: name});
  const digits = (rows) => rows.map(({name, share, value, lo, hi, count, rest, absent}) =>
      ({name, share: share ?? null, value: value ?? null, lo: lo ?? null, hi: hi ?? null, count: count ?? null, rest: rest ?? null, absent: absent ?? null}));

  await claims.claim('a trace with the events of a tree has a strip of it, and of those of the rule files', async () => {
    assert.equal(await strip('cpi').count(), 1);
    assert.equal(await strip('mine').count(), 1);
    assert.match(await strip('mine').innerText(), /all cycles of mine/);
    await session.shot(shots, 'trees');
  });

  await claims.claim('the whole trace: the digits of `report --tree --by time`, in at most 50 intervals', async () => {
    const answer = await session.ask('__pv.trees()');
    for (const tree of answer.trees) {
      const options = tree.name === 'mine' ? ['--rules', rules] : [];
      const report = JSON.parse(run(
          'report', '--tree', tree.name, ...options, '--by', 'time', '--every', `${answer.every}ns`, '--format', 'json', trace));
      assert.ok(tree.intervals.length > 30 && tree.intervals.length <= 50, `${tree.intervals.length}`);
      const names = new Set(tree.intervals[0].rows.map(({name}) => name));
      assert.deepEqual(digits(tree.intervals.flatMap(({rows}) => rows)), digits(report.rows.filter(({name}) => names.has(name))));
      assert.ok(tree.intervals.some(({rows}) => rows[0].value > 2), tree.name);
    }
  });

  await claims.claim('a window: the digits of `report --tree --from --to`', async () => {
    await session.ask('__pv.setWindow(3.2e9, 12.7e9)');
    await session.until('__pv.trees().trees[0].intervals[0].from === 3200000000');
    await session.settled();
    const {trees: [tree]} = await session.ask('__pv.trees()');
    assert.equal(tree.name, 'cpi');
    assert.equal(tree.intervals.at(-1).to, 12.7e9);
    for (const at of [0, 7, 20, tree.intervals.length - 1]) {
      const {from, to, rows} = tree.intervals[at];
      const begin = BigInt((await session.api('trace')).begin_ns);
      const report = JSON.parse(run('report', '--tree', 'cpi', '--from', `@${seconds(begin + BigInt(from))}`, '--to', `@${seconds(begin + BigInt(to))}`, '--format', 'json', trace));
      const names = new Set(rows.map(({name}) => name));
      assert.deepEqual(digits(rows), digits(report.rows.filter(({name}) => names.has(name))), `${at}`);
    }
    await session.shot(shots, 'trees_window');
  });

  await claims.claim('the tooltip has the parts in the report\'s digits; a click selects the interval', async () => {
    await session.ask('__pv.run("fit")');
    await session.until('__pv.trees().trees[0].intervals[0].from === 0');
    await session.settled();
    const {trees: [tree]} = await session.ask('__pv.trees()');
    const interval = tree.intervals.find(({from, rows}) => from > 32e9 && rows[0].value > 0);
    const part = interval.rows.find(({name, depth}) => depth === 1 && interval.rows.some((row) => row.name === name && row.value < 0));
    assert.ok(part, 'a part below zero');
    const {startNs, nsPerPx} = await session.ask('__pv.view()');
    const area = await page.locator('.area').boundingBox();
    const box = await strip('cpi').boundingBox();
    const x = ((interval.from + interval.to) / 2 - startNs) / nsPerPx;
    const tip = await session.ask(`__pv.describe(${x}, ${box.y - area.y + 20})`);
    assert.ok(tip.title.includes(interval.rows[0].value.toFixed(4)), tip.title);
    assert.ok(tip.lines.some((line) => line.startsWith(part.code) && line.includes(part.value.toFixed(4))), tip.lines.join('\n'));
    await page.mouse.click(area.x + x, box.y + 20);
    await session.settled();
    assert.deepEqual((await session.ask('__pv.view()')).selection, {from: interval.from, to: interval.to});
  });

  assert.deepEqual(session.problems, []);
} finally {
  await session?.close();
  await server?.stop();
  rmSync(directory, {recursive: true, force: true});
}

// "12.000000003"
function seconds(ns) {
  return `${ns / 1000000000n}.${String(ns % 1000000000n).padStart(9, '0')}`;
}
process.exitCode = claims.failed === 0 ? 0 : 1;
