// How fast a replay and zooms are, and what they cost; nothing is asserted:
//   play_speed.mjs COUNTRACE TRACE
// Lines "NAME FIGURE" for tests/bench/run_bench.py. What an instant costs does
// not depend on how busy the machine is; how many there are a second does.
import {readdirSync, readFileSync} from 'node:fs';

import {Session, startServer, wholeIndex} from './browser_session.mjs';

const [countrace, trace] = process.argv.slice(2);
if (!trace) {
  console.log('usage: play_speed.mjs COUNTRACE TRACE');
  process.exit(2);
}
const PLAYED_MS = 6000;
const INSTANTS = 150;
const ZOOMS = 100;
const TICKS_PER_SECOND = 100;
const ninetyFive = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? NaN;

// proc(5), stat: parent, and CPU time of all threads in ms.
const statOf = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /, '').split(' ');
  return {parent: Number(fields[1]), ms: 1000 * (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND};
};
// Those of our browser that run a page.
const renderers = () => {
  const parents = new Map(readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      return [[Number(pid), statOf(pid).parent]];
    } catch {
      return []; // ended meanwhile
    }
  }));
  const isOurs = (pid) => pid === process.pid || parents.has(pid) && isOurs(parents.get(pid));
  return [...parents.keys()].filter((pid) => isOurs(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=renderer'));
};

const server = await wholeIndex(await startServer(countrace, ['view', trace]));
const session = await Session.open();
const {page} = session;
try {
  await session.visit(server.url);
  console.log(`processes ${(await session.api('trace')).processes}`);
  const used = () => ({server: statOf(server.pid).ms, page: renderers().reduce((sum, pid) => sum + statOf(pid).ms, 0)});
  // Plays from the begin of `share` of the trace, in its middle, which is all in
  // sight and takes 20 s.
  const begin = async (share) => {
    await page.evaluate((part) => {
      const {durationNs} = __pv.view();
      __pv.setWindow(durationNs * (1 - part) / 2, durationNs * (1 + part) / 2);
      __pv.movePlayhead(durationNs * (1 - part) / 2);
      __pv.setSpeed(0.5);
    }, share);
    await session.settled();
    await page.evaluate(() => __pv.run('play'));
  };
  // The clock is moved by hand, from instant to instant as they are there.
  const instants = (count) => page.evaluate(async (wanted) => {
    for (let shown = 0; shown < wanted && __pv.view().playing;) {
      const before = __pv.view().playhead;
      __pv.play(1000 / 30);
      const moved = __pv.view().playhead !== before;
      shown += moved;
      await new Promise((done) => moved ? requestAnimationFrame(done) : setTimeout(done, 100));
    }
  }, count);
  // Each [interval between two frames, whether it showed another instant].
  const frames = (ms) => page.evaluate((most) => new Promise((done) => {
    const found = [];
    const start = performance.now();
    let [last, playhead] = [start, __pv.view().playhead];
    const look = () => {
      const now = performance.now();
      const {playhead: at} = __pv.view();
      found.push([now - last, at !== playhead]);
      [last, playhead] = [now, at];
      if (now - start < most) requestAnimationFrame(look);
      else done(found);
    };
    requestAnimationFrame(look);
  }), ms);
  for (const [name, share] of [['whole', 1], ['near', 1 / 200]]) {
    await begin(share);
    await instants(30);
    const before = used();
    await instants(INSTANTS);
    const after = used();
    for (const which of ['server', 'page']) console.log(`${name}_${which}_ms ${(after[which] - before[which]) / INSTANTS}`);
    await page.evaluate(() => __pv.run('pause'));
  }
  // Each loads the page anew: its clock is the test's.
  for (const [name, share] of [['whole', 1], ['near', 1 / 200]]) {
    await session.revisit('');
    await begin(share);
    await page.evaluate(() => {
      __pv.run('pause');
      __pv.realClock();
      __pv.run('play');
    });
    await page.waitForTimeout(1000);
    const found = await frames(PLAYED_MS);
    console.log(`${name}_instants ${1000 * found.filter(([, moved]) => moved).length / PLAYED_MS}`);
    console.log(`${name}_frame_ms ${ninetyFive(found.map(([ms]) => ms))}`);
  }
  // From a jump to another window until the first tiles of it are there.
  await session.revisit('');
  const zooms = [];
  for (let i = 0; i < ZOOMS; ++i) {
    zooms.push(await page.evaluate(async (part) => {
      const {durationNs} = __pv.view();
      const span = durationNs * 0.5 ** (14 * part);
      const from = (durationNs - span) * (part * 7919 % 1);
      performance.clearResourceTimings();
      const start = performance.now();
      __pv.setWindow(from, from + span);
      await __pv.settled();
      const ends = performance.getEntriesByType('resource').filter(({name}) => name.includes('/tiles')).map((entry) => entry.responseEnd);
      return ends.length === 0 ? null : Math.min(...ends) - start;
    }, i * 0.618034 % 1));
  }
  console.log(`zoom_ms ${ninetyFive(zooms.filter((ms) => ms !== null))}`);
} finally {
  await session.close();
  await server.stop();
}
