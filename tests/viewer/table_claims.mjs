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
        assert.equal(shown.reduce((total, row) => total + row.on_cpu_ns, 0), all, `${range}, ${name}`);
        assert.equal(shown.some((row) => row.key === 'interrupts'), interrupts > 0);
        assert.equal(unselected !== undefined, range === 'condition');
        assert.equal(shown.some((row) => row.key === 'unselected'), (unselected?.[name.toLowerCase()].on_cpu_ns ?? 0) > 0);
        await session.shot(shots, `trace-sum-${range}-${name.toLowerCase()}`);
      }
      await tab('CPUs');
      const answer = await session.ask('__pv.aggregate()');
      for (const row of answer.cpus) {
        // The report has no time of a CPU before its first record.
        assert.equal(row.busy_ns + row.idle_ns + row.outside_ns + row.interrupts_ns + row.unattributed_ns, row.wall_ns);
        assert.ok(row.wall_ns <= answer.to - answer.from && row.wall_ns > 0.9 * (answer.to - answer.from), `${row.wall_ns}`);
      }
      await tab('Waits');
      const {rows, foot} = await column('Share');
      const sum = rows.reduce((total, text) => total + numbers(text), 0);
      assert.ok(Math.abs(sum - 100) <= 0.05 * rows.length + 1e-9, `${range}, waits: ${rows}`);
      assert.equal(numbers(foot[0]), 100);
    }
    await filter('');
  });

  await claims.claim('rows of CPUs and waits say that their numbers are not sure', async () => {
    // Where the kernel hides switches some are inferred.
    const isMarked = (await session.ask('__pv.aggregate()')).waits.some(({qualities}) => qualities.length > 0);
    assert.equal(await page.locator('.data th[title*="records were lost"]').count(), isMarked ? 1 : 0);
    // This recording lost nothing: the marks are put in.
    await page.route(/\/api\/v1\/aggregate\b/, async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      for (const row of [...json.cpus ?? [], ...json.waits ?? []]) row.qualities = ['bounded'];
      await route.fulfill({response, json});
    });
    for (const [name, rows] of [['CPUs', 'cpus'], ['Waits', 'waits']]) {
      await tab(name);
      await session.until(`__pv.aggregate()?.${rows} && document.querySelector(".data tbody td:last-child")?.innerText === "b"`);
      const marks = await page.locator('.data tbody tr:not(.rest) td:last-child').allInnerTexts();
      assert.deepEqual(marks, (await session.ask('__pv.aggregate()'))[rows].map(() => 'b'));
    }
    await page.unrouteAll({behavior: 'wait'});
    await tab('Processes');
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
  });

  await claims.claim('the call tree has the call paths and columns of `report --by path`, opens and closes', async () => {
    const {selection: {from, to}} = await session.ask('__pv.view()');
    await tab('Segments');
    await page.getByRole('button', {name: 'Call tree'}).click();
    await session.until('__pv.callTree()');
    const ranged = ['--from', `${from}ns`, '--to', `${to}ns`];
    const check = async (where) => {
      const report = JSON.parse(run('report', '--by', 'path', '--format', 'json', ...ranged, ...where, trace));
      const {rows, total, sums} = await session.ask('__pv.callTree()');
      const key = (row) => JSON.stringify([row.pid, row.path]);
      const sorted = (all) => all.map(({process, has_callees: inner, ...row}) => row).sort((a, b) => key(a) < key(b) ? -1 : 1);
      assert.ok(total > 0 && total <= 300);
      assert.deepEqual(sorted(rows), sorted(report.segment_paths));
      assert.equal(sums.wall_ns.excl, report.segment_paths.reduce((sum, row) => sum + row.wall_ns.excl, 0));
      for (const [index, {path, process, has_callees: inner}] of rows.entries()) {
        const next = rows[index + 1];
        assert.equal(inner, next?.process === process && next.path.length > path.length && path.every((name, i) => next.path[i] === name), path.join(' > '));
      }
      return rows;
    };
    const rows = await check([]);
    const shown = () => page.locator('.calltree tbody tr:not(.group)').count();
    assert.equal(await shown(), rows.length);
    const outer = rows.findIndex((row) => row.has_callees);
    assert.ok(outer >= 0);
    const inside = rows.slice(outer + 1).findIndex((row) => row.path.length <= rows[outer].path.length);
    await page.locator('.calltree tbody tr:not(.group)').nth(outer).click();
    assert.equal(await shown(), rows.length - (inside < 0 ? rows.length - outer - 1 : inside));
    await page.locator('.calltree tbody tr:not(.group)').nth(outer).press('Enter');
    assert.equal(await shown(), rows.length);
    // The cells of a row: as the table of segments writes them.
    const heads = await page.locator('.calltree th .title').allInnerTexts();
    for (const title of ['Calls', 'Wall', 'Wall self', 'On-CPU', 'On-CPU self', 'Off-CPU', 'Wait', 'Blocked', 'Mean', 'Min', 'p50', 'p99', 'Max', 'page-faults']) {
      assert.ok(heads.includes(title), `${title}: ${heads}`);
    }
    await session.shot(shots, 'trace-call-tree');
    await session.until('location.hash.includes("tab=calltree")');
    await page.locator('.find input').fill(':wall_ns.p99 > 1us');
    await page.keyboard.press('Enter');
    await session.until('__pv.callTree()?.unselected !== undefined');
    // The rows of the timeline have no field `wall_ns.p99`, the call paths have.
    await check(['--where', 'wall_ns.p99 > 1us']);
    for (const wrong of ['limit=501', 'offset=-1', 'by=cpu', 'from=5&to=4', 'from=1', 'where=wall_ns.p99+%3E', 'where=nothing+%3E+3', 'where=comm+%3E+3']) {
      assert.equal(await page.evaluate((query) => fetch(`/api/v1/calltree?${query}`).then(({status}) => status), wrong), 400, wrong);
    }
    // Chromium itself reports each answer that is an error.
    session.problems = session.problems.filter((problem) => !/status of 400/.test(problem));
    await page.locator('.unfilter').click();
    await session.until('__pv.callTree()?.unselected === undefined');
    await page.getByRole('button', {name: 'All columns'}).click();
    await session.until('__pv.callTree()?.rows.every(({path}) => path.length === 1)');
    const bySegment = JSON.parse(run('report', '--by', 'segment', '--format', 'json', ...ranged, trace)).segments;
    const plain = (all) => all.map(({process, has_callees: inner, path, ...row}) => row)
        .sort((a, b) => `${a.pid} ${a.segment}` < `${b.pid} ${b.segment}` ? -1 : 1);
    assert.ok(bySegment.length > 1);
    assert.deepEqual(plain((await session.ask('__pv.callTree()')).rows), plain(bySegment));
    assert.equal(await shown(), bySegment.length);
    await session.until('location.hash.includes("tab=allcolumns")');
    await session.shot(shots, 'trace-all-columns');
    await page.getByRole('button', {name: 'By segment'}).click();
    await page.getByRole('tab', {name: 'Processes'}).click();
    await session.key('Escape');
  });
}
