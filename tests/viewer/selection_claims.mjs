// What the page says of a selection, for browser_trace_test.mjs: two ranges
// compared, CSV, records while it plays, rare events, chosen durations.
import assert from 'node:assert/strict';

// Drags from one share of the timeline's width to another.
export async function select(session, from, to) {
  const box = await session.page.locator('.area').boundingBox();
  const move = (share) => session.page.mouse.move(box.x + box.width * share, box.y + 20);
  await move(from);
  await session.page.mouse.down();
  await move((from + to) / 2);
  await move(to);
  await session.page.mouse.up();
  await session.settled();
}

export async function claimSelection({session, claims, run, trace, report, shots}) {
  await claims.claim('CSV of the selection is the report\'s of the range, with all rows', async () => {
    await session.key('0');
    await select(session, 0.2, 0.6);
    const {selection: {from, to}} = await session.ask('__pv.view()');
    await session.page.getByRole('tab', {name: 'Processes'}).click();
    const [download] = await Promise.all([
      session.page.waitForEvent('download'), session.page.getByRole('link', {name: 'CSV'}).click()]);
    assert.equal(download.suggestedFilename(), `countrace-process-${from}-${to}.csv`);
    const chunks = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk);
    assert.equal(Buffer.concat(chunks).toString(),
                 run('report', '--by', 'process', '--format', 'csv', '--from', `${from}ns`, '--to', `${to}ns`, trace));
  });

  await claims.claim('two ranges are compared as by `countrace diff`, also from a link', async () => {
    const {selection: before} = await session.ask('__pv.view()');
    await session.key('c');
    assert.equal((await session.ask('__pv.view()')).selection, null);
    await select(session, 0.65, 0.9);
    const {selection: after} = await session.ask('__pv.view()');
    const path = `before_from=${before.from}&before_to=${before.to}&from=${after.from}&to=${after.to}`;
    // A later request stops an earlier one.
    await session.until('__pv.comparison()');
    const numbers = await session.api(`compare?${path}&format=json`);
    const cells = await session.api(`compare?${path}&limit=100`);
    await session.until(`JSON.stringify(__pv.comparison()) === ${JSON.stringify(JSON.stringify(cells))}`);
    const shown = await session.page.locator('.changes').first().locator('tbody tr').evaluateAll(
        (rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText.trim())));
    assert.deepEqual(shown, cells.totals.groups[0].rows);
    assert.deepEqual(shown.map(([name]) => name), numbers.totals.map(({metric}) => metric));
    assert.equal(numbers.rows_total, cells.rows_total);
    await session.shot(shots, 'trace-compared');
    await session.until('location.hash.includes("cmp=")');
    const hash = await session.ask('location.hash');
    assert.ok(hash.includes(`cmp=${before.from}-${before.to}`), hash);
    await session.revisit(hash);
    await session.until(`JSON.stringify(__pv.comparison()) === ${JSON.stringify(JSON.stringify(cells))}`);
    await session.page.getByRole('button', {name: 'Swap'}).click();
    assert.deepEqual((await session.ask('__pv.view()')).selection, before);
    await session.page.getByRole('button', {name: 'End', exact: true}).click();
    await session.key('Escape');
    assert.equal(await session.page.getByRole('tab', {name: 'Changes'}).count(), 0);
  });

  await claims.claim('records pass by while it plays, both ways', async () => {
    await session.page.getByRole('tab', {name: 'Events'}).click();
    const {durationNs} = await session.ask('__pv.view()');
    for (const [from, command] of [[0.3, 'play'], [0.7, 'play-back']]) {
      await session.ask(`__pv.movePlayhead(${Math.floor(durationNs * from)})`);
      await session.settled();
      await session.ask(`__pv.run("${command}")`);
      for (const ms of [1, 40, 700, 2]) {
        await session.ask(`__pv.tick(${ms})`);
        const at = Math.floor((await session.ask('__pv.view()')).playhead);
        // All records from the first of the page up to the playhead are in it.
        const next = (await session.api(`events?t=${at + 1}&limit=1`)).items[0];
        const last = (await session.api(`events?t=${at + 1}&dir=previous&limit=1`)).items[0];
        const same = (item) => JSON.stringify([item.t, item.nth]);
        await session.until(`(() => {
          const places = __pv.events().items.map(({t, nth}) => JSON.stringify([t, nth]));
          return places.includes('${same(last)}') || places[0] === '${same(next)}';
        })()`);
        const {items} = await session.ask('__pv.events()');
        const reached = items.filter((item) => item.t <= at).length - 1;
        await session.until(`(() => {
          const rows = [...document.querySelectorAll('.events tbody tr')];
          return rows.findIndex((row) => row.classList.contains('selected')) === ${reached};
        })()`);
        if (command === 'play-back') assert.ok(reached >= 0);
      }
      await session.ask('__pv.run("pause")');
    }
    await session.settled();
    await session.page.getByRole('tab', {name: 'Processes'}).click();
  });

  await claims.claim('the longest call of each segment is among the rare events; a click goes there', async () => {
    await session.key('0');
    const longest = new Map();
    for (const {segment, pid, wall_ns: wall} of report.segments) {
      if (pid !== 0 && wall) longest.set(segment, Math.max(longest.get(segment) ?? 0, wall.max));
    }
    await session.until('__pv.rare().some(({kind}) => kind === "longest")');
    const shown = (await session.ask('__pv.rare()')).filter(({kind}) => kind === 'longest');
    const hooks = new Map((await session.api('hooks')).items.map(({hook, name}) => [hook, name]));
    assert.deepEqual(Object.fromEntries(shown.map(({hook, from, to}) => [hooks.get(hook), to - from]).sort()),
                     Object.fromEntries([...longest].sort()));
    const box = await session.page.locator('.rare canvas').boundingBox();
    const {durationNs} = await session.ask('__pv.view()');
    const x = shown[0].from / durationNs * box.width + 1;
    await session.page.mouse.click(box.x + x, box.y + box.height / 2);
    await session.settled();
    const view = await session.ask('__pv.view()');
    assert.ok(shown.some(({from}) => from === view.playhead), String(view.playhead));
    await session.key('0');
  });

  await claims.claim('a drag in the histogram of durations chooses calls', async () => {
    await session.page.getByRole('tab', {name: 'Segments'}).click();
    await session.until('document.querySelector(".data tbody tr.clickable")');
    await session.page.locator('.data tbody tr').first().click();
    await session.until('document.querySelector(".durations .bucket")');
    const buckets = await session.page.locator('.durations .bucket').count();
    const box = await session.page.locator('.durations .columns').boundingBox();
    await session.page.mouse.move(box.x + box.width * (0.5 / buckets), box.y + 10);
    await session.page.mouse.down();
    await session.page.mouse.move(box.x + box.width - 1, box.y + 10, {steps: 4});
    await session.page.mouse.move(box.x + box.width * (0.5 / buckets), box.y + 10, {steps: 4});
    await session.page.mouse.up();
    await session.until('__pv.lengths()');
    const {span, calls} = await session.ask('__pv.lengths()');
    const all = await session.api(`durations?process=${calls.process}&hook=${calls.hook}&from=0&to=${2 ** 50}`);
    assert.deepEqual(span, {from: all.buckets[0].from_ns, to: all.buckets[0].to_ns});
    assert.equal(calls.calls, all.buckets[0].calls);
    await session.shot(shots, 'trace-durations');
    // With another range, the calls of that range.
    await select(session, 0.4, 0.5);
    const {selection: {from, to}} = await session.ask('__pv.view()');
    const part = await session.api(`durations?process=${calls.process}&hook=${calls.hook}&from=${from}&to=${to}`);
    assert.ok(part.calls < all.calls);
    await session.until(`document.querySelector('.durations p').innerText.replace(/[^\\d]/g, '').startsWith('${part.calls}')`);
    await session.key('Escape');
    await session.page.getByRole('tab', {name: 'Processes'}).click();
  });
}
