// One selection: a click on a segment, a dispatch, a wait or a row of a table
// shows the same in the rows, the tooltip, the table and the panel.
import assert from 'node:assert/strict';

const LEAF_IDLE_OR_OUTSIDE = 12;
const STATE_WAITING = 0x100;
const NO_KEY = 0xffffffff;

export async function claimSelectedItem({session, claims, shots}) {
  const {page} = session;
  const text = (selector) => page.locator(selector).innerText();
  const tab = (name) => page.getByRole('tab', {name}).click().then(() => session.settled());
  const isShown = async (name) => assert.equal(await page.getByRole('tab', {name}).getAttribute('aria-selected'), 'true', name);
  // One row is selected, it is in sight and has these words.
  const rowHas = async (...words) => {
    await session.until('document.querySelectorAll(".data tr.selected").length === 1');
    await session.settled();
    const row = await page.locator('.data tr.selected').innerText();
    for (const word of words) assert.ok(row.includes(word), `${word} in ${row}`);
    assert.ok(await page.evaluate(() => {
      const [row, box] = [document.querySelector('.data tr.selected'), document.querySelector('.range-body')].map((one) => one.getBoundingClientRect());
      return row.top >= box.top + 20 && row.bottom <= box.bottom;
    }), 'in sight');
  };
  // The frame around the item, on the layer above the rows.
  const isFramed = async (y) => {
    const {startNs, nsPerPx} = await session.ask('__pv.view()');
    const {from} = await session.ask('__pv.item()');
    const alpha = await page.evaluate(([x, y]) => {
      const layer = document.querySelectorAll('.area canvas')[1];
      // A copy: chromium warns of canvases that are read again and again.
      const copy = Object.assign(document.createElement('canvas'), {width: 5, height: 1}).getContext('2d', {willReadFrequently: true});
      copy.drawImage(layer, 2 - x, -y);
      return Math.max(...copy.getImageData(0, 0, 5, 1).data.filter((_, i) => i % 4 === 3));
    }, [Math.round((from - startNs) / nsPerPx), Math.round(y)]);
    assert.ok(alpha > 100, `alpha ${alpha} at its begin`);
  };
  // The first item of a row of this kind, from the middle of the trace on, that
  // `accept` takes and a click can meet.
  const find = async (kind, accept) => {
    const {durationNs} = await session.ask('__pv.view()');
    for (let from = 0.3; from < 0.5; from += 0.002) {
      await session.ask(`__pv.setWindow(${durationNs * from}, ${durationNs * (from + 0.001)})`);
      await session.settled();
      const {startNs, nsPerPx, widthPx} = await session.ask('__pv.view()');
      const {height} = await page.locator('.area').boundingBox();
      for (const row of (await session.ask('__pv.rows()')).filter((one) => one.kind === kind && one.y > 0 && one.y + one.height < height)) {
        const items = (await session.ask(`__pv.dump(${row.row})`)).flatMap((tile) => tile.items);
        const item = items.find((one) => accept(one, row) && (one.endNs - one.beginNs) / nsPerPx > 8 &&
            (one.beginNs - startNs) / nsPerPx > 5 && (one.endNs - startNs) / nsPerPx < widthPx - 300);
        if (item) return {row, item, x: ((item.beginNs + item.endNs) / 2 - startNs) / nsPerPx, y: row.y + row.height / 2};
      }
    }
    throw new Error(`no ${kind} in sight`);
  };
  const click = async ({x, y}) => {
    const box = await page.locator('.area').boundingBox();
    await page.mouse.click(box.x + x, box.y + y);
    await session.settled();
  };
  // With the pointer elsewhere, the tooltip is of what is selected.
  const tooltip = async () => {
    await page.mouse.move(5, 5);
    await session.until('document.querySelector(".tooltip.of-selected")');
    return text('.tooltip.of-selected');
  };
  const namesOf = async (thread) => (await session.api('threads')).items.find((item) => item.thread === thread);

  const {startNs, endNs} = await session.ask('__pv.view()');
  await claims.claim('a click on a dispatch arrives in its row, its panel and its tooltip', async () => {
    await session.key('Escape');
    await tab('Waits');
    const found = await find('cpu', (item, row) => row.lane === 'cpu0' && item.key !== NO_KEY && (item.flags & LEAF_IDLE_OR_OUTSIDE) === 0);
    const {comm, tid, pid, process} = await namesOf(found.item.key);
    await click(found);
    await isShown('Threads');
    await rowHas(comm, String(tid));
    const {kind, thread, from, to} = await session.ask('__pv.item()');
    assert.deepEqual([kind, thread, from, to], ['dispatch', found.item.key, found.item.beginNs, found.item.endNs]);
    await isFramed(found.y);
    assert.match(await text('.now section.wait'), new RegExp(`^${comm} ${tid}\\b[^]*${pid} is on a CPU for`));
    assert.match(await tooltip(), new RegExp(`^${comm} ${tid}\\b`));
    await session.shot(shots, 'selected-dispatch');
    // A table that has its row, too, stays.
    await tab('Processes');
    await click(found);
    await isShown('Processes');
    await rowHas(comm);
    assert.equal((await session.ask('__pv.item()')).process, process);
  });

  await claims.claim('a click on a segment arrives in its row, its panel and its tooltip; the link has it', async () => {
    await session.key('Escape');
    await tab('Processes');
    const hooks = new Map((await session.api('hooks')).items.map(({hook, name}) => [hook, name]));
    const found = await find('segment', (item, row) => row.lane.startsWith('thread') && hooks.has(item.key));
    const name = hooks.get(found.item.key);
    await click(found);
    await isShown('Segments');
    await rowHas(name);
    const item = await session.ask('__pv.item()');
    assert.deepEqual([item.kind, item.hook, item.from, item.to], ['segment', found.item.key, found.item.beginNs, found.item.endNs]);
    await isFramed(found.y);
    await session.until('document.querySelector(".durations")');
    assert.equal(await text('.durations h3'), name);
    assert.match(await text('.durations .call'), /^Selected: [\d.]/);
    assert.match(await tooltip(), new RegExp(`^${name}`));
    await session.shot(shots, 'selected-segment');
    await page.waitForURL(({hash}) => hash.includes(`item=${item.row}-${item.from}-${item.to}-segment-`));
    await session.revisit(new URL(page.url()).hash);
    assert.deepEqual(await session.ask('__pv.item()'), item);
    await rowHas(name);
    await session.until('document.querySelector(".durations")');
    // The table by another column: the row is on another place, and selected.
    await page.locator('.data th button', {hasText: 'Calls'}).click();
    await session.settled();
    await rowHas(name);
  });

  await claims.claim('a click on a wait arrives in its row, its panel and its tooltip', async () => {
    await session.key('Escape');
    await tab('Processes');
    const found = await find('run', (item) => (item.flags & STATE_WAITING) !== 0 && item.key !== NO_KEY);
    const {comm, tid} = await namesOf(Number(found.row.lane.replace('thread', '')));
    await click(found);
    await isShown('Waits');
    await rowHas(comm, 'waited for a CPU');
    const wait = await session.ask('__pv.wait()');
    const [most] = [...wait.holders].sort((a, b) => b.ns - a.ns);
    const others = Math.max(wait.idle_ns, wait.outside_ns, wait.unknown_ns, wait.interrupts_ns);
    if (most && most.ns > others) {
      const by = await namesOf(most.thread);
      await rowHas(`${by.comm} ${by.tid}`);
    }
    assert.equal((await session.ask('__pv.item()')).kind, 'wait');
    assert.match(await text('.now section.wait'), new RegExp(`^${comm} ${tid}\\b[^]*waits for`));
    await isFramed(found.y);
    assert.match(await tooltip(), /^waiting for a CPU(?!.*click)/s); // it was clicked
    await session.shot(shots, 'selected-wait');
  });

  await claims.claim('a row of a table arrives on the timeline: the longest call of a segment, the longest wait', async () => {
    await session.key('Escape');
    await session.key('0');
    await tab('Segments');
    const [{process, hook}] = (await session.ask('__pv.aggregate()')).segments;
    const {max, calls} = await session.api(`durations?process=${process}&hook=${hook}&from=0&to=${2 ** 50}`);
    // Out of sight at first.
    const {durationNs} = await session.ask('__pv.view()');
    const from = max.begin_ns > durationNs / 2 ? 0 : durationNs * 0.8;
    await session.ask(`__pv.setWindow(${from}, ${from + 40 * (max.end_ns - max.begin_ns)})`);
    await page.locator('.data tbody tr').first().click();
    await session.settled();
    const item = await session.ask('__pv.item()');
    assert.deepEqual(item, {kind: 'segment', process, hook, row: null, thread: max.thread, from: max.begin_ns, to: max.end_ns});
    const shown = await session.ask('__pv.view()');
    assert.ok(shown.startNs <= max.begin_ns && max.begin_ns <= shown.endNs);
    assert.equal(shown.playhead, max.begin_ns);
    await session.shot(shots, 'selected-row');
    const {name} = (await session.api('hooks')).items.find((one) => one.hook === hook);
    assert.match(await tooltip(), new RegExp(`^${name}`));
    await isFramed((await page.locator('.tooltip.of-selected').evaluate((tip) => tip.offsetTop)) - 16);
    assert.match((await text('.durations')).replaceAll('\u2009', ''), new RegExp(`^${name}[^]*\\b${calls} calls begin`));
    await rowHas(name);
    await session.shot(shots, 'selected-row');
    await page.locator('.data tbody tr').first().click(); // again: nothing
    await session.settled();
    assert.equal(await session.ask('__pv.item()'), null);
    assert.equal(await page.locator('.durations, .tooltip.of-selected, .data tr.selected').count(), 0);
    await session.ask(`__pv.setWindow(${durationNs * 0.3}, ${durationNs * 0.31})`);
    await tab('Waits');
    const [{longest}] = (await session.ask('__pv.aggregate()')).waits;
    await page.locator('.data tbody tr').first().click();
    await session.settled();
    const wait = await session.ask('__pv.item()');
    assert.deepEqual([wait.kind, wait.thread, wait.from, wait.to], ['wait', longest.thread, longest.begin_ns, longest.end_ns]);
    assert.equal(await page.locator('.data tr.selected').count(), 1);
    assert.notEqual(await tooltip(), '');
    await session.key('Escape');
    await tab('Processes');
    await session.ask(`__pv.setWindow(${startNs}, ${endNs})`);
    await page.mouse.move(400, 300);
    await page.mouse.wheel(0, -5000);
    await session.settled();
  });
}
