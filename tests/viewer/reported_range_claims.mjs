// The tables that the page has of a range, once the report of it was read, are
// that report's: each number, limit and mark.
import assert from 'node:assert/strict';

const PAGE = 1000; // rows of an answer

// As JSON, with the names of each object in order; what is null may be left out.
const inOrder = (value) => JSON.stringify(value, (_, part) => part && typeof part === 'object' && !Array.isArray(part) ?
  Object.fromEntries(Object.entries(part).filter(([, one]) => one !== null).sort(([a], [b]) => a < b ? -1 : 1)) : part);

// Rows of one key are sorted: pids are reused. `cells` without `bounds` that are
// all 0 are those of rows that the page leaves out.
function tableOf(rows) {
  const table = new Map();
  for (const [key, cells, bounds, qualities] of rows) {
    if (cells.flat().every((cell) => !cell) && Object.keys(bounds ?? {}).length === 0) continue;
    table.set(key, [...(table.get(key) ?? []), inOrder([cells, bounds ?? {}, qualities ?? []])].sort());
  }
  return table;
}
// Returns how many cells are equal.
function equal(what, report, page) {
  const [theirs, ours] = [tableOf(report), tableOf(page)];
  const differ = [...new Set([...theirs.keys(), ...ours.keys()])]
      .filter((key) => `${theirs.get(key)}` !== `${ours.get(key)}`)
      .map((key) => `  ${key}: report ${theirs.get(key)}\n    page ${ours.get(key)}`);
  assert.ok(differ.length === 0, `${what}: ${differ.length} rows differ\n${differ.slice(0, 10).join('\n')}`);
  return page.reduce((sum, [, cells, bounds]) => sum + cells.flat().length + 2 * Object.keys(bounds ?? {}).length, 0);
}

// All pages of `aggregate` by the report. `get`: an answer as JSON.
export async function reportedTables(get, from, to, more = '') {
  const tables = ['threads', 'segments', 'hooks', 'cpus'];
  const ask = `aggregate?from=${from}&to=${to}&by=report&tables=${tables}${more}`;
  const all = await get(ask);
  for (const table of tables) {
    for (let offset = PAGE; offset < all[`${table}_total`]; offset += PAGE) {
      all[table].push(...(await get(`${ask}&offset=${offset}`))[table]);
    }
    assert.equal(all[table].length, all[`${table}_total`]);
  }
  assert.equal(all.processes_left_out, 0);
  assert.equal(all.final, true);
  return all;
}

// `report`: JSON of `report --from --to`; `names`: of processes, threads, hooks by
// number. Returns how many cells are equal.
export function compareReported(where, report, page, {processes, threads, hooks}) {
  const {events} = report.trace;
  const pid = (row) => processes.get(row.process)?.pid;
  const counts = (row) => events.map((event, i) => (Array.isArray(row.counts) ? row.counts[i] : row.counts?.[event]) ?? null);
  const nameOf = (row) => hooks.get(row.hook)?.name;
  const isHandler = (name) => /^(irq|softirq):/.test(name);
  const isCall = new Set([...hooks.values()].filter(({kind}) => kind === 2).map(({name}) => name));
  // What later records show to be another process is none of the index's.
  const pids = new Set([...processes.values()].map(({pid: known}) => known));
  const tids = new Set([...threads.values()].map(({tid: known}) => known));
  const inIndex = (of, known) => known.has(of) ? of : undefined;
  const withTime = (rows) => rows.filter((row) => row.on_cpu_ns !== null);
  const rowsOf = (rows, key, cells) => rows.map((row) => [`${key(row)}`, cells(row), row.bounds, row.qualities]);
  const run = (row) => [row.on_cpu_ns, row.dispatches, ...counts(row)];
  const thread = (row) => [...run(row), row.wait_ns, row.blocked_ns];
  const parts = (part) => part ? [part.incl, part.excl] : [null, null];
  const calls = (row) => [row.calls, ...parts(row.wall_ns), ...parts(row.on_cpu_ns), row.calls === 0 ? 0 : Math.floor(row.wall_ns.mean)];
  const cpu = (row) => [row.wall_ns, row.busy_ns, row.idle_ns, row.outside_ns, row.interrupts_ns, row.unattributed_ns, row.dispatches];
  const hits = (rows, key) => {
    const sums = new Map();
    for (const row of rows) sums.set(key(row), (sums.get(key(row)) ?? 0) + row.hits);
    return [...sums].map(([name, sum]) => [name, [sum]]);
  };
  let cells = 0;
  for (const [what, theirs, ours] of [
    ['processes', rowsOf(withTime(report.processes), (row) => inIndex(row.pid, pids), run), rowsOf(page.processes, pid, run)],
    ['threads', rowsOf(withTime(report.threads), (row) => inIndex(row.tid, tids), thread), rowsOf(page.threads, (row) => threads.get(row.thread)?.tid, thread)],
    ['segments', rowsOf(report.segments.filter((row) => !isHandler(row.segment)), (row) => `${inIndex(row.pid, pids)} ${row.segment}`, calls),
     rowsOf(page.segments, (row) => `${pid(row)} ${nameOf(row)}`, calls)],
    ['CPUs', rowsOf(report.cpus, (row) => row.cpu, cpu), rowsOf(page.cpus, (row) => row.cpu, cpu)],
    // The page has one row of a process for all devices, and for all hooks of one name.
    ['hooks', hits(report.hooks.filter((row) => row.pid !== 0 && !isCall.has(row.hook)), (row) => `${inIndex(row.pid, pids)} ${row.hook}`),
     hits(page.hooks, (row) => `${pid(row)} ${nameOf(row)}`)],
  ]) {
    cells += equal(`${where}: ${what}`, theirs, ours);
  }
  for (const [name, value] of [['idle_ns', page.idle.on_cpu_ns], ['outside_ns', page.outside.on_cpu_ns], ['interrupts_ns', page.interrupts_ns]]) {
    assert.equal(value, report.cpus.reduce((sum, row) => sum + row[name], 0), `${where}: ${name}`);
  }
  const parted = page.processes.reduce((sum, row) => sum + row.on_cpu_ns, 0) + page.idle.on_cpu_ns + page.outside.on_cpu_ns +
      page.interrupts_ns + page.unknown_ns;
  assert.equal(parted, page.cpu_ns, `${where}: the rows are all of the CPUs' time`);
  return cells;
}

// The tables `Call tree` and `All columns`: rows of `report --by path` and `--by segment`.
export async function compareTrees(where, report, get, from, to, processes) {
  let cells = 0;
  for (const [by, rows] of [['path', report.segment_paths], ['segment', report.segments]]) {
    const shown = [];
    for (let offset = 0, total = 1; offset < total; offset = shown.length) {
      const answer = await get(`calltree?by=${by}&from=${from}&to=${to}&offset=${offset}&limit=500`);
      shown.push(...answer.rows);
      total = answer.total;
      if (answer.rows.length === 0) break;
    }
    for (const row of shown) assert.ok(row.pid === 0 || !processes.has(row.process) || processes.get(row.process)?.pid === row.pid, `${where}: process ${row.process} of ${row.pid}`);
    const text = (list) => list.map(({process: _, has_callees: __, ...row}) => {
      if (by === 'segment') delete row.path;
      cells += Object.keys(row).length;
      return inOrder(row);
    }).sort();
    const [theirs, ours] = [text(rows), text(shown)];
    const at = theirs.findIndex((row, i) => row !== ours[i]);
    assert.ok(at < 0 && theirs.length === ours.length, `${where}: ${by}: report ${theirs[at]}\n  page ${ours[at]}`);
  }
  return Math.floor(cells / 2);
}
