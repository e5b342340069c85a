// The call tree of a page without its trace: the call paths that the index has
// (API.md, "aggregate"), as rows of the report. What only records have is null:
// the lengths of single calls, waits and counts.

import type {Aggregate, CallTreeAnswer, PathRow, PathTotals} from '../api/schema';

const isInside = (inner: PathTotals|undefined, outer: PathTotals): boolean =>
    inner !== undefined && inner.process === outer.process && inner.path.length > outer.path.length &&
    outer.path.every((hook, depth) => inner.path[depth] === hook);

// The first `limit` rows; of a row more it only says whether it is a callee.
export function indexCallTree(data: Aggregate, limit: number, hookName: (hook: number) => string): CallTreeAnswer {
  const paths = data.paths ?? [];
  const rows = paths.slice(0, limit).map((path, i): PathRow => {
    const {wall_ns: wall, on_cpu_ns: onCpu} = path;
    return {
      process: path.process,
      path: path.path.map(hookName),
      has_callees: isInside(paths[i + 1], path),
      calls: path.calls,
      wall_ns: {...wall, mean: null, min: null, max: null, p50: null, p99: null},
      on_cpu_ns: onCpu,
      off_cpu_ns: onCpu && {incl: wall.incl - onCpu.incl, excl: wall.excl - onCpu.excl},
      wait_ns: null,
      blocked_ns: null,
      counts: null,
    };
  });
  const none = {calls: 0, wall_ns: {excl: 0}, on_cpu_ns: null};
  return {total: data.paths_total ?? 0, rows, sums: {...(data.sums?.paths ?? none), counts: []}};
}
