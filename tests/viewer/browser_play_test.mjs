// The page while it plays and steps, and the now panel: browser_play_test.mjs SERVE_SYNTHETIC SHOTS
import assert from 'node:assert/strict';

import {onSyntheticPage} from './synthetic_page.mjs';

await onSyntheticPage(async ({claims, page, session, shots, truth, view, areaBox, rowOf}) => {
  await claims.claim('Space plays: a second moves the playhead by a tenth of the window; Space stops', async () => {
    await session.ask('__pv.setSpeed(1)');
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
    await session.ask('__pv.setSpeed(1)');
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
    await session.ask('__pv.setSpeed(1)');
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
    await session.key('0');
  });

  await claims.claim('with the real clock the playhead runs and the page keeps up', async () => {
    await page.locator('.area').focus();
    await session.ask('__pv.setSpeed(1)');
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
      const begun = seen.findIndex(({playhead}) => playhead !== seen[0].playhead); // the key has come to the page
      shown.push(...seen.slice(begun).filter(({playhead}) => playhead > 0 && playhead < durationNs - 1));
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

  await claims.claim('scrubbing shows the last place, with one request for states under way at a time', async () => {
    await session.key('0');
    const ruler = await page.locator('canvas.ruler').boundingBox();
    const pending = new Set();
    let most = 0, all = 0;
    const begin = (request) => {
      if (!/\/api\/v1\/state\?/.test(request.url())) return;
      pending.add(request);
      most = Math.max(most, pending.size);
      ++all;
    };
    const end = (request) => pending.delete(request);
    page.on('request', begin).on('requestfinished', end).on('requestfailed', end);
    const MOVES = 100;
    const y = ruler.y + ruler.height / 2;
    const x = (move) => ruler.x + ruler.width * (0.2 + 0.6 * move / MOVES);
    await page.mouse.move(x(0), y);
    await page.mouse.down();
    for (let move = 1; move <= MOVES; ++move) await page.mouse.move(x(move), y);
    await page.mouse.up();
    await session.settled();
    page.off('request', begin).off('requestfinished', end).off('requestfailed', end);
    const {playhead, startNs, nsPerPx} = await view();
    assert.ok(Math.abs(playhead - (startNs + (x(MOVES) - ruler.x) * nsPerPx)) <= nsPerPx, `${playhead}`);
    assert.ok(Math.abs((await session.ask('__pv.state()')).t - playhead) <= 1);
    assert.ok(all >= 1 && all <= MOVES + 1, `${all} requests for states`);
    assert.equal(most, 1);
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

  await claims.claim('a CPU\'s tile beats with the dispatches of a frame, and says how many there were', async () => {
    await session.key('0');
    await session.key('Home');
    await session.ask('__pv.setSpeed(1)');
    await page.keyboard.press('l');
    const seen = await page.evaluate(async () => {
      const beats = [];
      for (let i = 0; i < 100 && beats.length < 5; ++i) {
        await new Promise((done) => setTimeout(done, 50));
        const numbers = [...document.querySelectorAll('.now .cpus .beat .began')].map((item) => parseInt(item.innerText.replace(/\D/g, ''), 10));
        if (numbers.length > 0) beats.push(numbers);
      }
      return beats;
    });
    await page.keyboard.press('k');
    await session.settled();
    assert.ok(seen.length > 0 && seen.flat().every((number) => number > 1), JSON.stringify(seen));
    assert.equal(await page.locator('.now .beat').count(), 0);
  });

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
    assert.equal(shown, state.threads.length);
  });

  await claims.claim('the now panel says what each thread does, and what it does not run for', async () => {
    const {durationNs} = await view();
    const words = {running: /^CPU \d/, waiting: /^waits for a CPU/, throttled: /^its CPU quota is used up/,
                   blocked: /^blocked/, 'off-cpu': /^off CPU/};
    const seen = new Set();
    const wanted = ['running', 'waiting', 'blocked'];
    for (let i = 1; i < 40 && !wanted.every((state) => seen.has(state)); ++i) {
      await session.ask(`__pv.movePlayhead(${Math.floor(durationNs * i / 40)})`);
      await session.settled();
      const {threads, threads_left_out: more} = await session.ask('__pv.state()');
      const shown = await page.locator('.now .stacks .doing').allInnerTexts();
      for (const [k, thread] of threads.entries()) {
        assert.match(shown[k], words[thread.state] ?? /ended|not known/);
        seen.add(thread.state);
      }
      if (more > 0) assert.match(await page.locator('.now').innerText(), new RegExp(`and ${more} more threads`));
    }
    for (const state of wanted) assert.ok(seen.has(state), state);
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
    await page.waitForURL(new RegExp(`row=thread${thread}`));
    // All CPUs limit nothing.
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
});
