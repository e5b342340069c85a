// The window in time: zooms, pans, ranges, links: browser_window_test.mjs SERVE_SYNTHETIC SHOTS
import assert from 'node:assert/strict';

import {claimSelectedItem} from './selected_item_claims.mjs';
import {onSyntheticPage} from './synthetic_page.mjs';

await onSyntheticPage(async ({claims, page, session, shots, view, areaBox, rowOf}) => {
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
    await session.until('Math.abs(Number(/[#&]from=([\\d.]+)/.exec(location.hash)?.[1]) - __pv.view().startNs) < 1');
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

  await claims.claim('the link shows the same place in a fresh page', async () => {
    const safe = page.getByRole('button', {name: 'Palette'});
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
});
