// Traces of several hosts in frames, with `countrace view HOST=TRACE ...`:
//   browser_hosts_test.mjs COUNTRACE REQUEST_PIPELINE SHIFTED_TRACE SHOTS
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {Claims, COLLISIONS, missing, Session, startServer} from './browser_session.mjs';

const reason = missing();
if (reason) {
  console.log(`SKIPPED: ${reason}`);
  process.exit(0);
}
const [countrace, pipeline, shiftedTrace, shots] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'countrace-hosts-'));
process.env.XDG_RUNTIME_DIR = directory;
process.chdir(directory);
const run = (command, ...args) => {
  const done = spawnSync(command, args, {encoding: 'utf8', maxBuffer: 1 << 28});
  return {status: done.status, text: done.stdout, error: done.stderr};
};
const works = (...command) => {
  const {status, error} = run(...command);
  assert.equal(status, 0, error);
};
const claims = new Claims();
let server;
let session;
let frames = [];
let hosts = [];
let begins = []; // of the pages' traces, on their clocks

// Ends the server before, shows this one's page.
async function view(...args) {
  await session.page.goto('about:blank');
  await server?.stop();
  server = await startServer(countrace, ['view', ...args]);
  const {origin, searchParams} = new URL(server.url);
  const headers = {Authorization: `Bearer ${searchParams.get('token')}`};
  ({hosts} = await (await fetch(`${origin}/api/v1/hosts`, {headers})).json());
  await session.page.goto(server.url);
  await session.page.goto(`${origin}/?test=1`);
  // All are in step once each has its name above it.
  await session.page.locator('.pair-stage h2 .faint', {hasText: '.ctf begins at'}).nth(hosts.length - 1).waitFor({timeout: 60_000});
  frames = hosts.map(({folder}) => session.page.frames().find((one) => new URL(one.url()).pathname === folder));
  await until(async () => (await all('Boolean(window.__pv?.ready)')).every(Boolean), 'no page is ready');
  begins = (await Promise.all(frames.map((frame) => api(frame, 'trace')))).map(({begin_ns: begin}) => BigInt(begin));
  await settled();
}
const all = (expression) => Promise.all(frames.map((frame) => frame.evaluate(expression)));
const settled = () => all('__pv.settled()');
const views = () => all('__pv.view()');
const api = async (frame, path) => JSON.parse((await frame.evaluate((name) => __pv.ask(name), path)).slice(4));
async function until(holds, what) {
  for (let i = 0; !await holds(); ++i) {
    assert.ok(i < 1200, what);
    await session.page.waitForTimeout(50);
  }
}
const headings = async () => (await session.page.locator('.pair-stage h2').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '));
const panels = () => session.page.locator('.pair-now');
const followed = () => Promise.all(frames.map(async (_, i) => {
  const [title] = await panels().nth(i).locator('.request h3').allInnerTexts();
  return /^Request (.*?):/.exec(title ?? '')?.[1] ?? null;
}));
// On the page's table of requests.
async function choose(side, id) {
  await frames[side].evaluate(`__pv.run('request')`);
  await frames[side].locator('.request-box').fill(id);
  await frames[side].locator('.request-box').press('Enter');
}


// --- Messages, by brute force from `script` ---

const CLOCK_NS = 3; // what the page's mapping of clocks, and its rounding, may differ by
const layer = (field) => session.page.evaluate(`__messages?.${field}`);
const note = () => session.page.locator('.pair-head').innerText();
const near = (a, b, most, what) => assert.ok(Math.abs(a - b) <= most, `${what}: ${a} ${b}`);
// Since the first host's begin.
function commonOf(side, own) {
  const [[own0, common0], [own1, common1]] = hosts[side].clock.map((point) => point.map(Number));
  return common0 - Number(hosts[0].clock[0][1]) + (own - own0) * ((common1 - common0) / (own1 - own0));
}
function messagesOf(traces) {
  const ends = traces.map((trace, host) => {
    const all = {'server:request__enter': new Map(), 'server:parse__enter': new Map()};
    for (const text of run(countrace, 'script', '--format', 'jsonl', trace).text.split('\n').filter(Boolean)) {
      const {event, time_ns: own, tid, fields} = JSON.parse(text);
      if (all[event]) all[event].set(fields.arg0, {host, tid, own, t: commonOf(host, own)});
    }
    return Object.values(all);
  });
  return ends.flatMap(([sends], from) => ends.flatMap(([, receives], to) => from === to ? [] : [...sends].flatMap(([value, sent]) => {
    const received = receives.get(value);
    return received ? [{value: `${value}`, sent, received, waited: received.t - sent.t, within: hosts[from].within_ns + hosts[to].within_ns}] : [];
  }))).sort((a, b) => a.sent.t - b.sent.t);
}
const nameOf = ({value, sent, received}) => `${value} ${sent.host} ${received.host}`;
// Shows that time of the first host: what is drawn is what is there.
async function compareDrawn(messages, from, to) {
  await frames[0].evaluate(`__pv.setWindow(${from}, ${to})`);
  const {startNs, endNs} = (await views())[0];
  const reach = (slack) => messages.filter(({sent, received}) => Math.min(sent.t, received.t) < endNs + slack && Math.max(sent.t, received.t) >= startNs - slack).map(nameOf);
  const [least, most] = [reach(-CLOCK_NS - 1), new Set(reach(CLOCK_NS + 1))];
  const holds = (names) => least.every((name) => names.has(name)) && [...names].every((name) => most.has(name));
  await until(async () => holds(new Set((await layer('drawn') ?? []).map(nameOf))), `what is drawn is not what is there: ${least.length}`);
  await settled();
  const byName = new Map(messages.map((one) => [nameOf(one), one]));
  const sides = await Promise.all(frames.map(async (frame) => ({
    ...await frame.evaluate('({view: __pv.view(), rows: __pv.rows()})'), area: await frame.locator('.area').boundingBox(),
    threads: new Map((await api(frame, 'threads')).items.map(({thread, tid}) => [thread, tid])),
  })));
  let seen = 0; // ends whose thread has a lane in sight
  for (const one of await layer('drawn')) {
    const {sent, received, waited, within, line} = one;
    const known = byName.get(nameOf(one));
    near(waited, known.waited, CLOCK_NS, nameOf(one));
    assert.equal(within, known.within);
    for (const [end, truth, x, y] of [[sent, known.sent, line[0], line[1]], [received, known.received, line[2], line[3]]]) {
      const {view: {startNs: begin, nsPerPx}, rows, area, threads} = sides[end.host];
      assert.equal(threads.get(end.thread), truth.tid);
      const own = truth.own - Number(begins[end.host]);
      near(x, area.x + (own - begin) / nsPerPx, 0.5 + CLOCK_NS / nsPerPx, `${nameOf(one)} in time`);
      const lane = rows.filter(({lane: id}) => id === `thread${end.thread}`);
      if (lane.length === 0) continue; // out of sight: at an edge of the rows
      ++seen;
      const edges = [Math.min(...lane.map((row) => row.y)), Math.max(...lane.map((row) => row.y + row.height))];
      assert.ok(edges.some((edge) => Math.abs(y - area.y - edge) < 12), `${nameOf(one)}: ${y - area.y}, lane ${edges}`);
    }
  }
  assert.ok(seen > 0);
}
// Pixels of the head of its arrow: what is painted before its tip, beside its line.
const headPixels = ({line: [x0, y0, x1, y1]}) => session.page.evaluate(([ax, ay, bx, by]) => {
  const copy = new OffscreenCanvas(16, 16).getContext('2d', {willReadFrequently: true});
  copy.drawImage(document.querySelector('canvas.messages'), 8 - Math.round(bx), 8 - Math.round(by));
  const {data} = copy.getImageData(0, 0, 16, 16);
  const length = Math.hypot(bx - ax, by - ay);
  let beside = 0;
  for (let i = 0; i < 256; ++i) {
    const [x, y] = [Math.round(bx) - 7.5 + i % 16 - bx, Math.round(by) - 7.5 + Math.floor(i / 16) - by];
    const [along, across] = [(x * (bx - ax) + y * (by - ay)) / length, Math.abs(x * (by - ay) - y * (bx - ax)) / length];
    if (along < 0 && along > -7 && across > 1.6 && across < 4 && data[4 * i + 3] > 60) ++beside;
  }
  return beside;
}, [x0, y0, x1, y1]);
// As the page writes them.
function durationText(ns) {
  const [divisor, unit] = ns < 1e3 ? [1, 'ns'] : ns < 1e6 ? [1e3, 'µs'] : ns < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
  const value = ns / divisor;
  return `${divisor === 1 ? value : value.toFixed(value >= 100 ? 1 : value >= 10 ? 2 : 3)}\u2009${unit}`;
}
const nsIn = (text) => {
  const [, sign, whole, part] = /^(-?)(\d+)\.(\d{3}\u2009\d{3}\u2009\d{3})\u2009s/.exec(text);
  return (sign ? -1 : 1) * (Number(whole) * 1e9 + Number(part.replaceAll('\u2009', '')));
};

try {
  for (const [name, requests] of [['p', 2000], ['q', 1500]]) works(countrace, 'record', '-o', `${name}.ctf`, '--', pipeline, String(requests));
  session = await Session.open();

  await claims.claim('hosts of one boot: the frames begin with the time of all, on one axis', async () => {
    await view('a=p.ctf', 'b=q.ctf', '--join', 'arg0');
    assert.deepEqual(hosts.map(({name, folder, how, within_ns: within}) => [name, folder, how, within]),
                     [['a', '/h/0/', 'first', 0], ['b', '/h/1/', 'same boot as a', 0]]);
    const apart = Number(begins[1] - begins[0]);
    const [first, second] = await headings();
    assert.match(first, /^a: common clock p\.ctf begins at 0\.000 000 000 s$/);
    assert.equal(second, `b: same boot as a q.ctf begins at ${(apart / 1e9).toFixed(9).replace(/(\d{3})(\d{3})$/, ' $1 $2')} s`);
    const end = Number(BigInt(hosts[1].clock[1][1]) - begins[0]);
    const [a, b] = await views();
    assert.deepEqual([Math.round(a.startNs), Math.round(a.endNs)], [0, end]);
    assert.deepEqual([Math.round(b.startNs), Math.round(b.endNs)], [-apart, end - apart]);
    assert.deepEqual(await session.page.evaluate(COLLISIONS), []);
    const boxes = await Promise.all(['a', 'b'].map((title) => session.page.locator(`iframe[title=${title}]`).boundingBox()));
    assert.deepEqual([boxes[0].x, boxes[0].width, boxes[0].height], [boxes[1].x, boxes[1].width, boxes[1].height]);
    assert.ok(boxes[0].y + boxes[0].height <= boxes[1].y);
    await session.shot(shots, 'hosts');
  });

  await claims.claim('what moves or zooms one does so with all, to the same instant', async () => {
    const apart = Number(begins[1] - begins[0]);
    const {durationNs: lengthA} = (await views())[0];
    const {durationNs: lengthB} = (await views())[1];
    for (const [side, move] of [
      [0, `setWindow(${lengthA / 4}, ${lengthA / 2})`], [0, 'pan(-333)'], [1, 'zoom(100, 0.31)'], [1, `setWindow(${lengthB / 3}, ${lengthB / 3 + 50})`],
      [1, 'pan(77)'], [0, 'zoom(700, 1000)'], [1, `run('fit')`], [0, `movePlayhead(${lengthA - 5})`], [1, `movePlayhead(1234567)`], [0, `run('end')`], [1, `run('start')`],
    ]) {
      await frames[side].evaluate(`__pv.${move}`);
      const [a, b] = await views();
      const near = (mine, other, what) => assert.ok(Math.abs(mine - other - apart) < 0.01, `${move}: ${what} ${mine} ${other} ${apart}`);
      near(a.startNs, b.startNs, 'begin');
      near(a.endNs, b.endNs, 'end');
      assert.equal(a.playhead, b.playhead + apart, move);
      assert.ok(Math.abs(a.nsPerPx - b.nsPerPx) <= 1e-9 * a.nsPerPx);
    }
  });

  await claims.claim('where a host recorded nothing, it shows its nearest state, and its playhead where the others have it', async () => {
    const apart = Number(begins[1] - begins[0]);
    await frames[1].evaluate('__pv.movePlayhead(2000000)');
    await settled();
    const [a, b] = await all('({...__pv.view(), t: __pv.state().t})');
    assert.deepEqual([a.playhead, b.playhead, a.t, b.t], [apart + 2_000_000, 2_000_000, a.durationNs - 1, 2_000_000]);
  });

  await claims.claim('all are played together, also from the end of one into the next', async () => {
    const apart = Number(begins[1] - begins[0]);
    await all('__pv.realClock()');
    await frames[0].evaluate('__pv.run("fit"); __pv.setSpeed(20)');
    const {durationNs: length} = (await views())[0];
    await frames[0].evaluate(`__pv.movePlayhead(${length - 1_000_000})`);
    await settled();
    await frames[0].locator('.area').focus();
    await session.page.keyboard.press('l');
    await until(async () => (await views())[1].playhead > 0, 'it does not play to the second trace');
    await session.page.keyboard.press('k');
    await settled();
    const [a, b] = await all('({...__pv.view(), t: __pv.state().t})');
    assert.equal(a.playhead, b.playhead + apart);
    assert.equal(b.t, Math.min(Math.floor(b.playhead), b.durationNs - 1));
  });

  await claims.claim('a request that is chosen in one frame is followed in all that have it', async () => {
    const rowOf = async (side, id) => (await api(frames[side], `requests?id=${id}&spans=16`)).rows[0];
    await choose(0, '856');
    await until(async () => `${await followed()}` === '856,856', 'it is followed in both');
    const row = await rowOf(0, '856');
    const [a, b] = await views();
    assert.equal(a.playhead, row.begin_ns);
    assert.ok(a.startNs <= row.begin_ns && row.end_ns <= a.endNs);
    assert.equal(b.playhead, row.begin_ns - Number(begins[1] - begins[0]));
    for (const frame of frames) await frame.locator('.label .followed', {hasText: '856'}).waitFor();
    await session.shot(shots, 'hosts-request');
    await choose(1, '3');
    await until(async () => `${await followed()}` === '3,3', 'the other one leads');
    assert.equal((await views())[1].playhead, (await rowOf(1, '3')).begin_ns);
    await choose(0, '1800');
    await until(async () => JSON.stringify(await followed()) === '["1800",null]', 'one has no such request');
    assert.equal(await rowOf(1, '1800'), undefined);
    await choose(1, '7');
    await until(async () => `${await followed()}` === '7,7', 'both have this one');
    await panels().nth(1).locator('.request .gone').click();
    await until(async () => JSON.stringify(await followed()) === '[null,null]', 'it is left in both');
    assert.deepEqual(session.problems, []);
  });

  await claims.claim('a line of a file of --join may be of one host alone, and must be of one', async () => {
    writeFileSync('some.join', 'client:* arg0\nserver:request arg0\n');
    await view('a=p.ctf', 'b=q.ctf', '--join', './some.join');
    assert.deepEqual((await Promise.all(frames.map((frame) => api(frame, 'requests?limit=1')))).map(({of}) => of), [2000, 1500]);
    writeFileSync('none.join', 'client:* arg0\nserver:requests arg0\n');
    const {status, error} = run(countrace, 'view', 'a=p.ctf', 'b=q.ctf', '--join', './none.join');
    assert.equal(status, 2);
    assert.match(error, /--join: \.\/none\.join:2:1: the trace has no hook `server:requests`/);
  });

  // As a machine of another boot would have recorded the first: a call of the one
  // is of the same instant as that of the other.
  const OFFSET = 5_123_456_789n, DRIFT_PPB = 20_000n;
  works('python3', shiftedTrace, 'p.ctf', 's.ctf', '5c0b5a5e-0000-4000-8000-000000000001', `${OFFSET}`, `${DRIFT_PPB}`, 'hostname=b');
  const PAIRS = ['--pairs', 'server:request.arg0,server:parse.arg0'];

  await claims.claim('with another clock, each instant is within the bound that stands above', async () => {
    await view('a=p.ctf', 'b=s.ctf', '--join', 'arg0', ...PAIRS);
    const [, {how, within_ns: within}] = hosts;
    assert.ok(within > 0, how);
    const [, heading] = await headings();
    assert.ok(heading.startsWith('b: ± ') && heading.includes(` (${how}) s.ctf begins at `), heading);
    const {rows} = await api(frames[0], 'requests?sort=begin_ns&order=ascending&limit=1000&spans=1');
    for (const {begin_ns: at} of [rows[0], rows[500], rows[999]]) {
      const time = begins[0] + BigInt(at);
      const truth = time + OFFSET + (time - begins[0]) * DRIFT_PPB / 1_000_000_000n;
      await frames[0].evaluate(`__pv.setWindow(${at} - 5000, ${at} + 5000); __pv.movePlayhead(${at})`);
      const [a, b] = await views();
      const off = Number(begins[1] - truth) + b.playhead;
      assert.ok(Math.abs(off) <= within + 2, `${off} ns at ${at}, bound ${within}`);
      // At one place of both.
      assert.ok(Math.abs((b.playhead - b.startNs) / b.nsPerPx - (a.playhead - a.startNs) / a.nsPerPx) < 1e-3);
      // And back: what the other shows moves the first to the same instant.
      await frames[1].evaluate(`__pv.movePlayhead(${b.playhead})`);
      assert.ok(Math.abs((await views())[0].playhead - at) < 0.01);
    }
    await choose(1, '42');
    await until(async () => `${await followed()}` === '42,42', 'it is followed in both');
    await session.shot(shots, 'hosts-clock');
    assert.deepEqual(session.problems, []);
  });

  works('python3', shiftedTrace, 'p.ctf', 't.ctf', '5c0b5a5e-0000-4000-8000-000000000002', '-923456789', '-30000', 'hostname=c');
  await session.page.setViewportSize({width: 1440, height: 2400}); // threads have room
  const traces = ['p.ctf', 's.ctf', 't.ctf'];
  const ALL = ['a=p.ctf', 'b=s.ctf', 'c=t.ctf', ...PAIRS];

  await claims.claim('messages are drawn between the lanes of their threads, as the records have them', async () => {
    await view(...ALL);
    const messages = messagesOf(traces);
    assert.equal(messages.length, 6 * 2000);
    const from = messages[3000].sent.t;
    await compareDrawn(messages, from - 1000, messages[3120].sent.t);
    const drawn = await layer('drawn');
    assert.ok(drawn.some(({waited, within}) => waited > within));
    assert.deepEqual([...new Set(drawn.map(({sent, received}) => `${sent.host}${received.host}`))].sort(), ['01', '02', '10', '12', '20', '21']);
    assert.deepEqual(session.problems, []);
    await session.shot(shots, 'hosts-messages');
    // The longest of very many are, and it is said how many are not.
    await frames[0].evaluate(`__pv.run('fit')`);
    await until(async () => /11\u2009700 more: zoom in$/.test(await note()), 'it is said how many are not drawn');
    const longest = await layer('drawn');
    assert.equal(longest.length, 300);
    const waits = messages.map(({waited}) => waited).sort((a, b) => b - a);
    const least = Math.min(...longest.map(({waited}) => waited));
    assert.ok(Math.abs(least - waits[299]) <= CLOCK_NS, `${least} ${waits[299]}`);
    await session.shot(shots, 'hosts-messages-longest');
  });

  await claims.claim('a message says both its ends, and an item its time on the common clock, with their bounds', async () => {
    await view(...ALL);
    const messages = messagesOf(traces);
    const decided = messages.filter(({sent, received, waited, within}) => sent.host === 0 && received.host === 1 && waited > within + CLOCK_NS);
    const one = decided[decided.length >> 1];
    await compareDrawn(messages, one.sent.t - one.waited, one.received.t + one.waited);
    const {line: [x0, y0, x1, y1]} = (await layer('drawn')).find(({value, sent, received}) => value === one.value && sent.host === 0 && received.host === 1);
    const tip = session.page.locator('.messages-tip');
    await session.page.mouse.move(x0 + (x1 - x0) * 0.25, y0 + (y1 - y0) * 0.25);
    await until(async () => (await tip.innerText()).startsWith(`message ${one.value}\n`), 'the message is not said');
    const [, sent, received, order] = (await tip.innerText()).split('\n');
    const bound = durationText(hosts[1].within_ns);
    assert.match(sent, new RegExp(`^sent by a: \\S+ ${one.sent.tid}, at [0-9.\u2009]+\u2009s$`));
    assert.match(received, new RegExp(`^received by b: \\S+ ${one.received.tid}, at [0-9.\u2009]+\u2009s ± ${bound}$`));
    near(nsIn(sent.split(', at ')[1]), one.sent.t, 0, 'it was sent');
    near(nsIn(received.split(', at ')[1]), one.received.t, CLOCK_NS, 'it was received');
    assert.ok(order.endsWith(` ± ${bound} later`), order);
    await session.page.mouse.move(x0, y0 - 200);
    await tip.waitFor({state: 'hidden'});
    for (const [side, frame] of frames.entries()) {
      const said = await frame.evaluate(`(() => {
        const {startNs, nsPerPx} = __pv.view();
        for (const {row, kind, y, height} of __pv.rows()) {
          if (kind !== 'segment') continue;
          for (const {kind: tile, items} of __pv.dump(row)) for (const {beginNs, endNs} of items) {
            const tip = tile === 'items' && beginNs >= startNs && __pv.describe(((beginNs + endNs) / 2 - startNs) / nsPerPx, y + height / 2);
            const at = tip && tip.lines.find((line) => line.startsWith('at '));
            if (at) return {beginNs, at};
          }
        }
      })()`);
      const [, common, within] = /^at [^(]*(?: \(a: ([0-9.\u2009]+\u2009s)(?: ± (.*))?\))?$/.exec(said.at);
      assert.equal(within, side === 0 ? undefined : durationText(hosts[side].within_ns));
      if (side > 0) near(nsIn(common), commonOf(side, Number(begins[side]) + said.beginNs), CLOCK_NS, said.at);
    }
  });

  await claims.claim('an order that the bound does not decide has no arrow', async () => {
    // Behind the last message the bound grows with the time.
    works(countrace, 'record', '-o', 'w.ctf', '--', 'sh', '-c', `${pipeline} 20; sleep 1`);
    works('python3', shiftedTrace, 'w.ctf', 'v.ctf', '5c0b5a5e-0000-4000-8000-000000000001', `${OFFSET}`, `${DRIFT_PPB}`, 'hostname=b');
    await view('a=w.ctf', 'b=v.ctf', ...PAIRS);
    const messages = messagesOf(['w.ctf', 'v.ctf']);
    const [shortest] = [...messages].sort((a, b) => a.waited - b.waited);
    assert.ok(shortest.waited + CLOCK_NS < shortest.within, `${shortest.waited} ${shortest.within}`);
    await compareDrawn(messages, shortest.sent.t - 2 * shortest.waited, shortest.received.t + 2 * shortest.waited);
    const found = await layer('drawn');
    assert.equal(await note(), `${found.length} messages, ${found.length} without an arrow: their order is not known`);
    for (const one of found) assert.equal(await headPixels(one), 0);
    const [{line: [x0, y0, x1, y1]}] = found;
    await session.page.mouse.move(x0 + (x1 - x0) * 0.25, y0 + (y1 - y0) * 0.25);
    await session.page.locator('.messages-tip', {hasText: `later: the bound of ± ${durationText(hosts[1].within_ns)} does not decide the order`}).waitFor();
    await session.shot(shots, 'hosts-messages-undecided');
    // The same of one clock: exact, so each has one.
    const [, boot] = /"boot_id" *: *"([^"]+)"/.exec(run(countrace, 'info', '--format', 'json', 'w.ctf').text);
    works('python3', shiftedTrace, 'w.ctf', 'u.ctf', boot, '0', '0', 'hostname=b');
    await view('a=w.ctf', 'b=u.ctf', ...PAIRS);
    assert.equal(hosts[1].how, 'same boot as a');
    const exact = messagesOf(['w.ctf', 'u.ctf']);
    const [first] = exact;
    await compareDrawn(exact, first.sent.t - 2 * first.waited, first.received.t + 2 * first.waited);
    for (const one of await layer('drawn')) assert.ok(await headPixels(one) > 4);
    assert.ok(!(await note()).includes('without'));
    const code = async (path) => {
      const {origin, searchParams} = new URL(server.url);
      return (await fetch(`${origin}/api/v1/messages?${path}`, {headers: {Authorization: `Bearer ${searchParams.get('token')}`}})).status;
    };
    assert.deepEqual(await Promise.all(['from=0&to=1&limit=1000', 'from=0&to=1&limit=1001', 'from=2&to=1', 'from=-1&to=1', 'to=1'].map(code)), [200, 400, 400, 400, 400]);
    // Without --pairs there are none.
    await view('a=w.ctf', 'b=u.ctf');
    assert.equal(await session.page.locator('.messages, .pair-head').count(), 0);
    assert.equal(await code('from=0&to=1'), 404);
    assert.deepEqual(session.problems, []);
  });
  await session.page.setViewportSize({width: 1440, height: 900});

  await claims.claim('a folder of traces is as many hosts; answers are of the trace whose folder it is', async () => {
    mkdirSync('hosts');
    for (const name of ['p.ctf', 'q.ctf']) renameSync(name, join('hosts', name));
    works(countrace, 'record', '-o', 'hosts/r.ctf', '--', pipeline, '100');
    await view('hosts');
    assert.deepEqual(hosts.map(({name}) => name), ['p', 'q', 'r']);
    await frames[2].evaluate('__pv.movePlayhead(1000)');
    assert.deepEqual((await views()).map(({playhead}, i) => playhead + Number(begins[i] - begins[2])), [1000, 1000, 1000]);
    await session.shot(shots, 'hosts-three');
    const {origin, searchParams} = new URL(server.url);
    const headers = {Authorization: `Bearer ${searchParams.get('token')}`};
    const answer = (path, more = {}) => fetch(origin + path, {headers, redirect: 'manual', ...more});
    for (const [i, name] of ['p', 'q', 'r'].entries()) {
      const {path} = await (await answer(`/h/${i}/api/v1/trace`)).json();
      assert.ok(path.endsWith(`${name}.ctf`), path);
    }
    for (const path of ['/h/3/', '/h/0', '/h/0/api/v1/hosts', '/api/v1/diff', '/a/']) assert.equal((await answer(path)).status, 404, path);
    assert.equal((await answer('/api/v1/hosts', {method: 'POST'})).status, 405);
    for (const path of ['/', '/h/1/', '/api/v1/hosts']) assert.equal((await fetch(origin + path)).status, 401, path);
    // As a browser's first request that --open sent there from a file.
    const opened = await fetch(server.url, {headers: {'Sec-Fetch-Site': 'cross-site'}});
    assert.match(await opened.text(), /pair\.js/);
    await session.page.goto('about:blank');
    await session.page.goto(`file://${openingPage(server.url)}`);
    await session.page.locator('.pair-stage h2 .faint', {hasText: 'begins at'}).nth(2).waitFor({timeout: 60_000});
    assert.ok(!session.page.url().includes('token'), session.page.url());
  });

  await claims.claim('what does not go together is said', async () => {
    for (const [args, status, words] of [
      [['a=hosts/p.ctf', 'b=s.ctf'], 1, /Hosts a \(.*p\.ctf\) and b \(.*s\.ctf\) have no clock in common.*--pairs/],
      [['a=hosts/p.ctf', 'b=none.ctf'], 1, /none\.ctf/],
      [['a=hosts/p.ctf', 's.ctf'], 2, /s\.ctf has no host/],
      [['a=hosts/p.ctf', 'b=s.ctf', '--at', '1ms'], 2, /leave out --at, --beside, --live and --source/],
      [['a=hosts/p.ctf', 'b=s.ctf', '--live'], 2, /leave out --at, --beside, --live and --source/],
      [['a=hosts/p.ctf', '--beside', 's.ctf'], 2, /leave out --at, --beside, --live and --source/],
      [['hosts', '--source', '.'], 2, /leave out --at, --beside, --live and --source/],
      [['hosts', '--join', ''], 2, /--join needs the name of a value/],
      [['hosts', '--join', 'nothing'], 2, /--join: no hook of the trace has a value `nothing`/],
      [['s.ctf', ...PAIRS], 2, /--pairs is between hosts: give each trace one, as in HOST=TRACE/],
    ]) {
      const done = run(countrace, 'view', ...args);
      assert.equal(done.status, status, `${args.join(' ')}: ${done.error}`);
      assert.match(done.error, words);
      assert.equal(done.text, '');
    }
  });
} finally {
  await session?.close();
  await server?.stop();
  rmSync(directory, {recursive: true, force: true});
}
process.exit(claims.failed === 0 ? 0 : 1);

// What --open has a browser open.
function openingPage(url) {
  const page = join(directory, 'open.html');
  writeFileSync(page, `<!doctype html><meta http-equiv="refresh" content="0;url=${url}">\n`);
  return page;
}
