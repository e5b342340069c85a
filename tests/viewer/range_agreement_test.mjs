// The page's numbers of a range are the report's:
//   range_agreement_test.mjs COUNTRACE REQUEST_PIPELINE
// Records the whole machine with system calls, interrupts, faults, wake-ups and
// disk requests, then compares `report --from --to` with `aggregate`, cell by
// cell, on random ranges: 20, or 200 with COUNTRACE_TEST_FULL; `compare` with
// each two of these reports, and `csv` with the report's. Then the same with
// losses: the report's interval of a number holds what the page does not mark.
// Where the page's numbers are not final, it reads the report: what it then has
// is equal, each number, limit and mark, with losses and of an imported perf.data.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {startServer, wholeIndex} from './browser_session.mjs';
import {compareChanges, compareCounter} from './report_answers.mjs';
import {compareReported, compareTrees, reportedTables} from './reported_range_claims.mjs';

const RANGES = process.env.COUNTRACE_TEST_FULL ? 200 : 20;
const ROWS = 1000; // of a page of the server's tables
// The page has no stacks off CPU: its CSV leaves out where a thread was blocked.
function withoutPlaces(csv) {
  const cells = line => line.match(/("([^"]|"")*"|[^,"]*)(,|$)/g).slice(0, -1);
  const lines = csv.split('\r\n');
  const names = lines[0].split(',');
  return lines.map(line => line && cells(`${line},`).filter((_, i) =>
    !(names[i] ?? '').startsWith('blocked_at')).join('').slice(0, -1)).join('\r\n');
}

const TABLES = ['process', 'thread', 'segment', 'path', 'hook', 'waker', 'preemptor', 'syscall', 'cpu']; // of a report
const [countrace, pipeline] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'countrace-range-'));
// Reads files, faults, blocks, and leaves processes behind.
const WORK = 'i=0; while [ $i -lt 25 ]; do ls -R /usr/lib/python3 >/dev/null 2>&1; ' +
    'grep -rs countrace /usr/include/linux >/dev/null; sleep 0.01; i=$((i+1)); done';

// Deterministic: a failure names the range that shows it.
let seed = 20261125;
const random = (below) => {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return Math.floor(seed / 2 ** 32 * below);
};
const run = (...args) => spawnSync(countrace, args, {encoding: 'utf8', maxBuffer: 1 << 30});
const sum = (rows, value) => rows.reduce((total, row) => total + value(row), 0);

// Rows of both sides by key, to be equal: [key, cells]. Pids may be reused: all
// rows of one pid are sorted.
function compare(what, report, page) {
  const table = (rows) => {
    const cells = new Map();
    for (const [key, row] of rows) {
      if (row.every((cell) => cell === 0)) continue;
      cells.set(key, [...(cells.get(key) ?? []), JSON.stringify(row)].sort());
    }
    return cells;
  };
  const [theirs, ours] = [table(report), table(page)];
  const differ = [...new Set([...theirs.keys(), ...ours.keys()])]
      .filter((key) => `${theirs.get(key)}` !== `${ours.get(key)}`)
      .map((key) => `  ${key}: report ${theirs.get(key)}, page ${ours.get(key)}`);
  assert.ok(differ.length === 0, `${what}: ${differ.length} rows differ\n${differ.slice(0, 20).join('\n')}`);
}
// One row of sums for each key.
function summed(rows) {
  const sums = new Map();
  for (const [key, row] of rows) {
    const before = sums.get(key);
    sums.set(key, before ? before.map((cell, i) => cell + row[i]) : row);
  }
  return [...sums];
}

// Why the numbers of each row are not exact: the letters that `report` prints.
// Returns how many rows were compared, and how many are unlike: where records
// were lost, the page has what a record after the range shows, such as the end
// of a call; the report of the range has not. The page may mark more: what is
// missing in the range may be of another row.
function compareQualities(where, report, page, {processes, threads, hooks}, lossy) {
  const letters = (row) => (row.qualities ?? []).map((quality) => quality[0]).join('');
  let [compared, unlike] = [0, 0];
  for (const [table, key, name] of [
    ['processes', (row) => row.pid, (row) => processes.get(row.process)?.pid],
    ['threads', (row) => row.tid, (row) => threads.get(row.thread)?.tid],
    ['segments', (row) => `${row.pid} ${row.segment}`, (row) => `${processes.get(row.process)?.pid} ${hooks.get(row.hook)?.name}`],
  ]) {
    const unique = (rows, of) => {
      const found = new Map();
      for (const row of rows) found.set(of(row), found.has(of(row)) ? null : row);
      return found;
    };
    const theirs = unique(report[table], key);
    for (const [id, row] of unique(page[table], name)) {
      const other = theirs.get(id);
      if (!row || !other) continue;
      ++compared;
      if (letters(row) === letters(other)) continue;
      // Counts between two dumps, some of them after a computed switch: which
      // edge cuts them is in the report only.
      const cut = Object.keys(other.bounds ?? {});
      if (letters(other) === 'bi' && letters(row) === 'i' && `${cut}` === 'counts.exec-runtime') continue;
      // How many threads a process has is in the report only.
      if (table === 'processes' && `${cut}` === 'threads' && letters(row) === letters(other).replace('b', '')) continue;
      // The page has calls and wall time of a segment, and of them alone its mark.
      if (table === 'segments' && cut.every((name) => !/^(calls|wall_ns)/.test(name)) &&
          letters(row) === letters(other).replace('b', '')) continue;
      ++unlike;
      if (lossy || letters(row).replace('b', '') === letters(other)) continue;
      // A page fault that the kernel gives up has no exit (libseccomp probes so):
      // the report limits what is around it, the page marks the call alone.
      if (table === 'segments' && letters(other) === 'bi' && letters(row) === 'i') continue;
      assert.fail(`${where}: ${table} ${id}: report ${letters(other)}, page ${letters(row)}: ${JSON.stringify(other.bounds)}`);
    }
  }
  return [compared, unlike];
}

const isSure = (row) => !row.qualities.includes('bounded');
// Numbers that the page does not mark are inside of the report's intervals.
// Returns how many were compared.
function compareBounded(where, report, page, {processes, threads, hooks, events}, lossy) {
  let compared = 0;
  const numbers = (row, bounds = {}) => [
    'on_cpu_ns', 'dispatches', 'wait_ns', 'blocked_ns', ...events.map((event) => `counts.${event}`),
  ].map((name) => {
    const event = events.indexOf(name.replace(/^counts\./, ''));
    const value = event < 0 ? row[name] : row.counts[name.slice(7)] ?? row.counts[event];
    return [name, bounds[name] ?? [value, value]];
  });
  const unique = (rows, key) => new Map(rows.map((row) => [key(row), row])
      .filter(([id]) => rows.filter((row) => key(row) === id).length === 1));
  for (const [table, key, name] of [['processes', 'pid', (row) => processes.get(row.process)?.pid],
                                    ['threads', 'tid', (row) => threads.get(row.thread)?.tid]]) {
    const theirs = unique(report[table], (row) => row[key]);
    for (const [id, row] of unique(page[table], name)) {
      const other = theirs.get(id);
      if (!other || !isSure(row)) continue;
      const reported = new Map(numbers(other, other.bounds));
      for (const [what, [low, high]] of numbers(row)) {
        const [least, most] = reported.get(what);
        if (typeof low !== 'number' || typeof least !== 'number') continue;
        assert.ok((most === null || low <= most) && (high === null || least <= high),
                  `${where}: ${what} of ${key} ${id}: page ${low} to ${high}, report ${least} to ${most}`);
        ++compared;
      }
    }
  }
  const segments = unique(report.segments, ({pid, segment}) => `${pid} ${segment}`);
  for (const [id, row] of unique(page.segments, (row) => `${processes.get(row.process)?.pid} ${hooks.get(row.hook)?.name}`)) {
    const other = segments.get(id);
    if (!other || !isSure(row)) continue;
    for (const [what, value, reported] of [['calls', row.calls, other.calls], ['wall_ns.incl', row.wall_ns.incl, other.wall_ns.incl],
                                           ['wall_ns.excl', row.wall_ns.excl, other.wall_ns.excl]]) {
      const [least, most] = other.bounds?.[what] ?? [reported, reported];
      assert.ok(least <= value && (most === null || value <= most),
                `${where}: ${what} of ${id}: page ${value}, report ${least} to ${most}`);
      ++compared;
    }
  }
  // CPUs, and what kept threads from running.
  const common = (what, [low, high], [least, most]) => {
    assert.ok((most === null || low <= most) && (high === null || least <= high),
              `${where}: ${what}: page ${low} to ${high}, report ${least} to ${most}`);
    ++compared;
  };
  const interval = (row, name) => row.bounds?.[name] ?? [row[name], row[name]];
  for (const row of page.cpus) {
    const other = report.cpus.find(({cpu}) => cpu === row.cpu);
    // The report's books of a CPU end with its last record in the range, if those behind it were lost; the page has
    // what a later record says of them.
    if (!other || !isSure(row) || row.busy_ns + row.idle_ns + row.outside_ns + row.interrupts_ns > other.wall_ns) continue;
    for (const name of ['busy_ns', 'idle_ns', 'outside_ns', 'interrupts_ns', 'dispatches']) {
      common(`${name} of CPU ${row.cpu}`, interval(row, name), interval(other, name));
    }
  }
  // Where the kernel hides switches, who was on the CPU is the index's guess, not
  // marked: the page shows waits as provisional, whatever the range.
  if (!lossy) return compared;
  for (const [state, rows, cause, ns, kind] of [
    ['blocked', report.wakers, (row) => `${row.segment ?? ''} ${row.waker.kind} ${row.waker.pid ?? ''}`, 'blocked_ns', 'pid'],
    ['waiting', report.preemptors, (row) => `${row.preemptor.kind} ${row.preemptor.tid ?? ''}`, 'wait_ns', 'tid'],
  ]) {
    const theirs = intervals(rows.map((row) => [`${row.pid} ${cause(row)}`, interval(row, ns)]));
    const ours = intervals(page.waits.filter((row) => row.state === state && isSure(row)).map((row) => [
      `${processes.get(row.process)?.pid} ${state === 'blocked' ? `${hooks.get(row.call)?.name ?? ''} ` : ''}${row.by} ${
          threads.get(row.by_thread)?.[kind] ?? ''}`, interval(row, 'ns')]));
    for (const [key, own] of ours) {
      if (theirs.has(key)) common(`${state} ${key}`, own, theirs.get(key));
    }
  }
  return compared;
}
// One interval for each key: the sum.
function intervals(rows) {
  const sums = new Map();
  for (const [key, [low, high]] of rows) {
    const [least, most] = sums.get(key) ?? [0, 0];
    sums.set(key, [least + low, most === null || high === null ? null : most + high]);
  }
  return sums;
}

// Compares all tables of `trace` on random ranges.
async function check(trace, lossy, briefly = false) {
  const ranges = lossy || briefly ? RANGES / 2 : RANGES;
  const server = await wholeIndex(await startServer(countrace, ['view', trace]));
  try {
    const {origin, searchParams} = new URL(server.url);
    const headers = {Authorization: `Bearer ${searchParams.get('token')}`};
    const fetched = async (path) => {
      const answer = await fetch(`${origin}/api/v1/${path}`, {headers});
      assert.equal(answer.status, 200, path);
      return answer;
    };
    const get = async (path) => (await fetched(path)).json();
    const all = async (name, id) => {
      const items = new Map();
      for (let offset = 0, total = 1; offset < total;) {
        const page = await get(`${name}?offset=${offset}`);
        for (const item of page.items) items.set(item[id], item);
        [offset, total] = [page.next, page.total];
      }
      return items;
    };
    for (const wrong of ['csv', 'csv?table=nope', 'csv?table=process&from=1', 'csv?table=process&from=2&to=1',
                         'csv?table=process&from=1&to=1', 'compare?before_from=x&before_to=2', 'compare?from=1',
                         'aggregate?from=0&to=9&by=nope', 'aggregate?from=0&to=9&by=report&tables=waits', 'aggregate?from=9&to=9&by=report',
                         'compare?format=xml', 'compare?limit=201', 'compare?offset=-1']) {
      assert.equal((await fetch(`${origin}/api/v1/${wrong}`, {headers})).status, 400, wrong);
    }
    const info = await get('trace');
    const processes = await all('processes', 'process');
    const threads = await all('threads', 'thread');
    const hooks = await all('hooks', 'hook');
    const pid = (row) => processes.get(row.process)?.pid;
    // Handlers belong to no process; the page has their time, not their calls.
    const isHandler = (name) => /^(irq|softirq):/.test(name);
    // The report also counts the records of calls; the page has them as segments.
    const calls = new Set([...hooks.values()].filter(({kind}) => kind === 2).map(({name}) => name));
    let cells = 0;
    let [marks, unlike, shown, final] = [0, 0, 0, 0];
    let spread = 0;
    let changes = 0;
    let last = null; // range and its report
    // The kernel did not show a switch, as on some machines beside busy ones: until
    // the report is there, the page's numbers have the limits of lost records.
    let hidden = false;
    for (let i = 0; i < ranges; ++i) {
      const cuts = [random(info.duration_ns), random(info.duration_ns)].sort((a, b) => a - b);
      const [from, to] = i === 0 ? [0, info.duration_ns] : cuts;
      const where = `range ${i}: ${from} to ${to} ns`;
      // The end includes the last record; for a command it is that of the last packet.
      const edges = ['--from', `${from}ns`, ...(to < info.duration_ns ? ['--to', `${to}ns`] : [])];
      const done = run('report', '--format', 'json', ...edges, trace);
      assert.equal(done.status, 0, done.stderr);
      const report = JSON.parse(done.stdout);
      if (last && report.cpus.length > 0) {
        const diff = await get(`compare?before_from=${last.from}&before_to=${last.to}&from=${from}&to=${to}&format=json`);
        changes += compareChanges(`${where}, before it ${last.from} to ${last.to}`, last.report, report, diff);
      }
      last = {from, to, report};
      // A table of each range is enough.
      const table = TABLES[i % TABLES.length];
      assert.equal(await (await fetched(`csv?table=${table}&from=${from}&to=${to}`)).text(),
                   withoutPlaces(run('report', '--by', table, '--format', 'csv', ...edges, trace).stdout),
                   `${where}: CSV by ${table}`);
      const tables = ['threads', 'segments', 'paths', 'hooks', 'cpus', 'waits'];
      const ask = `aggregate?from=${from}&to=${to}&tables=${tables}`;
      const page = await get(ask);
      for (const table of tables) {
        for (let offset = ROWS; offset < page[`${table}_total`]; offset += ROWS) {
          page[table].push(...(await get(`${ask}&offset=${offset}`))[table]);
        }
        assert.equal(page[table].length, page[`${table}_total`]);
      }
      assert.equal(page.processes_left_out, 0);

      // What the page shows in the end.
      const names = {processes, threads, hooks};
      final += page.final ? 1 : 0;
      if (page.final) compareReported(where, report, page, names);
      shown += compareReported(where, report, await reportedTables(get, from, to), names);
      shown += await compareTrees(where, report, get, from, to, processes);
      if (i === 1) {
        const condition = 'on_cpu_ns > 200us';
        const chosen = JSON.parse(run('report', '--where', condition, '--format', 'json', ...edges, trace).stdout);
        const narrowed = await reportedTables(get, from, to, `&where=${encodeURIComponent(condition)}`);
        for (const [table, key, own] of [['processes', 'pid', pid], ['threads', 'tid', (row) => threads.get(row.thread)?.tid]]) {
          assert.deepEqual(narrowed[table].map(own).sort(), chosen[table].map((row) => row[key]).sort(), `${where}: ${table} where ${condition}`);
        }
      }
      if (briefly) continue;

      const parts = sum(page.processes, (row) => row.on_cpu_ns) + page.idle.on_cpu_ns +
          page.outside.on_cpu_ns + page.interrupts_ns + page.unknown_ns;
      assert.equal(parts, page.cpu_ns, `${where}: sum of the rows`);
      const [rows, others] = compareQualities(where, report, page, {processes, threads, hooks}, lossy || !page.final);
      marks += rows;
      unlike += others;
      if (i === 0) {
        hidden = report.cpus.some((cpu) => cpu.unattributed_ns > 0 || cpu.bounds?.busy_ns) ||
            report.preemptors.some((row) => row.preemptor.kind === 'not_known');
      }
      if (lossy || hidden) {
        cells += compareBounded(where, report, page, {processes, threads, hooks, events: info.events}, lossy);
        continue;
      }
      // Time: each thread's, and 100 % in all.
      const events = report.trace.events;
      assert.deepEqual(events, info.events);
      // Counts of which an edge cuts an interval are marked only.
      const whole = events.filter((event) => event !== 'exec-runtime');
      const counts = (row) => whole.map((event) => row.counts[events.indexOf(event)] ?? 0);
      compare(`${where}: processes`,
              report.processes.map((row) => [row.pid, [row.on_cpu_ns ?? 0, row.dispatches,
                                                       ...whole.map((event) => row.counts[event] ?? 0)]]),
              page.processes.map((row) => [pid(row), [row.on_cpu_ns, row.dispatches, ...counts(row)]]));
      const tid = (row) => threads.get(row.thread)?.tid;
      compare(`${where}: threads`,
              report.threads.map((row) => [row.tid, [row.on_cpu_ns ?? 0, row.dispatches, row.wait_ns ?? 0, row.blocked_ns ?? 0,
                                                     ...whole.map((event) => row.counts[event] ?? 0)]]),
              page.threads.map((row) => [tid(row), [row.on_cpu_ns, row.dispatches, row.wait_ns, row.blocked_ns ?? 0, ...counts(row)]]));
      compare(`${where}: CPUs`,
              report.cpus.map((row) => [row.cpu, [row.busy_ns, row.idle_ns, row.outside_ns, row.interrupts_ns, row.dispatches]]),
              page.cpus.map((row) => [row.cpu, [row.busy_ns, row.idle_ns, row.outside_ns, row.interrupts_ns, row.dispatches]]));
      for (const [name, value] of [['idle_ns', page.idle.on_cpu_ns], ['interrupts_ns', page.interrupts_ns],
                                   ['outside_ns', page.outside.on_cpu_ns]]) {
        assert.equal(value, sum(report.cpus, (cpu) => cpu[name]), `${where}: ${name}`);
      }
      // Before its first record the report has no time of a CPU, the page has it
      // as not known.
      assert.equal(page.cpu_ns - page.unknown_ns, sum(report.cpus, (cpu) => cpu.wall_ns - cpu.unattributed_ns),
                   `${where}: known time`);
      // An edge cuts an interval of the others: the page has the least.
      const index = events.indexOf('exec-runtime');
      if (index >= 0) {
        for (const row of page.processes) {
          const found = report.processes.filter((item) => item.pid === pid(row));
          if (found.length !== 1) continue;
          const count = row.counts[index];
          const [low, high] = row.marks[index] === '~' ? [0, null] : [count, row.marks[index] === '' ? count : null];
          const value = found[0].counts['exec-runtime'];
          const [least, most] = found[0].bounds?.['counts.exec-runtime'] ?? [value, value];
          assert.ok((most === null || low <= most) && (high === null || least <= high),
                    `${where}: exec-runtime of ${pid(row)}: page ${low} to ${high}, report ${least} to ${most}`);
          ++spread;
        }
      }

      compare(`${where}: wakers`,
              summed(report.wakers.map((row) => [
                `${row.pid} ${row.segment ?? ''} ${row.waker.kind} ${row.waker.pid ?? ''}`, [row.blocked_ns, row.times]])),
              summed(page.waits.filter((row) => info.wakeups && row.state === 'blocked').map((row) => [
                `${pid(row)} ${hooks.get(row.call)?.name ?? ''} ${row.by} ${threads.get(row.by_thread)?.pid ?? ''}`, [row.ns, row.times]])));
      // The page has who had the thread's CPU, where the report also has that
      // another one was idle on which it might have run.
      const moved = new Set(report.preemptors.filter((row) => row.preemptor.kind === 'idle_allowed').map((row) => row.pid));
      const kept = (of, who) => moved.has(of) ? `${of}` : `${of} ${who}`;
      compare(`${where}: preemptors`,
              summed(report.preemptors.map((row) => [
                kept(row.pid, `${row.preemptor.kind} ${row.preemptor.tid ?? ''}`), [row.wait_ns]])),
              summed(page.waits.filter((row) => row.state === 'waiting').map((row) => [
                kept(pid(row), `${row.by} ${threads.get(row.by_thread)?.tid ?? ''}`), [row.ns]])));

      compare(`${where}: segments`,
              summed(report.segments.filter((row) => !isHandler(row.segment)).map((row) => [
                `${row.pid} ${row.segment}`, [row.calls, row.wall_ns.incl, row.wall_ns.excl]])),
              summed(page.segments.map((row) => [
                `${pid(row)} ${hooks.get(row.hook)?.name}`, [row.calls, row.wall_ns.incl, row.wall_ns.excl]])));
      compare(`${where}: means`,
              report.segments.filter((row) => !isHandler(row.segment)).map((row) => [`${row.pid} ${row.segment}`, [Math.floor(row.wall_ns.mean)]]),
              page.segments.map((row) => [`${pid(row)} ${hooks.get(row.hook)?.name}`, [row.wall_ns.mean ?? 0]]));
      compare(`${where}: paths`,
              summed(report.segment_paths.filter((row) => !isHandler(row.segment)).map((row) => [
                `${row.pid} ${row.path.join(' > ')}`, [row.calls, row.wall_ns.incl, row.wall_ns.excl]])),
              summed(page.paths.map((row) => [
                `${pid(row)} ${row.path.map((hook) => hooks.get(hook)?.name).join(' > ')}`, [row.calls, row.wall_ns.incl, row.wall_ns.excl]])));
      compare(`${where}: hooks`,
              summed(report.hooks.filter((row) => row.pid !== 0 && !calls.has(row.hook)).map((row) => [`${row.pid} ${row.hook}`, [row.hits]])),
              summed(page.hooks.map((row) => [`${pid(row)} ${hooks.get(row.hook)?.name}`, [row.hits]])));
      cells += report.processes.length * (2 + whole.length) + 3 * report.segments.length + report.hooks.length + 6;
    }
    console.log(`${shown} cells, limits and marks of the report's rows equal; ${final} of ${ranges} ranges were final at once`);
    assert.ok(final > 0 || !trace.endsWith('hooks.ctf'), 'no numbers of hooks alone are final');
    if (briefly) return;
    assert.ok(!lossy || final === 0, 'with losses the numbers of the index are not final');
    // How many calls an edge or a lost record cuts is the machine's; with losses the numbers above are what must hold.
    assert.ok(lossy || hidden || unlike <= marks / 10, `${unlike} of ${marks} rows have other qualities`);
    const level = Math.ceil(Math.log2(info.duration_ns / 400));
    const overTime = run('report', '--by', 'time', '--every', `${2 ** level}ns`, '--format', 'json', trace);
    assert.equal(overTime.status, 0, overTime.stderr);
    let columns = 0;
    for (const [number, event] of info.events.entries()) {
      const row = info.counter_rows_from + number * (info.cpus + 1);
      columns += compareCounter(event, await (await fetched(`tile/${row}/${level}/0`)).arrayBuffer(), JSON.parse(overTime.stdout));
    }
    console.log(`${columns} columns of counters with common values`);
    console.log(`${info.records} records, ${ranges} ranges, ${cells} cells ${lossy ? 'have common values' : 'equal'}, ` +
                `${spread} within their limits, ${changes} changes and the qualities of ${marks - unlike} of ${marks} rows equal`);
  } finally {
    await server.stop();
  }
}

const record = (trace, ...options) => run(
    'record', '-a', '--kernel', 'syscalls,irq,softirq,faults,block,wakeups', ...options, '-o', trace,
    '--', 'timeout', '1', 'sh', '-c', WORK);

try {
  const trace = join(directory, 'machine.ctf');
  const recorded = record(trace);
  if (recorded.status === 5 || /needs? BPF|privilege/.test(recorded.stderr) && !existsSync(trace)) {
    console.log(`SKIPPED: cannot record the whole machine: ${recorded.stderr.split('\n')[0]}`);
    process.exit(0);
  }
  assert.ok(existsSync(trace), recorded.stderr);
  await check(trace, false);
  // Hooks alone: no edge cuts counts.
  const hooks = join(directory, 'hooks.ctf');
  assert.equal(run('record', '--no-kernel', '-o', hooks, '--', pipeline, '300', '2').status, 0);
  await check(hooks, false, true);
  // A ring that is full again and again.
  const lossy = join(directory, 'lossy.ctf');
  record(lossy, '--kernel-ring', '64K');
  await check(lossy, true);
  // All that perf says of switches, without wake-ups or page faults.
  const perf = join(directory, 'perf.data');
  const done = spawnSync('perf', ['record', '-a', '-k', 'CLOCK_MONOTONIC', '--switch-events', '-e', 'sched:sched_switch', '-o', perf,
                                  '--', 'timeout', '1', 'sh', '-c', WORK], {encoding: 'utf8'});
  if (done.error || !existsSync(perf)) {
    console.log(`no perf.data: ${done.error ?? done.stderr}`);
  } else {
    const converted = join(directory, 'perf.ctf');
    const imported = run('import', '-o', converted, perf);
    assert.ok(existsSync(converted), imported.stderr);
    await check(converted, false, true);
  }
} finally {
  rmSync(directory, {recursive: true, force: true});
}
