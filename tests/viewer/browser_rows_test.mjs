// What the rows show, against known truth: browser_rows_test.mjs SERVE_SYNTHETIC SHOTS
import assert from 'node:assert/strict';

import {onSyntheticPage} from './synthetic_page.mjs';

await onSyntheticPage(async ({claims, page, session, shots, truth, view, areaBox, rowOf}) => {
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
          const expected = {running: /^runs on CPU/, waiting: /^waiting for a CPU/, throttled: /^throttled by its CPU quota/,
                            blocked: /^blocked/,
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
    await page.waitForURL(new RegExp(`item=${row.row}-${wide[0]}-${wide[1]}-dispatch-${process}-${wide[2]}-(&|$)`));
    const {hash} = new URL(page.url());
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

  await claims.claim('a flame has the depths of the window: at an instant as many as calls are open', async () => {
    const {durationNs} = await view();
    const parents = (await session.api('processes')).items.map(({process}) => process).slice(0, 64);
    let [deep, shallow] = [0, 0];
    for (let i = 1; i <= 20; ++i) {
      const at = Math.floor(durationNs * i / 21);
      const open = new Map((await session.api(`state?t=${at}&threads=all&top=1000`)).threads.map((one) => [one.thread, one.open.length]));
      for (const {items} of (await session.api(`rows?from=${at}&to=${at}&parent=${parents}`)).parents) {
        for (const {thread, rows} of items) {
          const depths = rows.filter(({kind}) => kind === 'segment').length;
          assert.equal(depths, open.get(thread) ?? 0, `thread ${thread} at ${at}`);
          if (depths > 1) ++deep;
          else ++shallow;
        }
      }
    }
    assert.ok(deep > 10 && shallow > 10, `${deep} ${shallow}`);
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
    const {height: bottom} = await areaBox();
    for (const row of (await session.ask('__pv.rows()')).filter(({kind, y, height}) => kind === 'segment' && y + height <= bottom)) {
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
});
