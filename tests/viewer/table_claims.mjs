// What the tables of a range hold together, and what a condition leaves of them,
// for browser_trace_test.mjs.
import assert from 'node:assert/strict';

import {select} from './selection_claims.mjs';

export async function claimTables({session, claims, run, trace, shots}) {
  const {page} = session;
  const tab = async (name) => {
    await page.getByRole('tab', {name}).click();
    await session.until(`__pv.aggregate() !== null && __pv.table() === ${JSON.stringify(name.toLowerCase())}`);
    await session.settled();
  };
  const numbers = (text) => Number(text.replace(/[\s\u2009%]/g, ''));
  // The cells of a column, and the one at the foot.
  const column = (title) => page.evaluate((wanted) => {
    const table = document.querySelector('.data');
    const at = [...table.tHead.rows[0].cells].findIndex((cell) => cell.innerText.replace(/[^\w ]/g, '').trim() === wanted);
    const texts = (rows) => [...rows].map((row) => row.cells[at].innerText);
    return {rows: texts(table.tBodies[0].rows), foot: texts(table.tFoot.rows)};
  }, title);
  const filter = async (condition) => {
    await page.locator('.find input').fill(condition === '' ? '' : `:${condition}`);
    if (condition === '') await page.locator('.unfilter').click();
    else await page.keyboard.press('Enter');
    await session.until(`(${JSON.stringify(condition)} === '') === (__pv.aggregate()?.unselected === undefined)`);
    await session.settled();
  };

  await claims.claim('the rows of a table are 100 % of the CPUs, also of a selection and under a condition', async () => {
    await session.revisit('');
    for (const range of ['whole', 'part', 'condition']) {
      if (range === 'part') await select(session, 0.3, 0.62);
      if (range === 'condition') await filter('on_cpu_ns > 1ms');
      for (const name of ['Processes', 'Threads']) {
        await tab(name);
        const {cpu_ns: all, interrupts_ns: interrupts, unselected} = await session.ask('__pv.aggregate()');
        const {rows, foot} = await column('Share');
        const sum = rows.reduce((total, text) => total + numbers(text), 0);
        assert.ok(Math.abs(sum - 100) <= 0.05 * rows.length + 1e-9, `${range}, ${name}: ${rows}`);
        assert.equal(numbers(foot[0]), 100, `${range}, ${name}`);
        const shown = await session.ask('__pv.runRows()');
        assert.equal(shown.reduce((total, row) => total + row.onCpu, 0), all, `${range}, ${name}`);
        assert.equal(shown.some((row) => row.key === 'interrupts'), interrupts > 0);
        assert.equal(unselected !== undefined, range === 'condition');
        assert.equal(shown.some((row) => row.key === 'unselected'), (unselected?.[name.toLowerCase()].on_cpu_ns ?? 0) > 0);
        await session.shot(shots, `trace-sum-${range}-${name.toLowerCase()}`);
      }
      await tab('CPUs');
      const answer = await session.ask('__pv.aggregate()');
      for (const row of answer.cpus) {
        assert.equal(row.busy_ns + row.idle_ns + row.outside_ns + row.interrupts_ns + row.unknown_ns, answer.to - answer.from);
      }
      await tab('Waits');
      const {rows, foot} = await column('Share');
      const sum = rows.reduce((total, text) => total + numbers(text), 0);
      assert.ok(Math.abs(sum - 100) <= 0.05 * rows.length + 1e-9, `${range}, waits: ${rows}`);
      assert.equal(numbers(foot[0]), 100);
    }
    await filter('');
  });

  await claims.claim('a condition leaves the rows of the tables that `report --where --from --to` selects', async () => {
    const {selection: {from, to}} = await session.ask('__pv.view()');
    const names = new Map((await session.api('processes')).items.map((item) => [item.process, item]));
    const tids = new Map((await session.api('threads')).items.map((item) => [item.thread, item.tid]));
    await tab('Threads');
    const {threads: all} = await session.ask('__pv.aggregate()');
    const middle = all[all.length >> 1].on_cpu_ns;
    for (const condition of [`on_cpu_ns > ${middle}`, `comm =~ "^request" && dispatches > 3`]) {
      await filter(condition);
      const report = JSON.parse(run('report', '--format', 'json', '--where', condition, '--from', `${from}ns`, '--to', `${to}ns`, trace));
      await tab('Processes');
      const {processes} = await session.ask('__pv.aggregate()');
      const sorted = (rows) => rows.map((row) => row.join(' ')).sort();
      assert.deepEqual(
          sorted(processes.map((row) => [names.get(row.process).pid, row.on_cpu_ns, row.dispatches])),
          sorted(report.processes.map((row) => [row.pid, row.on_cpu_ns, row.dispatches])), condition);
      await tab('Threads');
      const {threads, threads_total: total} = await session.ask('__pv.aggregate()');
      assert.deepEqual(
          sorted(threads.map((row) => [tids.get(row.thread), row.on_cpu_ns, row.wait_ns])),
          sorted(report.threads.map((row) => [row.tid, row.on_cpu_ns, row.wait_ns])), condition);
      assert.match(await page.locator('.condition').innerText(), new RegExp(`^${total} of \\d+ rows`));
      // Rows without the field stay, and the table says so.
      await tab('CPUs');
      assert.match(await page.locator('.condition').innerText(), /^All rows: they lack a field/);
    }
    await filter('');
    assert.equal(await page.locator('.condition').count(), 0);
    await page.getByRole('tab', {name: 'Processes'}).click();
    await session.key('Escape');
  });
}
