// The call tree of a page without its trace: the call paths that the index has
// (API.md, "aggregate"), as rows of the report. What only records have is null:
// the lengths of single calls, waits and counts.

import type {Aggregate, CallTreeAnswer, Parts, PathRow, PathTotals} from '../api/schema';

const parts = (incl: number|null, excl: number|null): Parts|null => incl === null || excl === null ? null : {incl, excl};

function offCpu(path: PathTotals, onCpu: Parts|null): Parts|null {
  return onCpu && {incl: path.wall_incl_ns - onCpu.incl, excl: path.wall_excl_ns - onCpu.excl};
}

const isInside = (inner: PathTotals|undefined, outer: PathTotals): boolean =>
    inner !== undefined && inner.process === outer.process && inner.path.length > outer.path.length &&
    outer.path.every((hook, depth) => inner.path[depth] === hook);

// The first `limit` rows; of a row more it only says whether it is a callee.
export function indexCallTree(data: Aggregate, limit: number, hookName: (hook: number) => string): CallTreeAnswer {
  const paths = data.paths ?? [];
  const rows = paths.slice(0, limit).map((path, i): PathRow => {
    const onCpu = parts(path.on_cpu_incl_ns, path.on_cpu_excl_ns);
    return {
      process: path.process,
      path: path.path.map(hookName),
      has_callees: isInside(paths[i + 1], path),
      calls: path.calls,
      wall_ns: {incl: path.wall_incl_ns, excl: path.wall_excl_ns, mean: null, min: null, max: null, p50: null, p99: null},
      on_cpu_ns: onCpu,
      off_cpu_ns: offCpu(path, onCpu),
      wait_ns: null,
      blocked_ns: null,
      counts: null,
    };
  });
  const sums = data.sums?.paths;
  return {
    total: data.paths_total ?? 0,
    rows,
    sums: {
      calls: sums?.calls ?? 0, wall_ns: sums?.wall_excl_ns ?? 0,
      on_cpu_ns: sums?.on_cpu_excl_ns ?? null, off_cpu_ns: null, wait_ns: null, blocked_ns: null, counts: [],
    },
  };
}
