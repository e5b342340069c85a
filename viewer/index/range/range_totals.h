// Totals between two instants: exact sums from prefix sums, for any length of
// the range. Disjoint ranges add up, but for counts that an edge cuts; the
// whole trace equals rmap's totals.
//
// On-CPU and wall times are cut at the edges exactly. Dispatches, calls and
// hits count where they begin. Counts of a dispatch cut by an edge are divided
// by their CountRule (file_layout.h), as in the report of the range; of which
// no record says where they are, they are in neither range, and the row is
// marked.
#ifndef COUNTRACE_VIEWER_INDEX_RANGE_RANGE_TOTALS_H_
#define COUNTRACE_VIEWER_INDEX_RANGE_RANGE_TOTALS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "viewer/index/file/timeline_index.h"
#include "viewer/index/range/run_totals.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {

struct ProcessTotals {
  std::uint32_t process;
  RunTotals run;
};

struct SegmentTotals {
  std::uint32_t process;
  std::uint32_t hook_id;
  std::uint64_t calls = 0;
  // Inclusive times of a recursive segment are those of its outermost calls.
  std::uint64_t wall_incl_ns = 0, wall_excl_ns = 0;
  std::uint64_t on_cpu_incl_ns = 0, on_cpu_excl_ns = 0;
  // Wall time of all calls that begin in the range, cut at its end: `calls`
  // times the mean of one.
  std::uint64_t begun_ns = 0;
  bool on_cpu_known = true;  // for every call
  bool unsure = false;       // kGroupUnsure
  rmap::Qualities qualities = {};
  const rmap::RowBounds* bounds = nullptr;  // of a row of a report
};

// The calls of a segment in one call path; the inclusive times are of all.
struct PathTotals {
  std::uint32_t process;
  std::uint32_t path;  // of TimelineIndex::paths()
  std::uint64_t calls = 0;
  std::uint64_t wall_incl_ns = 0, wall_excl_ns = 0;
  std::uint64_t on_cpu_incl_ns = 0, on_cpu_excl_ns = 0;
  bool on_cpu_known = true;  // for every call
};

struct HookTotals {
  std::uint32_t process;
  std::uint32_t hook_id;
  std::uint64_t hits;
};

struct RangeTotals {
  std::vector<ProcessTotals> processes;  // by on-CPU time, largest first
  std::vector<SegmentTotals> segments;   // by exclusive wall time
  // Each followed by those inside it; a process's first by inclusive wall time.
  std::vector<PathTotals> paths;
  std::vector<HookTotals> hooks;  // by hits
  RunTotals idle, outside;
  std::uint64_t interrupts_ns = 0;
  std::uint64_t cpu_ns = 0;      // range times CPUs
  std::uint64_t unknown_ns = 0;  // part of cpu_ns that cannot be attributed
};

// Tables to compute beside the processes'; one that is not stays empty. Their
// rows are most of an index's.
struct RangeTables {
  bool segments = true;
  bool hooks = true;
  bool paths = false;
  // The first of the segments that are in order, the others follow in any.
  std::size_t sorted_segments = ~std::size_t{0};
};

RangeTotals TotalsIn(const TimelineIndex& index, TimeRange range,
                     RangeTables tables = {});

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_RANGE_RANGE_TOTALS_H_
