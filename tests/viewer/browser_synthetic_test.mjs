// The page against known truth: browser_synthetic_test.mjs SERVE_SYNTHETIC SHOTS
import assert from 'node:assert/strict';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {Claims, missing, Session, startServer} from './browser_session.mjs';
import {claimSelectedItem} from './selected_item_claims.mjs';

const reason = missing();
if (reason) {
  console.log(`SKIPPED: ${reason}`);
  process.exit(0);
}
const [program, shots] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'countrace-synthetic-'));
const server = await startServer(program, [directory, '20000']);
const truth = JSON.parse(readFileSync(join(directory, 'truth.json'), 'utf8'));
const session = await Session.open();
const {page} = session;
const claims = new Claims();

const view = () => session.ask('__pv.view()');
const areaBox = () => page.locator('.area').boundingBox();
const rowOf = async (kind, lane) => (await session.ask('__pv.rows()'))
    .find((row) => row.kind === kind && (!lane || row.lane === lane));
// Colour of the drawn rows at a point of the timeline area.
const pixel = (x, y) => page.evaluate(([px, py]) => {
  const canvas = document.querySelector('.area canvas');
  return [...canvas.getContext('2d').getImageData(px, py, 1, 1).data].slice(0, 3);
}, [Math.round(x), Math.round(y)]);

// Share of each colour in the pixels of a row: of a pixel in which two colours
// meet, each has the part by which it is mixed.
const drawnShares = (row, colours) => page.evaluate(([top, height, palette]) => {
  const canvas = document.querySelector('.area canvas');
  // A copy: chromium warns of canvases that are read again and again.
  const copy = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height});
  const context = copy.getContext('2d', {willReadFrequently: true});
  context.drawImage(canvas, 0, 0);
  const {data} = context.getImageData(0, top, canvas.width, height);
  const at = (x, y) => [...data.slice(4 * (y * canvas.width + x), 4 * (y * canvas.width + x) + 3)];
  const pure = (pixel) => palette.findIndex((colour) => colour.every((part, i) => Math.abs(part - pixel[i]) <= 1));
  const shares = palette.map(() => 0);
  for (let x = 0; x < canvas.width; ++x) {
    for (let y = 0; y < height; ++y) {
      const found = pure(at(x, y));
      if (found >= 0) {
        ++shares[found];
        continue;
      }
      const pixel = at(x, y);
      let above = -1;
      let below = -1;
      for (let up = y - 1; up >= 0 && above < 0; --up) above = pure(at(x, up));
      for (let down = y + 1; down < height && below < 0; ++down) below = pure(at(x, down));
      if (above < 0) above = palette.length - 1;
      if (below < 0) below = above;
      const way = palette[below].map((part, i) => part - palette[above][i]);
      const length = way.reduce((sum, part) => sum + part * part, 0);
      const part = length === 0 ? 1 :
          way.reduce((sum, step, i) => sum + step * (pixel[i] - palette[above][i]), 0) / length;
      shares[below] += Math.min(Math.max(part, 0), 1);
      shares[above] += 1 - Math.min(Math.max(part, 0), 1);
    }
  }
  return shares.map((share) => share / canvas.width / height);
}, [row.y, row.height, colours]);

try {
  await session.visit(server.url);
  await session.shot(shots, 'fit');

  await claims.claim('the token leaves the address bar', async () => {
    assert.equal(new URL(page.url()).searchParams.get('token'), null);
  });

  await claims.claim('the overview needs no lists; names come for what is in sight, never all', async () => {
    const asked = (await session.ask(
        'performance.getEntriesByType("resource").map(({name}) => name.split("/api/v1/")[1] ?? "")')).filter((name) => name !== '');
    assert.deepEqual(asked.slice(0, 3).map((name) => name.replace(/\?.*/, '')).sort(), ['index', 'overview', 'trace']);
    assert.ok(asked.some((name) => /^rows\?from=/.test(name)), asked.join(' '));
    assert.deepEqual(asked.filter((name) => /^(rows|threads|processes)\?offset/.test(name)), []);
  });

  await claims.claim('fitted: coverage of CPU 0 is its busy time within 0.5 %', async () => {
    const row = await rowOf('cpu', 'cpu0');
    const {durationNs} = await view();
    let busy = 0;
    for (const tile of await session.ask(`__pv.dump(${row.row})`)) {
      assert.equal(tile.kind, 'shares');
      for (let i = 0; i < tile.words.length / 7; ++i) {
        const begin = tile.beginNs + i * tile.columnNs;
        const width = Math.min(tile.columnNs, durationNs - begin);
        const word = (number) => tile.words[7 * i + number];
        const shares = [0, 8, 16, 24].reduce((sum, shift) => sum + (word(4) >>> shift & 0xff), word(5) & 0xff);
        if (width > 0) busy += shares / 255 * width;
      }
    }
    assert.ok(Math.abs(busy / truth.cpu0_busy_ns - 1) < 0.005, `${busy} ${truth.cpu0_busy_ns}`);
  });

  // What CPU 0 did in a window: share by process, -1 idle.
  const trueShares = async (fromNs, toNs) => {
    const threads = new Map((await session.api('threads')).items.map((item) => [item.thread, item.process]));
    const known = new Map();
    for (const [begin, end, thread] of truth.cpu0_all) {
      const process = thread === 0xffffffff ? -1 : threads.get(thread);
      const ns = Math.max(0, Math.min(end, toNs) - Math.max(begin, fromNs));
      known.set(process, (known.get(process) ?? 0) + ns / (toNs - fromNs));
    }
    return known;
  };
  const processColours = async () => {
    const {durationNs} = await view();
    const processes = (await session.api(`aggregate?from=0&to=${durationNs}`)).processes.map((item) => item.process);
    return {processes, colours: await session.ask(`__pv.colours(${JSON.stringify(processes)})`)};
  };

  await claims.claim('fitted: the colours of CPU 0 have each process\'s share', async () => {
    const row = await rowOf('cpu', 'cpu0');
    const {durationNs} = await view();
    const {processes, colours} = await processColours();
    const known = await trueShares(0, durationNs);
    const drawn = await page.evaluate(([top, height]) => {
      const canvas = document.querySelector('.area canvas');
      // A copy, as above.
      const copy = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height});
      const context = copy.getContext('2d', {willReadFrequently: true});
      context.drawImage(canvas, 0, 0);
      const {data} = context.getImageData(0, top, canvas.width, height);
      const sums = [0, 0, 0];
      for (let i = 0; i < data.length; ++i) if (i % 4 < 3) sums[i % 4] += data[i];
      return sums.map((sum) => sum / (data.length / 4));
    }, [row.y, row.height]);
    for (const channel of [0, 1, 2]) {
      let expected = 0;
      let all = 0;
      for (const [index, colour] of colours.entries()) {
        const share = index < processes.length ? known.get(processes[index]) ?? 0 :
            index === processes.length ? known.get(-1) ?? 0 : 1 - all; // idle, then what is not known
        all += share;
        expected += share * colour[channel];
      }
      assert.ok(Math.abs(drawn[channel] - expected) < 2, `channel ${channel}: drawn ${drawn[channel]}, true ${expected}`);
    }
  });

  await claims.claim('where a column is a pixel, the pixels of CPU 0 have each process\'s share within 2 %', async () => {
    const {durationNs, widthPx} = await view();
    const toNs = widthPx * 2 ** Math.floor(Math.log2(durationNs / widthPx));
    await session.ask(`__pv.setWindow(0, ${toNs})`);
    await session.settled();
    const {processes, colours} = await processColours();
    const drawn = await drawnShares(await rowOf('cpu', 'cpu0'), colours);
    const known = await trueShares(0, toNs);
    for (const [index, process] of processes.entries()) {
      const expected = known.get(process) ?? 0;
      assert.ok(Math.abs(drawn[index] - expected) < 0.02, `${process}: drawn ${drawn[index]}, true ${expected}`);
    }
    await session.key('0');
  });

  await claims.claim('no answer grows beyond its bound', async () => {
    const net = await session.ask('__pv.net()');
    assert.ok(net.bytes < 3 << 20, `bytes=${net.bytes}`);
    assert.equal(net.failed, 0);
  });

  await claims.claim('zoomed in: every dispatch of CPU 0 has its exact ns, and its name', async () => {
    const known = truth.cpu0.slice(50, 70);
    await session.ask(`__pv.setWindow(${known[0][0]}, ${known.at(-1)[1]})`);
    await session.settled();
    const row = await rowOf('cpu', 'cpu0');
    const items = (await session.ask(`__pv.dump(${row.row})`)).flatMap((tile) => tile.items);
    for (const [begin, end, thread] of known) {
      assert.ok(items.some((item) => item.beginNs === begin && item.endNs === end && item.key === thread),
                `${begin}..${end} thread ${thread}`);
    }
    const wide = known.filter(([, , thread]) => thread !== 0xffffffff)
                     .sort((a, b) => (b[1] - b[0]) - (a[1] - a[0]))[0];
    const {startNs, nsPerPx} = await view();
    const tip = await session.ask(
        `__pv.describe(${((wide[0] + wide[1]) / 2 - startNs) / nsPerPx}, ${row.y + 5})`);
    const threads = (await session.api('threads')).items;
    const thread = threads.find((item) => item.thread === wide[2]);
    assert.equal(tip.title, `${thread.comm} ${thread.tid}`);
    await session.shot(shots, 'dispatches');
  });

  await claims.claim('a process has one colour on the CPU rows, in the tables and in the now panel', async () => {
    const wide = truth.cpu0.filter(([, , thread]) => thread !== 0xffffffff)
                     .sort((a, b) => (b[1] - b[0]) - (a[1] - a[0]))[0];
    await session.ask(`__pv.setWindow(${wide[0]}, ${wide[1]})`);
    await session.ask(`__pv.movePlayhead(${(wide[0] + wide[1]) / 2})`);
    await session.settled();
    const row = await rowOf('cpu', 'cpu0');
    const {widthPx} = await view();
    const drawn = await pixel(widthPx * 0.75, row.y + row.height - 3);
    const colour = `rgb(${drawn.join(', ')})`;
    const panel = await page.locator('.now .cpus li').first().locator('.swatch')
                      .evaluate((swatch) => getComputedStyle(swatch).backgroundColor);
    assert.equal(panel, colour);
    const threads = (await session.api('threads')).items;
    const name = threads.find((item) => item.thread === wide[2]).comm;
    const table = await page.locator('.data tr', {hasText: name}).first().locator('.swatch')
                      .evaluate((swatch) => getComputedStyle(swatch).backgroundColor);
    assert.equal(table, colour);
  });

  await claims.claim('a thread is drawn as what it does: runs, waits for a CPU, is blocked', async () => {
    await session.key('0');
    const {durationNs} = await view();
    const tip = async (row, item) => {
      const {startNs, nsPerPx} = await view();
      return session.ask(`__pv.describe(${((item.beginNs + item.endNs) / 2 - startNs) / nsPerPx}, ${row.y + 6})`);
    };
    const seen = new Set();
    const look = async () => {
      const {startNs, endNs} = await view();
      for (const row of (await session.ask('__pv.rows()')).filter((item) => item.kind === 'run')) {
        const thread = Number(row.lane.slice('thread'.length));
        for (const item of (await session.ask(`__pv.dump(${row.row})`)).flatMap((tile) => tile.items)) {
          const middle = Math.floor((item.beginNs + item.endNs) / 2);
          if (middle <= startNs || middle >= endNs) continue;
          const state = (await session.api(`state?t=${middle}&threads=all`)).threads
                            .find((one) => one.thread === thread)?.state;
          const title = (await tip(row, item))?.title ?? '';
          const expected = {running: /^runs on CPU/, waiting: /^waiting for a CPU/, blocked: /^blocked/,
                            'off-cpu': /not known/, unknown: /not known/}[state];
          assert.match(title, expected ?? /^nothing$/, `${state} at ${middle}`);
          seen.add(state);
          if (seen.size >= 4) break;
        }
      }
    };
    // Threads that are blocked all the time in view have no row.
    for (let from = 0.3; from < 0.4 && !['running', 'waiting', 'blocked'].every((state) => seen.has(state)); from += 0.01) {
      await session.ask(`__pv.setWindow(${durationNs * from}, ${durationNs * (from + 0.001)})`);
      await session.settled();
      await look();
    }
    for (const state of ['running', 'waiting', 'blocked']) assert.ok(seen.has(state), `${state}: ${[...seen]}`);
    await session.shot(shots, 'states');
  });

  await claims.claim('a click on a wait shows who woke the thread and who had its CPU', async () => {
    const STATE_WAITING = 0x100;
    const {durationNs} = await view();
    let found = null;
    for (let from = 0.3; !found && from < 0.5; from += 0.002) {
      await session.ask(`__pv.setWindow(${durationNs * from}, ${durationNs * (from + 0.001)})`);
      await session.settled();
      const {startNs, nsPerPx, widthPx} = await view();
      for (const row of (await session.ask('__pv.rows()')).filter((item) => item.kind === 'run')) {
        const items = (await session.ask(`__pv.dump(${row.row})`)).flatMap((tile) => tile.items);
        const wait = items.find((item) => (item.flags & STATE_WAITING) !== 0 && item.key !== 0xffffffff &&
            (item.endNs - item.beginNs) / nsPerPx > 10 &&
            (item.beginNs - startNs) / nsPerPx > 5 && (item.endNs - startNs) / nsPerPx < widthPx - 5);
        if (wait && row.y < 330) found = {row, wait, x: ((wait.beginNs + wait.endNs) / 2 - startNs) / nsPerPx};
      }
    }
    assert.ok(found, 'no wait in sight');
    const {row, wait, x} = found;
    const box = await areaBox();
    await page.mouse.click(box.x + x, box.y + row.y + 5);
    await session.settled();
    const shown = await session.ask('__pv.wait()');
    assert.equal(shown.state, 'waiting');
    assert.deepEqual([shown.begin_ns, shown.end_ns, shown.waker], [wait.beginNs, wait.endNs, wait.key]);
    const sum = shown.holders.reduce((ns, holder) => ns + holder.ns, 0);
    assert.equal(sum + shown.others_ns + shown.idle_ns + shown.outside_ns + shown.unknown_ns, wait.endNs - wait.beginNs);
    const {comm, tid} = (await session.api('threads')).items.find((item) => item.thread === wait.key);
    assert.match(await page.locator('.wait').innerText(), new RegExp(`woken by ${comm} ${tid}`));
    await session.shot(shots, 'wait');
    await page.locator('.area').focus();
    await session.key('f');
    await session.key('f');
    const fitted = await view();
    assert.ok(fitted.startNs < wait.beginNs && wait.endNs < fitted.endNs &&
              (wait.endNs - wait.beginNs) / (fitted.endNs - fitted.startNs) > 0.8);
    await session.key('Escape');
    assert.equal(await page.locator('.wait').count(), 0);
  });

  await claims.claim('F centres the clicked item, again fits it; the link has it; Esc clears', async () => {
    const wide = truth.cpu0.filter(([begin, end, thread]) => thread !== 0xffffffff && end - begin > 10000)[30];
    const length = wide[1] - wide[0];
    await session.ask(`__pv.setWindow(${wide[0] - 2 * length}, ${wide[1] + 5 * length})`);
    await session.settled();
    const row = await rowOf('cpu', 'cpu0');
    const box = await areaBox();
    const before = await view();
    const px = (at, {startNs, nsPerPx}) => (at - startNs) / nsPerPx;
    await page.mouse.click(box.x + px((wide[0] + wide[1]) / 2, before), box.y + row.y + row.height / 2);
    await session.settled();
    const {process} = (await session.api('threads')).items.find((item) => item.thread === wide[2]);
    const chosen = {kind: 'dispatch', row: row.row, from: wide[0], to: wide[1], process, thread: wide[2], hook: null};
    assert.deepEqual(await session.ask('__pv.item()'), chosen);
    // A frame around it, on the layer above the rows.
    const edge = await page.evaluate(([x, y]) => {
      const layer = document.querySelectorAll('.area canvas')[1];
      return Math.max(...layer.getContext('2d').getImageData(x - 1, y, 3, 1).data.filter((_, i) => i % 4 === 3));
    }, [Math.round(px(wide[0], before)), Math.round(row.y + row.height / 2)]);
    assert.ok(edge > 100, `alpha ${edge} at its begin`);
    await page.waitForTimeout(400);
    const {hash} = new URL(page.url());
    assert.match(hash, new RegExp(`item=${row.row}-${wide[0]}-${wide[1]}-dispatch-${process}-${wide[2]}-(&|$)`));
    await page.mouse.move(box.x + 5, box.y - 100);
    await session.key('f');
    const centred = await view();
    assert.equal(centred.nsPerPx, before.nsPerPx);
    assert.ok(Math.abs(px((wide[0] + wide[1]) / 2, centred) - centred.widthPx / 2) <= 1);
    await session.key('f');
    const fitted = await view();
    assert.ok(fitted.startNs < wide[0] && wide[1] < fitted.endNs && length / (fitted.endNs - fitted.startNs) > 0.8);
    await session.revisit(hash);
    assert.deepEqual(await session.ask('__pv.item()'), chosen);
    await session.key('Escape');
    assert.equal(await session.ask('__pv.item()'), null);
  });

  await claims.claim('in the row of a CPU, steps visit each boundary in order, and stop at the ends of the trace', async () => {
    const {durationNs} = await view();
    const row = await rowOf('cpu', 'cpu0');
    const box = await areaBox();
    await page.mouse.click(box.x + 40, box.y + row.y + 5);
    await page.getByLabel('Steps', {exact: true}).selectOption('dispatch');
    await page.locator('.area').focus();
    await session.ask(`__pv.movePlayhead(${Math.floor(durationNs / 4)})`);
    await session.settled();
    const visited = [];
    for (let i = 0; i < 10; ++i) {
      await session.key('Period');
      visited.push((await view()).playhead);
    }
    const edges = [...new Set(truth.cpu0_all.flatMap((interval) => interval.slice(0, 2)))]
        .sort((a, b) => a - b).filter((at) => at > durationNs / 4);
    assert.deepEqual(visited, edges.slice(0, 10));
    await page.getByLabel('Steps', {exact: true}).selectOption('any');
    await page.locator('.area').focus();
    for (const [place, step] of [['End', 'Period'], ['Home', 'Comma']]) {
      await session.key(place);
      const {playhead} = await view();
      await session.key(step);
      assert.equal((await view()).playhead, playhead, place);
    }
    await session.key('Escape');
  });

  await claims.claim('segments nest: each child lies inside its parent, one row lower', async () => {
    const child = truth.segments.filter(([, depth, begin, end]) => depth === 1 && end - begin > 2000)[3];
    await session.ask(`__pv.setWindow(${child[2] - 20000}, ${child[3] + 20000})`);
    await session.settled();
    for (let i = 0; i < 60; ++i) {
      const rows = (await session.ask('__pv.rows()')).filter((row) => row.lane === `thread${child[0]}` && row.kind === 'segment');
      if (rows.length > 1) {
        const [outer, inner] = rows;
        assert.ok(inner.y > outer.y);
        const outerItems = (await session.ask(`__pv.dump(${outer.row})`)).flatMap((tile) => tile.items);
        const innerItems = (await session.ask(`__pv.dump(${inner.row})`)).flatMap((tile) => tile.items);
        assert.ok(innerItems.some((item) => item.beginNs === child[2] && item.endNs === child[3] && item.key === child[4]));
        for (const item of innerItems) {
          assert.ok(outerItems.some((parent) => parent.beginNs <= item.beginNs && item.endNs <= parent.endNs));
        }
        await session.shot(shots, 'segments');
        return;
      }
      await page.mouse.move(700, 500);
      await page.mouse.wheel(0, 60);
      await session.settled();
    }
    assert.fail('the thread never came into sight');
  });

  await claims.claim('merged calls of a flame are marked, with their number', async () => {
    const {startNs, endNs} = await view();
    await session.key('0');
    const {durationNs, widthPx} = await view();
    let marked = 0;
    for (const row of (await session.ask('__pv.rows()')).filter(({kind}) => kind === 'segment')) {
      const tiles = await session.ask(`__pv.dump(${row.row})`);
      // Stretches of merged columns: where, and how many calls begin there.
      const runs = [];
      for (const tile of tiles.filter(({kind}) => kind === 'strip')) {
        for (let i = 0; i < tile.words.length / 2; ++i) {
          const from = tile.beginNs + i * tile.columnNs;
          if (tile.words[2 * i + 1] >>> 24 & 1) {
            if (runs.at(-1)?.to === from) Object.assign(runs.at(-1), {to: from + tile.columnNs, calls: runs.at(-1).calls + (tile.words[2 * i + 1] & 0xffff)});
            else runs.push({from, to: from + tile.columnNs, calls: tile.words[2 * i + 1] & 0xffff});
          }
        }
      }
      const run = runs.sort((a, b) => b.to - b.from - (a.to - a.from))[0];
      const left = Math.ceil(run ? run.from / durationNs * widthPx : 0);
      const right = Math.floor(run ? Math.min(run.to, durationNs) / durationNs * widthPx : 0);
      if (right - left < 12) continue;
      const {foot, drawn} = await page.evaluate(([x, width, y, height]) => {
        const canvas = document.querySelector('.area canvas');
        // A copy, as above.
        const copy = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height});
        const context = copy.getContext('2d', {willReadFrequently: true});
        context.drawImage(canvas, 0, 0);
        const line = (at) => [...context.getImageData(x, at, width, 1).data].filter((_, i) => i % 4 === 0);
        return {foot: line(y + height - 1), drawn: line(y + height - 2)};
      }, [left + 1, right - left - 2, row.y, row.height]);
      // Every other two pixels of the foot are dark.
      const dots = foot.filter((red, i) => red < drawn[i] - 25).length / foot.length;
      assert.ok(dots > 0.3 && dots < 0.7, `${dots} of the foot`);
      ++marked;
      const tip = await session.ask(`__pv.describe(${(left + right) / 2}, ${row.y + 5})`);
      assert.match(tip.lines.join(' '), /calls? begins? in/);
    }
    assert.ok(marked > 0);
    await session.shot(shots, 'merged');
    await session.ask(`__pv.setWindow(${startNs}, ${endNs})`);
    await session.settled();
  });

  await claims.claim('W, S and Ctrl+wheel zoom about the pointer within a pixel; A and D pan', async () => {
    await session.key('0');
    const box = await areaBox();
    const x = 400;
    await page.mouse.move(box.x + x, box.y + 50);
    for (const action of [() => session.key('w'), () => session.key('w'), () => session.key('s'),
                          async () => {
                            await page.keyboard.down('Control');
                            await page.mouse.wheel(0, -100);
                            await page.keyboard.up('Control');
                            await session.settled();
                          }]) {
      const before = await view();
      const at = before.startNs + x * before.nsPerPx;
      await action();
      const after = await view();
      assert.notEqual(after.nsPerPx, before.nsPerPx);
      assert.ok(Math.abs((at - after.startNs) / after.nsPerPx - x) <= 1);
    }
    const before = await view();
    await session.key('d');
    const right = await view();
    assert.ok(right.startNs > before.startNs && right.nsPerPx === before.nsPerPx);
    await session.key('a');
    assert.ok(Math.abs((await view()).startNs - before.startNs) < before.nsPerPx);
  });

  await claims.claim('while it zooms and tiles are late, no frame has an empty row', async () => {
    let held = 0;
    let open;
    const hold = async () => {
      const gate = new Promise((done) => (open = done));
      await page.route(/\/api\/v1\/(i\/\w+\/)?tiles/, async (route) => {
        ++held;
        await gate;
        await route.continue().catch(() => undefined); // the page has cancelled it
      });
    };
    const release = async () => {
      open();
      await page.unrouteAll({behavior: 'wait'});
      await session.settled();
    };
    // The most pixels in the row of CPU 0, of each frame, that show nothing.
    const zoom = async (factor) => {
      const row = await rowOf('cpu', 'cpu0');
      return page.evaluate(async ([by, y, height]) => {
        const canvas = document.querySelector('.area canvas');
        const copy = Object.assign(document.createElement('canvas'), {width: canvas.width, height});
        const context = copy.getContext('2d', {willReadFrequently: true});
        const lane = __pv.colours([])[1];
        let most = 0;
        for (let frame = 0; frame < 30; ++frame) {
          __pv.zoom(canvas.width * 0.4, by);
          for (let i = 0; i < 2; ++i) await new Promise((done) => requestAnimationFrame(done));
          context.drawImage(canvas, 0, -y);
          const {data} = context.getImageData(0, 0, canvas.width, height);
          let empty = 0;
          for (let x = 0; x < canvas.width; ++x) {
            let drawn = false;
            for (let line = 0; line < height && !drawn; ++line) {
              drawn = lane.some((part, i) => Math.abs(data[4 * (line * canvas.width + x) + i] - part) > 3);
            }
            empty += drawn ? 0 : 1;
          }
          most = Math.max(most, empty);
        }
        return most;
      }, [factor, row.y, row.height]);
    };
    const saved = await view();
    await session.key('0');
    await hold();
    const inwards = await zoom(1 / 1.2);
    assert.ok(held > 0, 'no tile was late');
    await release();
    await page.waitForTimeout(400);
    await session.revisit(new URL(page.url()).hash);
    held = 0;
    await hold();
    const outwards = await zoom(1.2);
    assert.ok(held > 0, 'no tile was late');
    await release();
    const {widthPx} = await view();
    assert.ok(inwards < widthPx / 100 && outwards < widthPx / 100, `${inwards} and ${outwards} of ${widthPx} px`);
    await session.ask(`__pv.setWindow(${saved.startNs}, ${saved.endNs})`);
    await session.settled();
  });

  await claims.claim('the wheel scrolls the rows and nothing else', async () => {
    const before = await view();
    await page.mouse.wheel(0, 100);
    await session.settled();
    const after = await view();
    assert.equal(after.scrollY, before.scrollY + 100);
    assert.equal(after.startNs, before.startNs);
    await page.mouse.wheel(0, -1000);
    await session.settled();
    assert.equal((await view()).scrollY, 0);
  });

  await claims.claim('Shift+drag pans by the pointer\'s way', async () => {
    const before = await view();
    const box = await areaBox();
    await page.keyboard.down('Shift');
    await page.mouse.move(box.x + 500, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + 420, box.y + 60, {steps: 4});
    await page.mouse.up();
    await page.keyboard.up('Shift');
    await session.settled();
    const after = await view();
    assert.ok(Math.abs((after.startNs - before.startNs) / before.nsPerPx - 80) < 1);
    assert.equal(after.selection, null);
  });

  await claimSelectedItem({session, claims, shots});

  await claims.claim('a drag selects; the tables show what the server says about just that range', async () => {
    const box = await areaBox();
    await page.mouse.move(box.x + 300, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + 640, box.y + 90, {steps: 6});
    await page.mouse.up();
    await page.waitForTimeout(120);
    await session.settled();
    const {selection, startNs, nsPerPx} = await view();
    assert.ok(Math.abs((selection.from - startNs) / nsPerPx - 300) <= 1);
    assert.ok(Math.abs((selection.to - startNs) / nsPerPx - 640) <= 1);
    const range = `aggregate?from=${selection.from}&to=${selection.to}`;
    const expected = await session.api(`${range}&tables=processes`);
    assert.deepEqual(await session.ask('__pv.aggregate()'), expected);
    const rows = await page.locator('.data tbody tr').count();
    assert.ok(rows >= expected.processes.length + 1);
    const known = expected.processes.reduce((sum, row) => sum + row.on_cpu_ns, 0) + expected.idle.on_cpu_ns +
        expected.outside.on_cpu_ns + expected.unknown_ns + expected.interrupts_ns;
    assert.equal(known, expected.cpu_ns);
    const books = await page.locator('.data tfoot td:not(.limits)').allInnerTexts();
    assert.match(books[3], /^100\s%$/, books.join(' '));
    await session.shot(shots, 'selection');
    await page.locator('.tabs button', {hasText: 'Segments'}).click();
    await session.settled();
    const {segments} = await session.api(`${range}&tables=segments`);
    assert.deepEqual((await session.ask('__pv.aggregate()')).segments, segments);
    assert.equal(await page.locator('.data tbody tr').count(), segments.length);
    await page.locator('.data th button', {hasText: 'Calls'}).click();
    await session.settled();
    const calls = (await page.locator('.data tbody tr td:nth-child(3)').allInnerTexts()).map((text) => Number(text.replace(/\s/g, '')));
    assert.deepEqual(calls, segments.map((row) => row.calls).sort((a, b) => b - a));
    await session.shot(shots, 'segment-table');
    const saved = await view();
    await page.locator('.data tbody tr').first().click();
    await session.settled();
    const heaviest = segments.reduce((most, row) => row.calls > most.calls ? row : most);
    const durations = await session.api(
        `durations?process=${heaviest.process}&hook=${heaviest.hook}&from=${selection.from}&to=${selection.to}`);
    assert.equal(durations.calls, heaviest.calls);
    assert.match(await page.locator('.durations').innerText(), new RegExp(`\\b${heaviest.calls} calls begin`));
    await page.getByLabel('Show the longest call').click();
    await session.settled();
    const shown = await view();
    assert.equal(shown.playhead, durations.max.begin_ns);
    assert.ok(shown.startNs < durations.max.begin_ns && durations.max.end_ns < shown.endNs);
    await session.shot(shots, 'durations');
    await page.locator('.data tbody tr').first().click();
    await session.settled();
    assert.equal(await page.locator('.durations').count(), 0);
    await session.ask(`__pv.setWindow(${saved.startNs}, ${saved.endNs})`);
    await page.mouse.move(box.x + 50, box.y + 50);
    await page.mouse.wheel(0, -5000);
    await session.settled();
    await page.locator('.tabs button', {hasText: 'Processes'}).click();
    await session.settled();
    // Its process was highlighted.
    await page.locator('.data tbody tr.selected').click();
    await session.settled();
  });

  await claims.claim('clicking a process dims the others, clicking again restores', async () => {
    const row = page.locator('.data tbody tr', {hasText: 'redis-server'}).first();
    const image = () => page.evaluate(() => document.querySelector('.area canvas').toDataURL());
    const before = await image();
    await row.click();
    await session.settled();
    assert.notEqual(await image(), before);
    await session.shot(shots, 'highlight');
    await row.click();
    await session.settled();
    assert.equal(await image(), before);
  });

  await claims.claim('a process closes to what its threads do together, opens again, and / finds it', async () => {
    const lanes = async () => new Set((await session.ask('__pv.rows()')).map((row) => row.lane));
    const {startNs, endNs} = await view();
    await session.ask('__pv.run("fit")');
    await page.mouse.wheel(0, -5000);
    await session.settled();
    const toggle = page.locator('.toggle').first();
    const name = (await toggle.getAttribute('aria-label')).replace(/: close$/, '');
    const before = await lanes();
    await toggle.click();
    await session.settled();
    const closed = await lanes();
    assert.ok([...closed].some((lane) => lane.startsWith('process')), [...closed].join(' '));
    assert.ok(!closed.has([...before].find((lane) => lane.startsWith('thread'))));
    await session.shot(shots, 'closed');
    await page.waitForTimeout(400);
    assert.match(new URL(page.url()).hash, /close=\d+/);
    // A thread inside the closed process: it opens.
    const threads = (await session.api('threads')).items;
    const wanted = threads.find((item) => `${item.comm} ${item.pid}` === name && item.tid !== item.pid);
    await page.locator('.area').focus();
    await page.keyboard.press('/');
    await page.keyboard.type(`${wanted.tid}`);
    await page.keyboard.press('Enter');
    await session.settled();
    assert.ok((await lanes()).has(`thread${wanted.thread}`));
    await session.shot(shots, 'found');
    await page.keyboard.press('Escape');
    assert.equal(await page.evaluate(() => document.activeElement.className), 'area');
    await page.mouse.wheel(0, -5000);
    await session.ask(`__pv.setWindow(${startNs}, ${endNs})`);
    await session.settled();
  });

  await claims.claim('/ and the name of a segment goes to its calls, one after the other', async () => {
    const hooks = (await session.api('hooks')).items;
    const hook = hooks.find((item) => item.hook === truth.segments[5][4]);
    const {durationNs, ...before} = await view();
    await session.ask(`__pv.movePlayhead(${durationNs / 3})`);
    await page.locator('.area').focus();
    await page.keyboard.press('/');
    await page.keyboard.type(hook.name);
    const visited = [durationNs / 3];
    for (let i = 0; i < 3; ++i) {
      await page.keyboard.press('Enter');
      await session.settled();
      const {playhead, startNs, endNs} = await view();
      assert.ok(playhead > visited.at(-1) && startNs <= playhead && playhead <= endNs);
      const {threads} = await session.api(`state?t=${playhead}`);
      assert.ok(threads.some(({open}) => open.some((call) => call.hook === hook.hook && call.begin_ns === playhead)));
      visited.push(playhead);
    }
    await page.keyboard.press('Shift+Enter');
    await session.settled();
    assert.equal((await view()).playhead, visited[2]);
    assert.match(await page.locator('.find').innerText(), /calls/);
    await page.keyboard.press('Escape');
    await session.ask(`__pv.setWindow(${before.startNs}, ${before.endNs})`);
    await session.settled();
  });

  await claims.claim('hits of / are ticks on the minimap: where a hook was hit, when a thread ran', async () => {
    const {durationNs, startNs, endNs} = await view();
    const find = async (text) => {
      await page.locator('.area').focus();
      await page.keyboard.press('/');
      await page.keyboard.type(text);
      await page.keyboard.press('Enter');
      await session.settled();
      await session.until('__pv.places()?.chosen.includes(1)');
      return session.ask('__pv.places()');
    };
    const column = (t) => Math.floor(t / durationNs * 1024);
    const minimap = (x) => page.evaluate((at) => {
      const canvas = document.querySelector('canvas.minimap');
      // A copy, as above.
      const copy = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height});
      const context = copy.getContext('2d', {willReadFrequently: true});
      context.drawImage(canvas, 0, 0);
      return [...context.getImageData(at, canvas.height - 4, 1, 1).data];
    }, x);
    const hook = (await session.api('hooks')).items.find((item) => item.hook === truth.segments[5][4]);
    const {items} = await session.api(`hits?hook=${hook.hook}&from=0&to=${durationNs + 1}&columns=1024`);
    const {all} = await find(hook.name);
    for (const {t} of items) assert.equal(all[column(t)], 1, `hit at ${t}`);
    const threads = (await session.api('threads')).items;
    const [, , thread] = truth.cpu0.find(([, , owner]) => owner !== 0xffffffff);
    const {chosen} = await find(`${threads.find((item) => item.thread === thread).tid}`);
    for (const [begin, end, owner] of truth.cpu0_all) {
      if (owner !== thread || end - begin < 2) continue;
      assert.equal(chosen[column((begin + end) / 2)], 1, `ran at ${begin}`);
    }
    const width = await page.evaluate(() => document.querySelector('canvas.minimap').clientWidth);
    const on = chosen.findIndex((here, i) => i > 600 && here && chosen[i + 1]); // not at the playhead
    const drawn = await minimap(Math.floor((on + 0.8) / 1024 * width));
    const off = chosen.findIndex((here, i) => !here && !all[i] && i > 0 && !chosen[i - 1] && !chosen[i + 1]);
    if (off >= 0) assert.notDeepEqual(await minimap(Math.floor((off + 0.5) / 1024 * width)), drawn);
    await session.shot(shots, 'places');
    await page.keyboard.press('Control+a');
    await page.keyboard.press('Backspace');
    await session.until('__pv.places() === null');
    await session.settled();  // it is drawn with the next frame
    assert.notDeepEqual(await minimap(Math.floor((on + 0.8) / 1024 * width)), drawn);
    await page.keyboard.press('Escape');
    await page.mouse.wheel(0, -5000);
    await session.ask(`__pv.setWindow(${startNs}, ${endNs})`);
    await session.settled();
  });

  await claims.claim('Back undoes a jump', async () => {
    const place = async () => {
      const {startNs, endNs} = await view();
      return [startNs, endNs].map(Math.round);
    };
    const {durationNs, startNs, endNs} = await view();
    await session.ask(`__pv.setWindow(${durationNs * 0.2}, ${durationNs * 0.21})`);
    await session.settled();
    const before = await place();
    await session.key('0');
    assert.notDeepEqual(await place(), before);
    await page.waitForTimeout(400);
    await page.goBack();
    await session.settled();
    assert.ok((await place()).every((ns, i) => Math.abs(ns - before[i]) <= 2), `${await place()} ${before}`);
    await session.ask(`__pv.setWindow(${startNs}, ${endNs})`);
    await session.settled();
  });

  await claims.claim('P pins the process under the pointer, H hides it, both are in the link', async () => {
    const {startNs, endNs} = await view();
    const size = page.viewportSize();
    await page.setViewportSize({...size, height: size.height + 200});
    await session.ask('__pv.run("fit")');
    const box = await areaBox();
    await page.mouse.move(box.x + 50, box.y + 50);
    await page.mouse.wheel(0, -5000);
    await session.settled();
    const order = async () => (await page.locator('.label.process .name').allInnerTexts());
    const before = await order();
    assert.ok(before.length > 1, before.join());
    const row = (await session.ask('__pv.rows()'))
        .filter((item) => item.lane.startsWith('thread') && item.y < box.height - 10).at(-1);
    await page.mouse.move(box.x + 50, box.y + row.y + 3);
    const thread = (await session.api('threads')).items.find((item) => `thread${item.thread}` === row.lane);
    await session.key('p');
    await page.waitForTimeout(400);
    assert.match(new URL(page.url()).hash, new RegExp(`pin=${thread.process}(&|$)`));
    assert.ok((await order())[0].endsWith(` ${thread.pid}`), (await order()).join());
    await page.mouse.move(0, 0);
    await page.locator('.label.process').first().hover();
    await page.locator('.label.process .lane-tools button').nth(1).click();
    await page.waitForTimeout(400);
    assert.match(new URL(page.url()).hash, new RegExp(`hide=${thread.process}(&|$)`));
    assert.ok(!(await order()).some((name) => name.endsWith(` ${thread.pid}`)));
    await page.mouse.move(box.x + 50, box.y + 50);
    await page.mouse.wheel(0, 50000);
    await page.locator('.unfold').click();
    await session.settled();
    await page.waitForTimeout(400);
    assert.ok(!new URL(page.url()).hash.includes('hide='));
    await page.mouse.wheel(0, -50000);
    await page.setViewportSize(size);
    await session.ask(`__pv.setWindow(${startNs}, ${endNs})`);
    await session.settled();
  });

  await claims.claim('processes that do nothing in the visible time fold into one row, when a zoom rests', async () => {
    const {startNs, endNs} = await view();
    await session.revisit('');
    const [begin, end] = truth.cpu0.find((item) => item[2] !== 0xffffffff);
    await session.ask(`__pv.setWindow(${begin}, ${end})`);
    await session.settled();
    const rows = await session.api(`rows?from=${begin}&to=${end}`);
    assert.ok(rows.active > 0 && rows.active < rows.total, JSON.stringify(rows));
    const box = await areaBox();
    await page.mouse.move(box.x + 50, box.y + 50);
    await page.mouse.wheel(0, 50000);
    await session.settled();
    assert.equal(await page.locator('.label.fold .name').last().innerText(), `${rows.total - rows.active} more`);
    await page.locator('.unfold').last().click();
    await session.settled();
    assert.equal(await page.locator('.unfold', {hasText: 'more'}).count(), 0);
    await page.waitForTimeout(400);
    assert.match(new URL(page.url()).hash, /all=1/);
    await session.revisit('');
    await session.ask(`__pv.setWindow(${startNs}, ${endNs})`);
    await session.settled();
  });

  await claims.claim('up and down go from row to row, Enter opens, Alt moves a process; the link has it', async () => {
    const {startNs, endNs} = await view();
    await session.revisit('');
    await page.locator('.area').focus();
    const focused = () => page.locator('.label[aria-current]').getAttribute('class');
    const spoken = () => page.locator('.offscreen[role=status]').innerText();
    await session.key('ArrowDown');
    assert.match(await focused(), /heading/);
    const seen = new Set();
    for (let i = 0; i < 60 && !/process/.test(await focused()); ++i) {
      await session.key('ArrowDown');
      seen.add(await spoken());
    }
    assert.ok(seen.size > 3, [...seen].join('; '));
    assert.match(await spoken(), /, open$/);
    // The ring is where the row is, and in sight.
    const ring = await page.locator('.focus-ring').boundingBox();
    const label = await page.locator('.label[aria-current]').boundingBox();
    assert.equal(ring.y, label.y);
    const area = await areaBox();
    assert.ok(ring.y >= area.y && ring.y + ring.height <= area.y + area.height);
    await session.shot(shots, 'focus');
    const row = await spoken();
    await session.key('Alt+End');
    const last = await spoken();
    assert.notEqual(last, row);
    const bottom = await page.locator('.label[aria-current]').boundingBox();
    assert.ok(bottom.y >= area.y && bottom.y + bottom.height <= area.y + area.height + 1);
    await session.key('ArrowDown');
    assert.equal(await spoken(), last);
    await session.key('Alt+Home');
    assert.match(await focused(), /heading/);
    for (let i = 0; i < 60 && await spoken() !== row; ++i) await session.key('ArrowDown');
    assert.equal(await spoken(), row);
    const process = await page.locator('.label[aria-current] .name').innerText();
    await session.key('Enter');
    assert.match(await spoken(), /closed$/);
    assert.equal(await page.locator('.label[aria-current] .toggle').getAttribute('aria-expanded'), 'false');
    // The next process, closed too: both are in sight.
    await session.key('ArrowDown');
    await session.key('Enter');
    await session.key('ArrowUp');
    assert.equal(await page.locator('.label[aria-current] .name').innerText(), process);
    const order = async () => page.locator('.label.process .name').allInnerTexts();
    const [first, second] = await order();
    await session.key('Alt+ArrowDown');
    assert.deepEqual((await order()).slice(0, 2), [second, first]);
    // Drag it back above the other.
    const from = await page.locator('.label.process .name').nth(1).boundingBox();
    const to = await page.locator('.label.process .name').nth(0).boundingBox();
    await page.mouse.move(from.x + 5, from.y + 8);
    await page.mouse.down();
    await page.mouse.move(from.x + 5, to.y + 2, {steps: 6});
    assert.equal(await page.locator('.drop').count(), 1);
    await page.mouse.up();
    await session.settled();
    assert.deepEqual((await order()).slice(0, 2), [first, second]);
    await page.waitForTimeout(400);
    const {hash} = new URL(page.url());
    assert.match(hash, /pin=\d+/);
    assert.match(hash, /close=\d+/);
    assert.match(hash, /row=process\d+/);
    await session.revisit(hash);
    assert.deepEqual((await order()).slice(0, 2), [first, second]);
    assert.match(await focused(), /process/);
    await session.revisit('');
    await session.ask(`__pv.setWindow(${startNs}, ${endNs})`);
    await session.settled();
  });

  await claims.claim(': shows the rows for which a condition holds; what is none is refused with its place', async () => {
    const {startNs, endNs} = await view();
    await session.revisit('');
    const shown = async () => (await page.locator('.label .toggle').evaluateAll((all) => all.map((one) => one.getAttribute('aria-label').replace(/: (open|close)$/, '')))).sort();
    const all = await shown();
    const {durationNs} = await view();
    const {processes} = await session.api(`aggregate?from=0&to=${durationNs}&tables=processes`);
    const names = new Map((await session.api('processes')).items.map((item) => [item.process, `${item.comm} ${item.pid}`]));
    const limit = processes[1].on_cpu_ns;
    await page.locator('.area').focus();
    await page.keyboard.press(':');
    await page.keyboard.type(`on_cpu_ns >= ${limit} && pid > 0`);
    await page.keyboard.press('Enter');
    await session.settled();
    const expected = processes.filter((row) => row.on_cpu_ns >= limit).map((row) => names.get(row.process)).sort();
    assert.deepEqual(await shown(), expected);
    assert.ok(expected.length < names.size);
    await session.shot(shots, 'filter');
    await page.waitForTimeout(400);
    const {hash} = new URL(page.url());
    assert.match(hash, /where=on_cpu_ns/);
    // As the command prints it; the rows stay.
    await page.locator('.find input').fill(':pid > 0 && colour == 3');
    await page.keyboard.press('Enter');
    await page.locator('.refused').waitFor();
    await session.settled();
    assert.match(await page.locator('.refused').innerText(), /^--where:1:12: unknown field `colour`.*\n {2}pid > 0 && colour == 3\n {13}\^/);
    assert.deepEqual(await shown(), expected);
    await session.shot(shots, 'refused');
    // Chromium itself reports each answer that is an error.
    session.problems = session.problems.filter((problem) => !/status of 400/.test(problem));
    await page.locator('.unfilter').click();
    await session.settled();
    assert.deepEqual(await shown(), all);
    await session.revisit(hash);
    assert.deepEqual(await shown(), expected);
    // A command by its name.
    await page.locator('.area').focus();
    await page.keyboard.press('/');
    await page.keyboard.type('>whole trace');
    await page.keyboard.press('Enter');
    assert.equal((await view()).startNs, 0);
    await session.revisit('');
    await session.ask(`__pv.setWindow(${startNs}, ${endNs})`);
    await session.settled();
  });

  await claims.claim('the link shows the same place in a fresh page', async () => {
    const safe = page.getByRole('button', {name: 'Safe'});
    await safe.click();
    await page.waitForURL(/[#&]safe=1/);
    const before = await view();
    await page.evaluate(() => localStorage.removeItem('countrace-palette'));
    await session.revisit(new URL(page.url()).hash);
    const after = await view();
    assert.equal(await safe.getAttribute('aria-pressed'), 'true');
    await safe.click();
    for (const name of ['startNs', 'nsPerPx', 'playhead', 'scrollY']) {
      assert.ok(Math.abs(after[name] - before[name]) <= Math.max(1, before.nsPerPx), name);
    }
    assert.deepEqual(after.selection, before.selection);
    await session.key('Escape');
    assert.equal((await view()).selection, null);
  });

  await claims.claim('the brush of the minimap moves the window, a click recentres it', async () => {
    const box = await page.locator('canvas.minimap').boundingBox();
    const before = await view();
    const px = (at) => box.x + at / before.durationNs * box.width;
    const middle = px((before.startNs + before.endNs) / 2);
    await page.mouse.move(middle, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(middle + 60, box.y + 20, {steps: 4});
    await page.mouse.up();
    await session.settled();
    const after = await view();
    assert.ok(Math.abs((after.startNs - before.startNs) / before.durationNs * box.width - 60) <= 1);
    await page.mouse.click(box.x + box.width * 0.5, box.y + 20);
    await session.settled();
    const jumped = await view();
    const centre = (jumped.startNs + jumped.endNs) / 2 / jumped.durationNs;
    const inside = after.startNs < after.durationNs / 2 && after.endNs > after.durationNs / 2;
    assert.ok(inside || Math.abs(centre - 0.5) * box.width <= 1, `centre=${centre}`);
  });

  await claims.claim('Space plays: a second moves the playhead by a tenth of the window; Space stops', async () => {
    await session.key('0');
    await session.key('Home');
    await page.locator('.area').focus();
    await session.key('Space');
    const before = await view();
    assert.equal(before.playing, true);
    await session.ask('__pv.tick(1000)');
    const after = await view();
    const rate = before.nsPerPx * before.widthPx / 10;
    assert.ok(Math.abs(after.playhead - before.playhead - rate) <= before.nsPerPx);
    await session.key('Space');
    assert.equal((await view()).playing, false);
    await session.ask('__pv.tick(1000)');
    assert.equal((await view()).playhead, after.playhead);
    await session.shot(shots, 'playing');
  });

  await claims.claim('what begins under the playhead flashes, a wakeup sparks; not with reduced motion', async () => {
    const {durationNs} = await view();
    const STATE_WAITING = 0x100;
    let found = null;
    for (let from = 0.3; !found && from < 0.6; from += 0.002) {
      await session.ask(`__pv.setWindow(${durationNs * from}, ${durationNs * (from + 0.001)})`);
      await session.settled();
      const {startNs, endNs} = await view();
      const box = await areaBox();
      const run = (await session.ask('__pv.rows()')).filter((item) => item.kind === 'run' && item.y + item.height < box.height);
      for (const row of run) {
        const items = (await session.ask(`__pv.dump(${row.row})`)).flatMap((tile) => tile.items);
        const wait = items.find((item) => (item.flags & STATE_WAITING) !== 0 && item.key !== 0xffffffff &&
            item.beginNs > startNs + (endNs - startNs) / 10 && item.beginNs < endNs - (endNs - startNs) / 10);
        const waker = wait && run.find((item) => item.lane === `thread${wait.key}`);
        if (wait && waker) found = {wait, row, waker};
      }
    }
    assert.ok(found, 'no wake-up between threads in sight');
    const {wait, row, waker} = found;
    await session.ask(`__pv.movePlayhead(${wait.beginNs})`);
    await page.keyboard.press('l');
    const unfolding = await session.ask('__pv.unfolding()');
    const spark = unfolding.sparks.find((item) => item.age === 0 && item.fromY === waker.y + waker.height / 2);
    assert.ok(spark && spark.toY === row.y + row.height / 2, JSON.stringify(unfolding.sparks));
    await session.ask('__pv.tick(100)');
    const later = await session.ask('__pv.unfolding()');
    assert.ok(later.sparks.some((item) => Math.abs(item.age - 0.4) < 0.01 && item.x === spark.x), JSON.stringify(later.sparks));
    await page.keyboard.press('k');
    assert.deepEqual(await session.ask('__pv.unfolding()'), {flashes: [], sparks: []});
    // A dispatch that begins.
    const [begin] = truth.cpu0.find(([from, , thread]) => thread !== 0xffffffff && from > durationNs / 50);
    await session.ask(`__pv.setWindow(${begin - 20000}, ${begin + 20000})`);
    await session.ask(`__pv.movePlayhead(${begin})`);
    await session.settled();
    await page.keyboard.press('l');
    const cpu = await rowOf('cpu', 'cpu0');
    const {startNs, nsPerPx} = await view();
    const flash = (await session.ask('__pv.unfolding()')).flashes.find((item) => item.y === cpu.y && item.age === 0);
    assert.ok(Math.abs(flash.x - (begin - startNs) / nsPerPx) < 0.01);
    await session.shot(shots, 'flash');
    await page.emulateMedia({reducedMotion: 'reduce'});
    for (let i = 0; i < 100 && (await session.ask('__pv.unfolding()')).flashes.length > 0; ++i) await page.waitForTimeout(20);
    assert.deepEqual(await session.ask('__pv.unfolding()'), {flashes: [], sparks: []});
    await page.emulateMedia({reducedMotion: null});
    await page.keyboard.press('k');
    await session.settled();
  });

  await claims.claim('Shift+P saves what is on screen as PNG', async () => {
    await session.key('0');
    await session.ask('__pv.movePlayhead(0)');
    await session.settled();
    const same = await page.evaluate(() => {
      const base = document.querySelector('.area canvas');
      const picture = __pv.picture();
      const copy = (canvas) => {
        const made = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height});
        made.getContext('2d', {willReadFrequently: true}).drawImage(canvas, 0, 0);
        return made;
      };
      const part = (canvas, x, y) => canvas.getContext('2d').getImageData(x, y, base.width - 100, base.height).data;
      // Copies: chromium warns of canvases that are read again and again.
      const from = part(copy(base), 100, 0);
      const to = part(copy(picture), picture.width - base.width + 100, picture.height - base.height);
      let equal = 0, drawn = 0;
      for (let i = 0; i < from.length; i += 4) {
        if (from[i + 3] === 0) continue;
        ++drawn;
        if ([0, 1, 2].every((part) => Math.abs(from[i + part] - to[i + part]) <= 1)) ++equal;
      }
      return {equal, drawn, pixels: from.length / 4};
    });
    await session.shot(shots, 'picture');
    assert.ok(same.drawn > same.pixels / 10 && same.equal > 0.98 * same.drawn, JSON.stringify(same));
    await page.locator('.area').focus();
    const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Shift+P')]);
    assert.match(download.suggestedFilename(), /\.png$/);
    const bytes = readFileSync(await download.path());
    assert.equal(bytes.subarray(1, 4).toString(), 'PNG');
    assert.equal(bytes.readUInt32BE(16), (await view()).widthPx + 200);
  });

  await claims.claim('Shift+V saves it as SVG: a group for each row, the same colours', async () => {
    const {durationNs} = await view();
    const wide = truth.cpu0.filter(([begin, end, thread]) => thread !== 0xffffffff && end - begin > 10000)[30];
    const other = await session.context.newPage(); // no policy of the page limits it
    for (const [place, from, to] of [['all', 0, durationNs], ['items', wide[0] - 100000, wide[1] + 100000]]) {
      await session.ask(`__pv.setWindow(${from}, ${to})`);
      await session.ask(`__pv.movePlayhead(${from + (to - from) / 3})`);
      await session.settled();
      const drawing = await session.ask('__pv.drawing()');
      const titles = await page.evaluate((text) => {
        const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
        return parsed.querySelector('parsererror')?.textContent ?? [...parsed.querySelectorAll('g.row > title')].map((title) => title.textContent);
      }, drawing);
      const lanes = await page.locator('.labels .label').count();
      assert.ok(Array.isArray(titles), `${titles}`);
      assert.equal(titles.length, lanes);
      assert.ok(titles.includes('CPU 0') && titles.some((title) => title.startsWith('redis-server')), `${titles}`);
      // Points of the rows without letters: a line above their feet, below title and ruler.
      const area = (await areaBox()).height;
      const rows = (await session.ask('__pv.rows()')).filter(({y, height}) => y > 0 && height > 3 && y + height < area);
      const points = Array.from({length: 20}, (_, i) => {
        const {y, height} = rows[i % rows.length];
        return [200 + 40 * i + 7, Math.round(y + height) - 2 + 52];
      });
      const png = await session.ask('__pv.picture().toDataURL()');
      const compared = await other.evaluate(async ([svg, picture, points]) => {
        const load = async (address) => {
          const image = Object.assign(new Image(), {src: address});
          await image.decode();
          const canvas = Object.assign(document.createElement('canvas'), {width: image.naturalWidth, height: image.naturalHeight});
          const context = canvas.getContext('2d', {willReadFrequently: true});
          context.drawImage(image, 0, 0);
          return {width: canvas.width, height: canvas.height, data: context.getImageData(0, 0, canvas.width, canvas.height).data};
        };
        const a = await load(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`);
        const b = await load(picture);
        const apart = (at) => Math.max(...[0, 1, 2].map((part) => Math.abs(a.data[4 * at + part] - b.data[4 * at + part])));
        let near = 0;
        for (let i = 0; i < a.width * a.height; ++i) near += apart(i) <= 8 ? 1 : 0;
        return {
          sizes: [a.width, a.height, b.width, b.height],
          near: near / (a.width * a.height),
          probes: points.map(([x, y]) => apart(y * b.width + x)),
        };
      }, [drawing, png, points]);
      const [width, height, pngWidth, pngHeight] = compared.sizes;
      assert.deepEqual([width, height], [pngWidth, pngHeight]);
      assert.ok(compared.near > 0.98, `${place}: ${compared.near} of the pixels`);
      assert.ok(Math.max(...compared.probes) <= 8, `${place}: ${compared.probes} at ${JSON.stringify(points)}`);
    }
    await other.close();
    await session.key('0');
    await page.locator('.area').focus();
    const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Shift+V')]);
    assert.match(download.suggestedFilename(), /\.svg$/);
    assert.match(readFileSync(await download.path(), 'utf8'), /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" width="\d+"/);
  });

  await claims.claim('with the real clock the playhead runs and the page keeps up', async () => {
    await page.locator('.area').focus();
    await session.ask('__pv.realClock()');
    const before = await view();
    await page.keyboard.press('Space');
    // A busy machine draws few frames a second, and answers after some of them.
    const frames = async () => (await session.ask('__pv.frames()')).frames;
    const first = await frames();
    for (let i = 0; i < 200 && (await frames() <= first + 5 || (await view()).playhead === before.playhead); ++i) {
      await page.waitForTimeout(100);
    }
    await page.keyboard.press('Space');
    await session.settled();
    const after = await view();
    assert.ok(after.playhead > before.playhead);
    assert.ok(await frames() > first + 5);
  });

  await claims.claim('while it plays, forwards and backwards, all that is shown is of the playhead\'s instant', async () => {
    const shown = [];
    const {durationNs} = await view();
    await session.ask(`__pv.movePlayhead(${Math.floor(durationNs / 2)})`);
    await session.settled();
    for (const [keys, way] of [['l', 1], ['l', 1], ['j', -1], ['Minus', -1], ['j', -1]]) {
      await page.keyboard.press(keys);
      const seen = await page.evaluate(async () => {
        const samples = [], instants = new Set();
        // A busy machine shows few frames a second.
        for (let i = 0; i < 400 && instants.size < 8; ++i) {
          await new Promise((done) => setTimeout(done, 60));
          samples.push({playhead: __pv.view().playhead, state: __pv.state(), soFar: __pv.soFar(), recent: __pv.recent(), window: __pv.window()});
          instants.add(__pv.view().playhead);
        }
        return samples;
      });
      // The first may be from before the key.
      for (let i = 2; i < seen.length; ++i) {
        assert.ok((seen[i].playhead - seen[i - 1].playhead) * way >= 0, keys);
      }
      assert.ok(seen.at(-1).playhead !== seen[1].playhead, `${keys}: the playhead moves`);
      // Where it stopped at an end, the page shows the nearest instant.
      shown.push(...seen.filter(({playhead}) => playhead > 0 && playhead < durationNs - 1));
    }
    await session.shot(shots, 'replay');
    await page.keyboard.press('k');
    await session.settled();
    assert.equal((await view()).playing, false);
    const begins = [];
    for (const {playhead, state, soFar, recent} of shown) {
      assert.equal(state.t, playhead);
      assert.ok(soFar.to === playhead || soFar.from === playhead);
      assert.equal(recent.to, playhead);
      begins.push(soFar.to === playhead ? soFar.from : soFar.to);
    }
    // The sums begin where a run did.
    assert.equal(new Set(begins).size, 2, begins.join());
    for (let i = 0; i < shown.length; i += 3) {
      const {playhead, state, soFar, recent, window} = shown[i];
      assert.deepEqual(state, await session.api(`state?t=${playhead}&top=12&window=${window}`));
      assert.deepEqual(soFar, await session.api(`aggregate?from=${soFar.from}&to=${soFar.to}&tables=processes&top=8`));
      assert.deepEqual(recent, await session.api(
          `aggregate?from=${Math.max(playhead - window, 0)}&to=${playhead}&tables=processes&top=40`));
    }
  });

  await claims.claim('a run to the end and back shows again what it showed', async () => {
    await session.key('Home');
    const shown = () => session.ask('({state: __pv.state(), soFar: __pv.soFar(), recent: __pv.recent()})');
    const before = await shown();
    await session.ask('__pv.setSpeed(10)');
    const played = async (key) => {
      await page.keyboard.press(key);
      for (let i = 0; (await view()).playing; ++i) {
        assert.ok(i < 600, 'it plays for ever');
        await page.waitForTimeout(50);
      }
      await session.settled();
    };
    await played('l');
    assert.equal((await view()).playhead, (await view()).durationNs);
    await played('j');
    assert.equal((await view()).playhead, 0);
    // By hand: the sums are of the time before it again.
    await session.key('Home');
    assert.deepEqual(await shown(), before);
    await session.ask('__pv.setSpeed(1)');
  });

  await claims.claim('while it plays nothing in the now panel moves; threads that run are lit', async () => {
    await session.key('Home');
    await page.keyboard.press('l');
    const seen = await page.evaluate(async () => {
      const boxes = () => [...document.querySelectorAll('.now h3, .now .cpus li, .now .tree li, .now .stacks > li, .now .counters tr, .now .bars li')]
          .map((box) => Math.round(box.getBoundingClientRect().y)).join();
      const lit = new Set(), places = new Set();
      const instants = new Set();
      for (let i = 0; i < 400 && (instants.size < 90 || lit.size === 0); ++i) {
        await new Promise((done) => setTimeout(done, 50));
        if (!document.querySelector('.stacks.playing')) continue;
        places.add(boxes());
        for (const label of document.querySelectorAll('.label.lit .name')) lit.add(label.title);
        instants.add(__pv.view().playhead);
      }
      return {places: [...places], lit: [...lit]};
    });
    await session.shot(shots, 'playing-frames');
    await page.keyboard.press('k');
    await session.settled();
    assert.equal(seen.places.length, 1, seen.places.join(' | '));
    assert.ok(seen.lit.length > 0);
    assert.equal(await page.locator('.label.lit').count(), 0);
  });

  // Those that run first; not those of which it is not known what they do.
  const ranks = ['running', 'waiting', 'blocked', 'off-cpu', 'ended'];
  const listed = (threads) => threads.filter(({state}) => state !== 'unknown')
      .sort((a, b) => ranks.indexOf(a.state) - ranks.indexOf(b.state));
  await claims.claim('the now panel is the server\'s state at the playhead', async () => {
    const {playhead, durationNs} = await view();
    // At the end, where the replay may be, nothing is on record.
    const state = await session.api(`state?t=${Math.min(Math.floor(playhead), durationNs - 1)}&top=12&window=${await session.ask('__pv.window()')}`);
    assert.deepEqual(await session.ask('__pv.state()'), state);
    const at = Math.floor(playhead);
    const running = truth.cpu0.find(([begin, end]) => begin <= at && at < end);
    if (running) assert.equal(state.cpus[0].thread, running[2] === 0xffffffff ? null : running[2]);
    const expected = await session.api(`aggregate?from=0&to=${at}&tables=processes&top=8`);
    assert.deepEqual(await session.ask('__pv.soFar()'), expected);
    const shown = await page.locator('.now .stacks > li').count();
    assert.equal(shown, Math.min(listed(state.threads).length, 12));
  });

  await claims.claim('the now panel says what each thread does, and what it does not run for', async () => {
    const {durationNs} = await view();
    const words = {running: /^CPU \d/, waiting: /^waits for a CPU/, blocked: /^blocked/, 'off-cpu': /^off CPU/};
    const seen = new Set();
    for (let i = 1; i < 12 && seen.size < 4; ++i) {
      await session.ask(`__pv.movePlayhead(${Math.floor(durationNs * i / 12)})`);
      await session.settled();
      const {threads, threads_unknown: hidden} = await session.ask('__pv.state()');
      const shown = await page.locator('.now .stacks .doing').allInnerTexts();
      for (const [k, thread] of listed(threads).slice(0, 12).entries()) {
        assert.match(shown[k], words[thread.state] ?? /ended/);
        seen.add(thread.state);
      }
      if (hidden > 0) assert.match(await page.locator('.now').innerText(), new RegExp(`${hidden} threads in segments`));
    }
    for (const state of ['running', 'waiting', 'blocked']) assert.ok(seen.has(state), state);
  });

  await claims.claim('the now panel is not empty at the begin and at the end', async () => {
    for (const [name, place] of [['Home', 'begin'], ['End', 'end']]) {
      await session.key(name);
      const text = await page.locator('.now').innerText();
      assert.match(text, /CPU [01]\s+\S+\s\S+\s+(redis|request|kworker|idle)/, `${place}: ${text}`);
      assert.doesNotMatch(text.split('\n')[1], /~/);
    }
    const {playhead, durationNs} = await view();
    assert.equal(playhead, durationNs);
    const soFar = await session.ask('__pv.soFar()');
    assert.deepEqual(soFar, await session.api(`aggregate?from=0&to=${durationNs}&tables=processes&top=8`));
    assert.equal((await session.ask('__pv.state()')).t, durationNs - 1);
  });

  await claims.claim('a process has one share of one thing: at the end table and now panel agree', async () => {
    await session.key('Escape');
    await page.waitForTimeout(120);
    await session.settled();
    const bar = page.locator('.now .bars li', {hasText: 'redis-server'});
    const table = page.locator('.data tbody tr', {hasText: 'redis-server'});
    assert.equal(await bar.locator('.share').innerText(), await table.locator('td:not(.limits)').nth(3).innerText());
    await session.ask(`__pv.movePlayhead(${Math.floor((await view()).durationNs / 3)})`);
    await session.settled();
  });

  await claims.claim('stepping lands on true boundaries, and back to where it began', async () => {
    const seen = [];
    await session.key('Period');
    const start = (await view()).playhead;
    for (let i = 0; i < 6; ++i) {
      await session.key('Period');
      seen.push((await view()).playhead);
    }
    assert.deepEqual(seen, [...seen].sort((a, b) => a - b));
    assert.equal(new Set(seen).size, 6);
    for (let i = 0; i < 6; ++i) await session.key('Comma');
    assert.equal((await view()).playhead, start);
    const saved = await view();
    for (const kind of ['segment', 'hook', 'dispatch', 'interrupt', 'loss']) {
      await page.getByLabel('Steps', {exact: true}).selectOption(kind);
      await session.ask(`__pv.movePlayhead(${start})`);
      await page.locator('.area').focus();
      await session.key('Shift+Period');
      const step = await session.api(`step?t=${start}&dir=next&kind=${kind}`);
      assert.equal((await view()).playhead, step.t ?? start, kind);
      const said = await page.locator('.offscreen[role=status]').innerText();
      assert.match(said, step.found ? / at \d/ : new RegExp(`No later ${kind}`));
    }
    await page.getByLabel('Steps', {exact: true}).selectOption('any');
    await session.ask(`__pv.setWindow(${saved.startNs}, ${saved.endNs})`);
    await session.settled();
  });

  await claims.claim('steps stay in the focused row; with Shift they are the machine\'s', async () => {
    await page.mouse.wheel(0, -5000);
    await session.settled();
    const box = await areaBox();
    const row = (await session.ask('__pv.rows()')).find((item) => item.kind === 'run' && item.y < box.height - 10);
    const thread = Number(row.lane.slice('thread'.length));
    await page.mouse.click(box.x + 40, box.y + row.y + 5);
    await session.settled();
    assert.equal(await page.locator('.label.focused').count(), 1);
    for (const [key, dir, limit] of [['Period', 'next', `&thread=${thread}`], ['Comma', 'previous', `&thread=${thread}`],
                                     ['Shift+Period', 'next', ''], ['Shift+Comma', 'previous', '']]) {
      const {playhead} = await view();
      const step = await session.api(`step?t=${Math.floor(playhead)}&dir=${dir}&kind=any${limit}`);
      await session.key(key);
      assert.equal((await view()).playhead, step.t, key);
    }
    await page.waitForTimeout(400);
    assert.match(new URL(page.url()).hash, new RegExp(`row=thread${thread}`));
    // A heading limits nothing.
    await page.mouse.click(box.x + 40, box.y + 3);
    await session.settled();
  });

  await claims.claim('from step to step it shows the boundaries one after the other', async () => {
    await session.key('0');
    await session.ask(`__pv.movePlayhead(${Math.floor((await view()).durationNs / 3)})`);
    await session.key('e');
    const {playhead: begin} = await view();
    const expected = [begin, ...(await session.api(`step?t=${begin}&dir=next&kind=any&count=120`)).times];
    await page.keyboard.press('l');
    const seen = await page.evaluate(async () => {
      const instants = new Set();
      for (let i = 0; i < 400 && instants.size < 6; ++i) {
        await new Promise((done) => setTimeout(done, 20));
        instants.add(__pv.view().playhead);
      }
      return [...instants];
    });
    await page.keyboard.press('k');
    await session.settled();
    assert.match(await page.locator('.offscreen[role=status]').innerText(), /^Paused at/);
    assert.ok(seen.length >= 6);
    for (const at of seen) assert.ok(expected.includes(at), `${at} of ${expected}`);
    await session.key('e');
  });

  await claims.claim('loss is named with its count', async () => {
    const text = await page.locator('.quality').innerText();
    assert.ok(text.replace(/\s/g, '').includes(`${truth.discarded}eventrecordswerelost`), text);
    const [loss] = (await session.api('losses')).items;
    await session.ask(`__pv.setWindow(${loss.begin_ns - 1000}, ${loss.end_ns + 1000})`);
    await session.settled();
    const row = await rowOf('cpu', 'cpu0');
    const {startNs, nsPerPx} = await view();
    const {title, lines} = await session.ask(`__pv.describe(${((loss.begin_ns + loss.end_ns) / 2 - startNs) / nsPerPx}, ${row.y + 4})`);
    assert.match(lines.at(-1) ?? title, /records lost/);
    await session.shot(shots, 'loss');
    await session.key('0');
  });

  await claims.claim('another event and CPU can be chosen for the strip', async () => {
    await page.locator('.picker select').first().selectOption('1');
    await page.locator('.picker select').last().selectOption('0');
    await session.settled();
    assert.deepEqual((await view()).counter, {event: 1, cpu: 0});
    const row = await rowOf('counter');
    const tiles = await session.ask(`__pv.dump(${row.row})`);
    assert.ok(tiles.some((tile) => tile.kind === 'counter' && tile.values.some((value) => value > 0)));
  });

  await claims.claim('a counter strip has the least and the greatest rate of each column; what was not counted is hatched', async () => {
    await session.key('0');
    const row = await rowOf('counter');
    const dumps = truth.dumps0;
    const {durationNs, startNs, nsPerPx} = await view();
    let compared = 0;
    const gaps = [];
    for (const tile of await session.ask(`__pv.dump(${row.row})`)) {
      for (let i = 0; i < tile.values.length / 6; ++i) {
        const from = tile.beginNs + i * tile.columnNs;
        const to = Math.min(from + tile.columnNs, durationNs);
        if (from >= dumps.at(-1)[0] || to <= from) continue;
        const known = [];
        let gap = dumps.at(-1)[0] < to;
        for (let k = 1; k < dumps.length; ++k) {
          const [begin, value] = dumps[k - 1];
          const [end, next, counted] = dumps[k];
          if (end <= from || begin >= to) continue;
          if (!counted) gap = true;
          else if (end > begin) known.push((next - value) / (end - begin) * 1e9);
        }
        const flags = tile.flags[6 * i + 5];
        assert.equal((flags & 1) !== 0, gap, `gap at ${from}`);
        assert.equal((flags & 4) !== 0, known.length === 0, `known at ${from}`);
        if (known.length === 0) gaps.push({from, to});
        for (const [place, rate] of [Math.min(...known), Math.max(...known)].entries()) {
          if (known.length > 0) assert.ok(Math.abs(tile.values[6 * i + place] - rate) <= 1e-6 * rate, `${place ? 'most' : 'least'} at ${from}`);
        }
        ++compared;
      }
    }
    assert.ok(compared > 500 && gaps.length > 8, `${compared} columns, ${gaps.length} gaps`);
    // Diagonals: in each line of pixels some, never all, and moved from line to line. No line of a mean crosses them.
    const [left, right] = [gaps[0].from, gaps.at(-1).to].map((at) => Math.round((at - startNs) / nsPerPx));
    const lines = await page.evaluate(([x, y, width, height]) => {
      const canvas = document.querySelector('.area canvas');
      const copy = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height});
      const context = copy.getContext('2d', {willReadFrequently: true});
      context.drawImage(canvas, 0, 0);
      return Array.from({length: height}, (_, line) => {
        const {data} = context.getImageData(x, y + line, width, 1);
        return Array.from({length: width}, (_, i) => [...data.slice(4 * i, 4 * i + 3)].join());
      });
    }, [left + 2, row.y + 2, right - left - 4, row.height - 4]);
    const [, ground] = await session.ask('__pv.colours([])');
    const drawn = lines.map((line) => line.map((colour) => colour !== ground.join()));
    for (const line of drawn) {
      const share = line.filter(Boolean).length / line.length;
      assert.ok(share > 0.1 && share < 0.9, `${share}`);
    }
    for (let i = 1; i < drawn.length; ++i) assert.notDeepEqual(drawn[i], drawn[i - 1]);
    await session.shot(shots, 'not-counted');
  });

  await claims.claim('a loss is hatched over all rows', async () => {
    const [loss] = (await session.api('losses')).items;
    await session.ask(`__pv.setWindow(${2 * loss.begin_ns - loss.end_ns}, ${2 * loss.end_ns - loss.begin_ns})`);
    await session.settled();
    const lines = await page.evaluate(() => {
      const layer = document.querySelectorAll('.area canvas')[1];
      const copy = Object.assign(document.createElement('canvas'), {width: layer.width, height: layer.height});
      const context = copy.getContext('2d', {willReadFrequently: true});
      context.drawImage(layer, 0, 0);
      // A third of the width is the loss.
      const [x, width] = [Math.round(layer.width * 0.4), Math.round(layer.width * 0.2)];
      return Array.from({length: layer.height}, (_, y) => [...context.getImageData(x, y, width, 1).data].filter((_, i) => i % 4 === 3));
    });
    for (const [y, alphas] of lines.entries()) {
      if (y < 4) continue;
      const ground = Math.min(...alphas);
      const drawn = alphas.filter((alpha) => alpha > ground + 20).length / alphas.length;
      assert.ok(ground > 0 && drawn > 0.05 && drawn < 0.6, `line ${y}: ${ground} ${drawn}`);
    }
    await session.key('0');
  });

  await claims.claim('keyboard only: select a range, read its table, open and close help', async () => {
    await page.locator('.area').focus();
    await session.key('Escape');
    for (let i = 0; i < 3; ++i) await session.key('Shift+ArrowRight');
    assert.ok((await view()).selection);
    await page.waitForTimeout(120);
    await session.settled();
    assert.ok((await page.locator('.offscreen[role=status]').innerText()).startsWith('Selected'));
    await page.keyboard.press('Shift+Slash');
    await page.locator('dialog.help').waitFor({state: 'visible', timeout: 5000});
    await session.shot(shots, 'help');
    await page.keyboard.press('Escape');
    await page.locator('dialog.help').waitFor({state: 'hidden', timeout: 5000});
  });

  await claims.claim('the edge of the tables gives them more rows, by pointer and by key', async () => {
    const height = async () => Math.round((await page.locator('.range').boundingBox()).height);
    const before = await height();
    const edge = await page.locator('.dock-edge').boundingBox();
    await page.mouse.move(edge.x + 300, edge.y + 4);
    await page.mouse.down();
    await page.mouse.move(edge.x + 300, edge.y - 116, {steps: 3});
    await page.mouse.up();
    assert.ok(Math.abs(await height() - before - 120) <= 2, `${before} ${await height()}`);
    await page.mouse.move(edge.x + 300, edge.y - 116);
    await page.mouse.down();
    await page.mouse.move(edge.x + 300, 5, {steps: 3});
    await page.mouse.up();
    assert.ok((await areaBox()).height > 60);
    await page.locator('.dock-edge').press('ArrowDown');
    await page.locator('.dock-edge').dblclick();
    await session.settled();
    assert.equal(await height(), before);
    await page.locator('.dock-edge').press('ArrowUp');
    assert.equal(await height(), before + 24);
    await page.locator('.dock-edge').press('ArrowDown');
    assert.equal(await height(), before);
    await page.locator('.dock-edge').dblclick();
  });

  await claims.claim('800 px wide, the timeline has 60 % of it', async () => {
    await page.setViewportSize({width: 800, height: 700});
    await page.waitForTimeout(100);
    await session.settled();
    const box = await areaBox();
    assert.ok(box.width >= 480, `${box.width}`);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 800);
    await session.shot(shots, 'narrow');
    await page.setViewportSize({width: 1440, height: 900});
    await session.settled();
  });

  await claims.claim('hostile names of an imported trace are text, and move nothing', async () => {
    const hostile = [
      '<img src=x onerror="window.__hurt=1"><script>window.__hurt=1</script>', '\u0000\u001b[31m\u0007\r\nbell', '\u202egnirts\u2066\u200f',
      'x'.repeat(10000), '&lt;b&gt;"\'`$1</td></table>', '__proto__', `${'W'.repeat(300)}${'\u0301'.repeat(500)}`, '', '\ud800',
    ];
    const spoil = (value) => {
      if (value === null || typeof value !== 'object') return;
      for (const [key, inner] of Object.entries(value)) {
        if ((key === 'name' || key === 'comm' || key === 'location') && typeof inner === 'string') {
          value[key] = hostile[(value.hook ?? value.thread ?? value.process ?? 0) % hostile.length];
        } else spoil(inner);
      }
    };
    await page.route(/\/api\/v1\/(hooks|rows|processes|threads|find)\b/, async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      spoil(json);
      await route.fulfill({response, json});
    });
    const dialogs = [];
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    const sizes = () => page.evaluate(() => Object.fromEntries([
      ...['.toolbar', '.now', '.area', '.range', '.gutter', '.minimap'].map((name) => {
        const box = document.querySelector(name).getBoundingClientRect();
        return [name, [box.x, box.y, box.width, box.height].map(Math.round).join(' ')];
      }),
      ['page', `${document.documentElement.scrollWidth} ${document.documentElement.scrollHeight}`],
    ]));
    const harmless = async (place, before) => {
      assert.equal(await page.evaluate('window.__hurt'), undefined, place);
      assert.equal(await page.locator('img, .now script, .range script').count(), 0, place);
      assert.deepEqual(await sizes(), before, place);
    };
    for (const width of [1440, 800]) {
      await page.setViewportSize({width, height: 900});
      await session.revisit('');
      const before = await sizes();
      const {durationNs} = await view();
      await session.ask(`__pv.movePlayhead(${durationNs / 2})`);
      await session.settled();
      for (const tab of ['Processes', 'Threads', 'Segments', 'CPUs', 'Waits', 'Hooks']) {
        await page.getByRole('tab', {name: tab}).click();
        await page.waitForTimeout(100); // the request waits for a drag to end
        await session.settled();
        await harmless(`${width}: ${tab}`, before);
        const [widest, tallest] = await page.evaluate(() => [
          Math.max(...[...document.querySelectorAll('.data td:first-child')].map((cell) => cell.clientWidth)),
          Math.max(...[...document.querySelectorAll('.data tbody tr')].map((row) => row.clientHeight))]);
        assert.ok(widest <= 340 && tallest <= 40, `${tab}: ${widest} x ${tallest}`);
      }
      await page.getByRole('tab', {name: 'Segments'}).click();
      await page.locator('.data tbody tr').first().click();
      await session.settled();
      await harmless(`${width}: durations`, before);
      const row = (await session.ask('__pv.rows()')).find(({kind}) => kind === 'segment');
      const box = await areaBox();
      await page.mouse.move(box.x + box.width / 2, box.y + row.y + 8);
      await session.settled();
      await harmless(`${width}: tooltip`, before);
      for (const tip of await page.locator('.tooltip').all()) {
        const size = await tip.boundingBox();
        assert.ok(size.width <= 320 && size.height <= 300, JSON.stringify(size));
      }
      await page.locator('.area').focus();
      await page.keyboard.press('/');
      await page.keyboard.type('server');
      await page.keyboard.press('Enter');
      await session.settled();
      await harmless(`${width}: found`, before);
      await session.shot(shots, `hostile-${width}`);
      await page.keyboard.press('Control+a');
      await page.keyboard.press('Backspace');
      await page.keyboard.press('Escape');
    }
    assert.deepEqual(dialogs, []);
    await page.unrouteAll({behavior: 'wait'});
    await page.setViewportSize({width: 1440, height: 900});
    await session.revisit('');
  });

  await claims.claim('every command is found by its name and runs, colours too; no such command is said', async () => {
    await page.locator('.area').focus();
    await page.keyboard.press('Shift+Slash');
    const help = page.locator('dialog.help dd');
    await help.first().waitFor({state: 'visible', timeout: 5000});
    const known = (await help.allInnerTexts()).sort();
    await page.keyboard.press('Escape');
    await page.locator('dialog.help').waitFor({state: 'hidden', timeout: 5000}); // it keeps the focus
    const input = page.locator('.find input');
    await input.fill('>');
    await page.locator('#find-list li').first().waitFor({state: 'visible', timeout: 5000});
    assert.deepEqual((await page.locator('#find-list li span:first-child').allInnerTexts()).sort(), known);
    await input.fill('>no such command');
    await page.locator('.find', {hasText: 'none'}).waitFor({state: 'visible', timeout: 5000});
    const safe = () => page.getByRole('button', {name: 'Safe'}).getAttribute('aria-pressed');
    for (const wanted of ['true', 'false']) {
      await input.fill('>safe palette');
      await page.keyboard.press('Enter');
      await session.settled();
      assert.equal(await safe(), wanted);
    }
    await page.locator('.area').focus();
    await session.key('Shift+X');
    assert.equal(await safe(), 'true');
    await session.key('Shift+X');
    for (const wanted of ['dark', 'light']) {
      await session.key('Shift+D');
      assert.equal(await page.evaluate('document.documentElement.dataset.theme'), wanted);
    }
  });

  await claims.claim('a time that has no room in the toolbar is left out, not cut', async () => {
    const input = page.locator('.find input');
    const fits = () => page.evaluate(() => {
      const box = document.querySelector('.window').getBoundingClientRect();
      return [...document.querySelectorAll('.window span')].map((span) => {
        const {left, right, top, bottom} = span.getBoundingClientRect();
        return top >= box.bottom ? 'out' : left >= box.left - 0.5 && right <= box.right + 0.5 && bottom <= box.bottom + 0.5 ? 'in' : 'cut';
      });
    });
    const seen = new Set();
    for (const [width, text] of [[1440, ''], [1440, 'server:handle'], [1320, 'server:handle'], [1305, 'server:handle']]) {
      await page.setViewportSize({width, height: 900});
      await input.fill(text);
      await session.settled();
      const shown = await fits();
      assert.equal(shown.length, 1);
      assert.notEqual(shown[0], 'cut', `${width} px, ${text}`);
      seen.add(shown[0]);
      assert.ok((await input.boundingBox()).width >= 118);
      assert.ok((await page.evaluate(() => document.querySelector('.toolbar').scrollWidth)) <= width);
    }
    assert.deepEqual([...seen].sort(), ['in', 'out']);
    await page.setViewportSize({width: 1440, height: 900});
    await input.fill('');
    await page.locator('.area').focus();
    await session.settled();
  });

  await claims.claim('a tooltip is of what is under the pointer, also after the rows moved', async () => {
    await session.key('0');
    const box = await areaBox();
    const row = await rowOf('cpu', 'cpu0');
    const other = await rowOf('cpu', 'cpu1');
    await page.mouse.move(box.x + 500, box.y + other.y + other.height - 2);
    await page.locator('.tooltip').waitFor({state: 'visible', timeout: 5000});
    await session.settled();
    assert.match(await page.locator('.tooltip').innerText(), /CPU 1$/);
    await page.mouse.move(box.x + 500, box.y + row.y + row.height - 2);
    await session.settled();
    assert.match(await page.locator('.tooltip').innerText(), /CPU 0$/);
    // Not by the pointer.
    await session.ask(`__pv.scroll(${other.y - row.y})`);
    await session.settled();
    assert.match(await page.locator('.tooltip').innerText(), /CPU 1$/);
    await session.ask(`__pv.scroll(${row.y - other.y})`);
    await session.settled();
  });

  await claims.claim('dark: the page changes, its pixels too', async () => {
    await session.key('0');
    await page.getByLabel('Light or dark').click();
    await session.settled();
    // What is behind the rows.
    const column = await page.evaluate(() => {
      const canvas = document.querySelector('.area canvas');
      return [...canvas.getContext('2d').getImageData(5, 0, 1, canvas.height).data];
    });
    const sums = Array.from({length: column.length / 4}, (_, y) => column[4 * y] + column[4 * y + 1] + column[4 * y + 2]);
    const dark = sums.filter((sum) => sum < 200).length;
    assert.ok(dark > sums.length / 3, `${dark} of ${sums.length}`);
    await session.shot(shots, 'dark');
  });

  await claims.claim('nothing went wrong in the page', async () => {
    assert.deepEqual(session.problems, []);
  });

  const stats = await session.ask('__pv.frames()');
  const sorted = [...stats.drawMs].sort((a, b) => a - b);
  console.log(`draw-ms p50=${sorted[sorted.length >> 1]?.toFixed(1)} ` +
              `p95=${sorted[Math.floor(sorted.length * 0.95)]?.toFixed(1)} frames=${stats.frames}`);
} finally {
  await session.close();
}
await claims.claim('the server ends cleanly on SIGINT', async () => {
  assert.equal(await server.stop(), 0);
});
rmSync(directory, {recursive: true, force: true});
process.exit(claims.failed === 0 ? 0 : 1);
