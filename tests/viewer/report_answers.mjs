// The server's answers that come from the trace itself, against the reports of
// the same ranges: `compare`, and `csv`.
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
