// What the table of functions says of single events, for
// browser_functions_test.mjs: of two periods that agree or do not, of several
// events, and of waits, whose amounts are sums.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {existsSync, mkdirSync} from 'node:fs';
import {join} from 'node:path';

// Samples of calls of malloc on one CPU, which repeat after so many
// (tests/e2e/known_shares.py).
const RECORD_PATTERN = `
import os, pathlib, sys
sys.path.insert(0, sys.argv[1])
from known_shares import KnownShares
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
known = KnownShares(sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4]))
try:
    known.record(f'every=100:{known.malloc.event}', 'pattern', 100000, int(sys.argv[5]))
finally:
    known.close()
`;
const words = (text) => text.replace(/\s+/g, ' ').trim();

export async function claimSampleEvents({session, claims, run, view, table, axe, directory, countrace, shares, waits, shots}) {
  const record = (name, ...args) => {
    const trace = join(directory, name);
    run('record', '-q', '-o', trace, ...args);
    return trace;
  };
  const report = (trace, ...more) => JSON.parse(run('report', '--by', 'function', '--format', 'json', ...more, trace));
  const shown = async (trace, expression) => {
    await view(trace);
    await session.page.getByRole('tab', {name: 'Functions'}).click();
    return table(expression);
  };
  // Shares of an event are of all its samples.
  const checkShares = (answer) => {
    for (const {event, value} of answer.all) {
      const self = answer.rows.filter((row) => row.event === event).reduce((sum, row) => sum + row.self, 0);
      // Each row rounds down.
      assert.ok(self <= value && value <= self + answer.rows.length, `${event}: ${self} of ${value}`);
    }
  };

  await claims.claim('two periods that agree, and two that do not, as the report says it', async () => {
    if (!existsSync('/sys/kernel/tracing/uprobe_events')) return console.log('no probes of tracefs: not claimed');
    for (const [length, agree] of [[100, true], [163, false]]) {
      const folder = join(directory, `periods-${length}`);
      mkdirSync(folder);
      const done = spawnSync('python3', ['-c', RECORD_PATTERN, join(import.meta.dirname, '../e2e'), countrace, shares, folder, String(length)],
                             {encoding: 'utf8'});
      assert.equal(done.status, 0, done.stderr);
      const trace = join(folder, 'trace.ctf');
      const wanted = report(trace);
      const answer = await shown(trace);
      assert.deepEqual([answer.rows, answer.books], [wanted.rows.slice(0, 100), wanted.books]);
      assert.equal(answer.books[0].periods.agree, agree);
      checkShares(await session.api('functions'));
      const line = session.page.locator('.footer.periods');
      const text = words(await line.innerText());
      const printed = words(run('report', '--by', 'function', trace));
      assert.match(text, agree ? /^the two periods agree: / : /^the two periods disagree: /);
      assert.ok(printed.includes(text), `${text}\n${printed}`);
      assert.equal(await line.evaluate((element) => element.classList.contains('disagree')), !agree);
      const colours = await session.ask(`[...document.querySelectorAll('.functions .footer')].map((one) => getComputedStyle(one).color)`);
      assert.equal(colours[0] === colours[1], agree, `${colours}`);
      await session.page.locator('.range-body').evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await session.shot(shots, `functions-periods-${length}`);
      if (!agree) await axe('the periods');
    }
  });

  await claims.claim('of several events one at a time; waits are sums', async () => {
    const trace = record('waits.ctf', '--offcpu', '1ms', '--wakeup-stacks', '--sample', '997', '--', waits);
    const wanted = report(trace);
    const answer = await shown(trace);
    const events = wanted.books.map(({event}) => event);
    assert.ok(events.includes('off-cpu') && events.includes('cpu-clock'), `${events}`);
    checkShares(await session.api('functions'));
    const names = await session.page.locator('.views[aria-label="Event"] button').allInnerTexts();
    assert.deepEqual(names, events);
    for (const [number, event] of events.entries()) {
      await session.page.locator('.views[aria-label="Event"] button').nth(number).click();
      const rows = wanted.rows.filter((row) => row.event === event);
      const one = await table(`f.total === ${rows.length} && (${rows.length} === 0 || f.rows[0].event === '${event}')`);
      assert.deepEqual(one.rows, rows.slice(0, 100));
      const footer = await session.page.locator('.functions .footer').first().innerText();
      assert.match(footer, new RegExp(event === 'cpu-clock' ? '^Estimates from ' : '^Sums of '));
      if (event === 'cpu-clock') continue;
      const text = await session.page.locator('.functions tbody').innerText();
      assert.ok(!text.includes('~'), text);
      assert.equal(await session.page.locator('.functions td.limits').count(), 0);
      assert.match(text, /ms/);
      assert.match(footer, event === 'off-cpu' ? /shorter waits .* = off CPU [\d.]+\s\w+/ : /= off CPU until woken/);
      await session.shot(shots, `functions-${event}`);
    }
    assert.deepEqual(answer.books, wanted.books);
    // The code of a function of the program: also without a tilde.
    await session.page.locator('.views[aria-label="Event"] button', {hasText: /^off-cpu$/}).click();
    const offCpu = wanted.rows.filter((row) => row.event === 'off-cpu');
    await table(`f.rows[0].event === 'off-cpu'`);
    await session.page.locator('.functions tbody tr').first().click();
    await session.until('__pv.listing() || document.querySelector(".function-source .refused")');
    await session.settled();
    const head = await session.page.locator('.function-source .range-what').innerText();
    assert.match(head, /self [\d.]+\s\w+, [\d.]+\s% +of all off-cpu/);
    assert.ok(offCpu.length > 0);
    await session.key('Escape');
    const {threads} = await session.api(`functions?event=${events.indexOf('off-cpu')}`);
    assert.equal(threads.reduce((sum, {samples}) => sum + samples, 0), wanted.books.find(({event}) => event === 'off-cpu').samples);
  });
}
