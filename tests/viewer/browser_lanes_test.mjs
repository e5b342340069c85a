// Lanes: closed, found, pinned, hidden, folded, ordered, filtered: browser_lanes_test.mjs SERVE_SYNTHETIC SHOTS
import assert from 'node:assert/strict';

import {COLLISIONS} from './browser_session.mjs';
import {onSyntheticPage} from './synthetic_page.mjs';

await onSyntheticPage(async ({claims, page, session, shots, truth, view, areaBox}) => {
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
    await page.waitForURL(/close=\d+/);
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
    await page.waitForURL(new RegExp(`pin=${thread.process}(&|$)`));
    assert.ok((await order())[0].endsWith(` ${thread.pid}`), (await order()).join());
    await page.mouse.move(0, 0);
    await page.locator('.label.process').first().hover();
    await page.locator('.label.process .lane-tools button').nth(1).click();
    await page.waitForURL(new RegExp(`hide=${thread.process}(&|$)`));
    assert.ok(!(await order()).some((name) => name.endsWith(` ${thread.pid}`)));
    await page.mouse.move(box.x + 50, box.y + 50);
    await page.mouse.wheel(0, 50000);
    await page.locator('.unfold').click();
    await session.settled();
    await page.waitForURL((url) => !url.hash.includes('hide='));
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
    await page.waitForURL(/all=1/);
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
    assert.match(await focused(), /cpu/);
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
    assert.match(await focused(), /cpu/);
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
    // The address follows: the process with the focus is the first again.
    await page.waitForURL(({hash}) => {
      const [, first] = /[#&]pin=(\d+)/.exec(hash) ?? [];
      return /[#&]close=\d+/.test(hash) && new RegExp(`[#&]row=process${first}(&|$)`).test(hash);
    });
    const {hash} = new URL(page.url());
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
    const shown = async () => (await page.locator('.label:not(.cpu):not(.counter) .toggle').evaluateAll((all) => all.map((one) => one.getAttribute('aria-label').replace(/: (open|close)$/, '')))).sort();
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
    await page.waitForURL(/where=on_cpu_ns/);
    const {hash} = new URL(page.url());
    // As the command prints it; the rows stay.
    await page.locator('.find input').fill(':pid > 0 && colour == 3');
    await page.keyboard.press('Enter');
    await page.locator('.refused').waitFor();
    await session.settled();
    assert.match(await page.locator('.refused').innerText(), /^--where:1:12: unknown field `colour`.*\n {2}pid > 0 && colour == 3\n {13}\^/);
    assert.deepEqual(await shown(), expected);
    // What the rows were asked for, not what was refused.
    assert.match(await page.locator('.condition').innerText(), /selected by on_cpu_ns >= /);
    await session.shot(shots, 'refused');
    // The box and what it says lie over nothing else, on each screen.
    for (const width of [800, 1280, 1440]) {
      await page.setViewportSize({width, height: 900});
      await session.settled();
      assert.deepEqual(await session.ask(COLLISIONS), [], `${width} px`);
      const said = await page.locator('.find-drop.refused').boundingBox();
      assert.ok(said.x >= 0 && said.x + said.width <= width, `${width} px: ${JSON.stringify(said)}`);
      assert.equal(await page.locator('.find-drop.refused').evaluate((one) => one.scrollWidth > one.clientWidth), false);
    }
    // Chromium itself reports each answer that is an error.
    session.problems = session.problems.filter((problem) => !/status of 400/.test(problem));
    await page.locator('.unfilter').click();
    await session.settled();
    assert.deepEqual(await shown(), all);
    await session.revisit(hash);
    assert.deepEqual(await shown(), expected);
    // What is found is a list: the arrows choose, Enter and a click go there.
    await page.locator('.area').focus();
    await page.keyboard.press('/');
    await page.keyboard.type('redis-server');
    const found = page.locator('#find-list li[role=option]');
    await found.first().waitFor();
    assert.match((await found.allInnerTexts()).join('; '), /process\s+redis-server 1000\s+[\d.]+\s?ms/);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    assert.equal(await page.locator('#find-list [aria-selected=true]').innerText(), (await found.allInnerTexts())[1]);
    // Where it is: the thread's place begins where the thread ran first.
    const drawn = async () => Number((await found.nth(1).locator('.place path').getAttribute('d')).match(/^M(\d+) /)?.[1] ?? NaN);
    // The list of what was typed first may be replaced just now.
    let place = await drawn();
    for (let i = 0; Number.isNaN(place); ++i) {
      assert.ok(i < 100, 'no place');
      await page.waitForTimeout(50);
      place = await drawn();
    }
    const second = (await session.api('find?q=redis-server')).threads.concat((await session.api('find?q=redis-server')).processes);
    assert.ok(second.length > 0);
    const ran = await session.api(`step?t=0&dir=next&kind=dispatch&process=${second[0].process}`);
    assert.ok(Math.abs(place / 1024 - ran.t / durationNs) < 0.05, `${place} ${ran.t}`);
    await session.shot(shots, 'found_list');
    await page.keyboard.press('Enter');
    await session.settled();
    const wanted = (await found.allInnerTexts())[1].match(/\S+ \d+/)[0];
    assert.equal((await page.locator('.label[aria-current] .name').textContent()), wanted);
    await found.first().dispatchEvent('pointerdown');
    await session.settled();
    assert.notEqual((await page.locator('.label[aria-current] .name').textContent()), wanted);
    await page.keyboard.press('Escape');
    assert.equal(await found.count(), 0);
    // The conditions of before: the arrows choose one.
    await page.locator('.area').focus();
    await page.locator('.find input').fill(':pid >= 0');
    await page.keyboard.press('Enter');
    await session.settled();
    await page.locator('.find input').fill(':');
    const before = page.locator('#find-list li[role=option]');
    assert.deepEqual(await before.allInnerTexts(), ['pid >= 0', 'pid > 0 && colour == 3', `on_cpu_ns >= ${limit} && pid > 0`]);
    await session.shot(shots, 'conditions');
    for (let i = 0; i < 3; ++i) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await session.settled();
    assert.deepEqual(await shown(), expected);
    // Chosen, but not applied: it is forgotten with the list.
    await page.locator('.find input').fill(':');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Escape');
    const applied = await page.locator('.find input').inputValue();
    await page.locator('.find input').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await session.settled();
    assert.equal(await page.locator('.find input').inputValue(), applied);
    assert.deepEqual(await shown(), expected);
    await page.locator('.unfilter').click();
    await session.settled();
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
});
