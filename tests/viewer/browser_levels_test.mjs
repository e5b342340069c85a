// The strips of levels, against the records and `report --by level`:
//   browser_levels_test.mjs COUNTRACE LEVEL_WORKLOAD SHOTS
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {Claims, missing, Session, startServer, wholeIndex} from './browser_session.mjs';

const reason = missing();
if (reason) {
  console.log(`SKIPPED: ${reason}`);
  process.exit(0);
}
const [countrace, workload, shots] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'countrace-levels-'));
process.env.XDG_RUNTIME_DIR = directory;
const trace = join(directory, 'two.ctf');
const run = (...args) => {
  const {status, stdout, stderr} = spawnSync(countrace, args, {encoding: 'utf8'});
  assert.equal(status, 0, stderr);
  return stdout;
};
const claims = new Claims();
let server;
let session;

// Where each level of each owner was raised and lowered, as the records say.
function truthOf(beginNs) {
  const records = run('script', '--format', 'jsonl', trace).trim().split('\n').map((line) => JSON.parse(line));
  const spans = new Map();
  const last = new Map(); // of each thread
  for (const {time_ns: time, pid, tid, event, fields} of records) {
    const at = time - beginNs;
    last.set(tid, at);
    if (fields.on === undefined) continue;
    const owner = event === 'shop:open' ? `${event} ${pid}` : `${event} ${tid}`;
    if (fields.on !== 0) spans.set(owner, {begin: at, end: null, pid, tid});
    else spans.get(owner).end = at;
  }
  // A thread that ended with it up: until its last record.
  for (const span of spans.values()) span.end ??= last.get(span.tid);
  return spans;
}

try {
  run('record', '--no-kernel', '-o', trace, '--', 'sh', '-c', `${workload} & ${workload}; wait`);
  const report = JSON.parse(run('report', '--by', 'level', '--format', 'json', trace)).levels;
  assert.equal(report.length, 6);
  server = await wholeIndex(await startServer(countrace, ['view', trace]));
  session = await Session.open();
  await session.visit(server.url);
  const {page} = session;
  const info = await session.api('trace');
  const truth = truthOf(Number(info.begin_ns));
  const rows = async () => (await session.ask('__pv.rows()')).filter(({kind}) => kind === 'level');
  // An item on the edge of two tiles is in both.
  const items = async (row) => (await session.ask(`__pv.dump(${row})`)).flatMap((tile) => tile.items)
      .filter((item, at, all) => all.findIndex(({beginNs}) => beginNs === item.beginNs) === at);
  const ownerOf = async ({of, owner, depth}) => {
    const hook = (await session.api('hooks')).items.find((item) => item.hook === depth).name;
    const {items: [item]} = await session.api(`${of === 'thread' ? 'threads' : 'processes'}?ids=${owner}`);
    return `${hook} ${of === 'thread' ? item.tid : item.pid}`;
  };

  await claims.claim('more than four levels are one strip, that of the longest up; opened, each has one', async () => {
    assert.equal(info.levels, 6);
    assert.equal((await rows()).length, 1);
    const label = page.locator('.label.level');
    assert.match(await label.innerText(), /shop:open[\s\S]*process level_workload \d+, 5 more levels/);
    await session.shot(shots, 'levels_folded');
    await page.getByRole('button', {name: 'shop:open: open'}).click();
    await session.settled();
    assert.equal((await rows()).length, 6);
    await page.waitForURL(/levels=1/);
    await session.shot(shots, 'levels');
  });

  await claims.claim('each is up where its records say, for as long as the report has it, longest first', async () => {
    const seen = [];
    for (const {row} of await rows()) {
      const level = info.machine_rows.find((item) => item.row === row);
      const owner = await ownerOf(level);
      const drawn = await items(row);
      assert.equal(drawn.length, 1, owner);
      const {begin, end, tid} = truth.get(owner);
      assert.deepEqual([drawn[0].beginNs, drawn[0].endNs], [begin, end], owner);
      const {items: [by]} = await session.api(`threads?ids=${drawn[0].key}`);
      assert.equal(by.tid, tid);
      const up = report.find((one) => `${one.level} ${one.scope === 'thread' ? one.tid : one.pid}` === owner).up_ns;
      assert.equal(end - begin, up, owner);
      seen.push(up);
    }
    assert.deepEqual(seen, report.map(({up_ns: ns}) => ns));
  });

  await claims.claim('the tooltip says since when, how long, and who raised it', async () => {
    const [first] = await rows();
    const [{beginNs, endNs}] = await items(first.row);
    const {startNs, nsPerPx} = await session.ask('__pv.view()');
    const tip = await session.ask(`__pv.describe(${((beginNs + endNs) / 2 - startNs) / nsPerPx}, ${first.y + 4})`);
    assert.equal(tip.title, 'shop:open is up');
    assert.match(tip.lines.join('\n'), /^since .*\ss, for .*\sms\nraised by level_workload \d+\nlevel of process level_workload \d+$/);
    // The end of a thread is not recorded without the kernel.
    const last = (await rows())[5];
    const [short] = await items(last.row);
    const at = ((short.beginNs + short.endNs) / 2 - startNs) / nsPerPx;
    assert.match((await session.ask(`__pv.describe(${at}, ${last.y + 4})`)).lines.join('\n'), /its end is not recorded/);
    // Down: nothing is there.
    assert.equal(await session.ask(`__pv.describe(${(endNs + 1e5 - startNs) / nsPerPx + 4}, ${first.y + 4})`), null);
  });

  await claims.claim('a click selects the time in which it was up', async () => {
    const [first] = await rows();
    const [{beginNs, endNs}] = await items(first.row);
    const {startNs, nsPerPx} = await session.ask('__pv.view()');
    const area = await page.locator('.area').boundingBox();
    await page.mouse.click(area.x + ((beginNs + endNs) / 2 - startNs) / nsPerPx, area.y + first.y + 4);
    await session.settled();
    const {from, to} = await session.ask('__pv.item()');
    assert.deepEqual([from, to], [beginNs, endNs]);
  });

  assert.deepEqual(session.problems, []);
} finally {
  await session?.close();
  await server?.stop();
  rmSync(directory, {recursive: true, force: true});
}
process.exitCode = claims.failed === 0 ? 0 : 1;
