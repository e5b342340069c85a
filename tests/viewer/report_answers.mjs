// The server's answers against reports of the same trace: `compare` and `csv`,
// which come from the trace itself, and the limits of counter columns.
import assert from 'node:assert/strict';

// One side's numbers by process name and call path, as `report` has them: "calls",
// "wall", "on-CPU", events.
function numbersByPath(report) {
  const rows = new Map();
  const add = (process, path, metric, value) => {
    const key = JSON.stringify([process, path]);
    const row = rows.get(key) ?? {};
    row[metric] = (row[metric] ?? 0) + value;
    rows.set(key, row);
  };
  const inSegments = new Map();
  for (const row of report.segment_paths) {
    add(row.comm, row.path, 'calls', row.calls);
    add(row.comm, row.path, 'wall', row.wall_ns.excl);
    if (row.on_cpu_ns) {
      add(row.comm, row.path, 'on-CPU', row.on_cpu_ns.excl);
      // Interrupts (pid 0) are of no process.
      if (row.pid !== 0) inSegments.set(row.comm, (inSegments.get(row.comm) ?? 0) + row.on_cpu_ns.excl);
    }
    for (const [event, count] of Object.entries(row.counts ?? {})) {
      if (count) add(row.comm, row.path, event, count.excl);
    }
  }
  for (const row of report.processes) add(row.comm, [], 'on-CPU', row.on_cpu_ns ?? 0);
  for (const [process, ns] of inSegments) add(process, [], 'on-CPU', -ns);
  return rows;
}

// `diff`: of compare?format=json, from the range of `before` to that of `after`.
// Returns how many numbers were compared.
export function compareChanges(where, before, after, diff) {
  const sides = [before, after].map(numbersByPath);
  const cpuTime = (report) => report.processes.reduce((sum, row) => sum + (row.on_cpu_ns ?? 0), 0);
  const total = diff.totals.find(({metric}) => metric === 'on-CPU');
  assert.equal(total.self.before, cpuTime(before), `${where}: CPU time before`);
  assert.equal(total.self.after, cpuTime(after), `${where}: CPU time after`);
  let compared = 2;
  for (const row of diff.rows) {
    const key = JSON.stringify([row.process, row.path]);
    for (const {metric, self} of row.metrics) {
      if (!['calls', 'wall', 'on-CPU', 'page-faults'].includes(metric) || row.path.length === 0 && metric !== 'on-CPU') continue;
      const [a, b] = sides.map((rows) => rows.get(key)?.[metric] ?? 0);
      assert.deepEqual([self.before, self.after, self.change], [a, b, b - a], `${where}: ${key} ${metric}`);
      // One run each: the noise is not known, only what may be missing.
      if (self.interval === null) assert.equal(self.verdict, a === b ? 'within_noise' : 'noise_unknown', `${where}: ${key} ${metric}`);
      ++compared;
    }
  }
  return compared;
}

const COLUMN_BYTES = 24;
const HEADER_BYTES = 48;

// `tile`: of an event on all CPUs, whose columns are the intervals of `report`
// (--by time). Both have limits that hold the truth, so that they have common
// values. Returns how many columns were compared.
export function compareCounter(event, tile, report) {
  const view = new DataView(tile);
  let compared = 0;
  for (const [column, interval] of report.intervals.entries()) {
    const at = HEADER_BYTES + COLUMN_BYTES * column;
    const [, , mean, lo, hi] = [0, 4, 8, 12, 16].map((word) => view.getFloat32(at + word, true));
    const count = interval.counts[event]?.total;
    if (typeof count !== 'number') continue;
    const seconds = (interval.end_ns - interval.begin_ns) / 1e9;
    const [least, most] = interval.bounds?.[`counts.${event}.total`] ?? [count, count];
    const slack = (rate) => 1e-5 * rate + 1e-3; // of 32 bits
    const where = `${event}, column ${column}: page ${lo * seconds} to ${hi * seconds}, report ${least} to ${most}`;
    assert.ok(lo <= mean + slack(mean) && mean <= hi + slack(mean), where);
    assert.ok(most === null || lo * seconds <= most + slack(most), where);
    assert.ok(least <= hi * seconds + slack(least), where);
    ++compared;
  }
  return compared;
}
