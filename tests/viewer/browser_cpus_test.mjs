// The page of a machine with 64 CPUs: strips that fold, and stay while threads
// scroll; the grid of the CPUs.
import assert from 'node:assert/strict';

import {onSyntheticPage} from './synthetic_page.mjs';

const CPUS = 64;

await onSyntheticPage(async ({claims, page, session, shots, areaBox}) => {
  await page.setViewportSize({width: 1280, height: 800});
  await session.settled();
  const lanes = async (kind) => page.locator(`.label.${kind}`).count();
  const fold = (name) => page.getByRole('button', {name: new RegExp(`^${name}: (open|close)$`)});

  await claims.claim('on the first screen are all CPUs, a counter and six threads or processes', async () => {
    const area = await areaBox();
    let whole = 0;
    for (const label of await page.locator('.label.thread, .label.process').all()) {
      const box = await label.boundingBox();
      if (box.y >= area.y && box.y + box.height <= area.y + area.height) ++whole;
    }
    assert.ok(whole >= 6, `${whole} in sight`);
    assert.equal(await lanes('cpu'), 1);
    assert.equal(await page.locator('.cpu-grid li').count(), CPUS);
    await session.shot(shots, 'cpus_folded');
  });

  await claims.claim('what folds them stays at the top while threads scroll, and covers them', async () => {
    const before = await page.locator('.label.stuck').first().boundingBox();
    await session.ask('__pv.scroll(400)');
    await session.settled();
    assert.deepEqual(await page.locator('.label.stuck').first().boundingBox(), before);
    const rows = await session.ask('__pv.rows()');
    const machine = rows.find((row) => row.lane === 'machine');
    assert.equal(machine.y, 1);
    // A row under it is not what a click there means.
    const area = await areaBox();
    await page.mouse.move(area.x + 300, area.y + 10);
    await session.settled();
    assert.match(await page.locator('.tooltip').innerText(), /All CPUs/);
    await session.shot(shots, 'cpus_scrolled');
    await page.mouse.move(area.x + 300, area.y + area.height + 60);
    await session.ask('__pv.scroll(-400)');
    await session.settled();
  });

  await claims.claim('open, each CPU is a low row that says what it is; the link has it', async () => {
    await fold('All CPUs').click();
    await session.settled();
    const rows = (await session.ask('__pv.rows()')).filter((row) => /^cpu\d+$/.test(row.lane));
    assert.ok(rows.length > 40, `${rows.length}`);
    for (const row of rows) assert.equal(row.height, 5);
    const area = await areaBox();
    const one = rows[37];
    await page.mouse.move(area.x + 300, area.y + one.y + 2);
    await session.settled();
    assert.match(await page.locator('.tooltip').innerText(), new RegExp(`${one.lane.replace('cpu', 'CPU ')}(?!\\d)`));
    await session.shot(shots, 'cpus_open');
    await page.waitForURL(/cpus=1/);
    await session.revisit('');
    await fold('All CPUs').click();
    await session.settled();
    assert.equal(await fold('All CPUs').getAttribute('aria-expanded'), 'true');
    await fold('All CPUs').click();
    await session.settled();
    assert.equal(await lanes('cpu'), 1);
  });

  await claims.claim('counters fold to one', async () => {
    const strips = async () => (await session.ask('__pv.rows()')).filter((row) => row.kind === 'counter').length;
    const [button] = await page.locator('.label.counter .toggle').all();
    const before = await strips();
    await button.click();
    await session.settled();
    assert.notEqual(await strips(), before);
    assert.equal(Math.min(await strips(), before), 1);
    await page.waitForURL(/counters=[01]/);
  });
}, ['20000', '7', String(CPUS)]);
