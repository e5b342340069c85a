// How fast the page is on a trace, and how much memory it takes; nothing is
// asserted:
//   page_speed.mjs COUNTRACE TRACE [PROFILE]
// Writes a CPU profile of the zooms to PROFILE.
import {writeFileSync} from 'node:fs';

import {Session, startServer, wholeIndex} from './browser_session.mjs';

const [countrace, trace, profile] = process.argv.slice(2);
if (!trace) {
  console.log('usage: page_speed.mjs COUNTRACE TRACE [PROFILE]');
  process.exit(2);
}
const ROUNDS = 5;
const part = (sorted, share) => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? NaN;
const spread = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  return `p50 ${part(sorted, 0.5).toFixed(1)}, p95 ${part(sorted, 0.95).toFixed(1)}, max ${part(sorted, 1).toFixed(1)} ms (${sorted.length})`;
};

const server = await wholeIndex(await startServer(countrace, ['view', trace]));
const session = await Session.open();
const {page} = session;
try {
  await session.visit(server.url);
  const protocol = await session.context.newCDPSession(page);

  // From the begin of the navigation to the first frame whose middle column has a colour that is not the ground's.
  await page.addInitScript(() => {
    const look = (now) => {
      const canvas = document.querySelector('.area canvas');
      if (canvas && canvas.width > 1) {
        const {data} = canvas.getContext('2d').getImageData(canvas.width >> 1, 0, 1, canvas.height);
        const colours = new Set();
        for (let i = 0; i < data.length; i += 4) {
          const [least, most] = [Math.min(...data.slice(i, i + 3)), Math.max(...data.slice(i, i + 3))];
          if (most - least > 24) colours.add(data.slice(i, i + 3).join());
        }
        if (colours.size > 0) {
          window.firstRows = now;
          return;
        }
      }
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  const first = [];
  for (let round = 0; round < ROUNDS; ++round) {
    await session.revisit('');
    first.push(await session.ask('window.firstRows'));
  }
  console.log(`first rows: ${spread(first)}`);
  console.log(await session.ask(`performance.getEntriesByType('resource').slice(0, 12).map(({name, startTime, responseEnd}) =>
      name.replace(/.*\\/\\/[^/]*/, '').slice(0, 40) + ' ' + startTime.toFixed(0) + '-' + responseEnd.toFixed(0)).join(', ')`));

  const moved = (name) => page.evaluate(async (kind) => {
    const stats = __pv.frames();
    stats.drawMs.length = 0;
    const {widthPx, durationNs} = __pv.view();
    const intervals = [];
    let before = performance.now();
    for (let i = 0; i < 180; ++i) {
      if (kind === 'pan') __pv.pan(i % 90 < 45 ? 12 : -12);
      else if (kind === 'zoom') __pv.zoom(widthPx * 0.4, i < 90 ? 1 / 1.06 : 1.06);
      else if (i % 6 === 0) {
        const span = durationNs * 0.5 ** (12 * Math.random());
        const from = Math.random() * (durationNs - span);
        __pv.setWindow(from, from + span);
      } else __pv.pan(1);
      await new Promise((done) => requestAnimationFrame(done));
      intervals.push(performance.now() - before);
      before = performance.now();
    }
    return {drawMs: [...stats.drawMs], intervals};
  }, name);
  await session.key('0');
  await session.ask('__pv.zoom(400, 0.05)');
  await session.settled();
  if (profile) {
    await protocol.send('Profiler.enable');
    await protocol.send('Profiler.setSamplingInterval', {interval: 500});
    await protocol.send('Profiler.start');
  }
  for (const name of ['pan', 'zoom', 'jump']) {
    const all = {drawMs: [], intervals: []};
    for (let round = 0; round < ROUNDS; ++round) {
      const {drawMs, intervals} = await moved(name);
      all.drawMs.push(...drawMs);
      all.intervals.push(...intervals);
      await session.settled();
    }
    console.log(`${name}: draw ${spread(all.drawMs)}; frames ${spread(all.intervals)}`);
  }
  if (profile) writeFileSync(profile, JSON.stringify((await protocol.send('Profiler.stop')).profile));

  const settle = [];
  for (let i = 0; i < 200; ++i) {
    settle.push(await page.evaluate(async () => {
      const {durationNs} = __pv.view();
      const span = durationNs * 0.5 ** (14 * Math.random());
      const from = Math.random() * (durationNs - span);
      const begin = performance.now();
      __pv.setWindow(from, from + span);
      await __pv.settled();
      return performance.now() - begin - 90;
    }));
  }
  console.log(`200 zooms: settled after ${spread(settle)}`);
  const tiles = [];
  await session.key('0');
  for (let i = 0; i < 100; ++i) {
    tiles.push(...await page.evaluate(async () => {
      const {durationNs} = __pv.view();
      const span = durationNs * 0.5 ** (14 * Math.random());
      const from = Math.random() * (durationNs - span);
      performance.clearResourceTimings();
      __pv.setWindow(from, from + span);
      await __pv.settled();
      return performance.getEntriesByType('resource').filter(({name}) => name.includes('/tiles')).map((entry) => entry.responseEnd - entry.requestStart);
    }));
  }
  console.log(`requests of tiles: ${spread(tiles)}`);
  const heap = async () => {
    const {usedSize, embedderHeapUsedSize, backingStorageSize} = await protocol.send('Runtime.getHeapUsage');
    return [usedSize, embedderHeapUsedSize, backingStorageSize].map((bytes) => (bytes / 2 ** 20).toFixed(1)).join(' + ');
  };
  const before = await heap();
  await protocol.send('HeapProfiler.collectGarbage');
  console.log(`heap: objects + DOM + buffers ${before} MiB, collected ${await heap()} MiB; tiles ${(await session.ask('__pv.cacheBytes()') / 2 ** 20).toFixed(1)} MiB`);
  console.log(`network: ${JSON.stringify(await session.ask('__pv.net()'))}`);
} finally {
  await session.close();
  await server.stop();
}
