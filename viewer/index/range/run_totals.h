// What one thread, idle or outside had between two instants, by the rules of
// range_totals.h.
#ifndef COUNTRACE_VIEWER_INDEX_RANGE_RUN_TOTALS_H_
#define COUNTRACE_VIEWER_INDEX_RANGE_RUN_TOTALS_H_

#include <cstdint>
#include <vector>

#include "rmap/result/bounds.h"
#include "viewer/index/file/row_limits.h"
#include "viewer/index/rows/interval_row.h"
#include "viewer/index/rows/thread_run.h"

namespace countrace::viewer {

// A range inside the trace.
struct CountedRange {
  CountedRange(const TimelineIndex& index, TimeRange of);

  // Ends one past the trace, so that boundaries at the last instant count.
  TimeRange range;
  std::uint64_t wall_ns;  // of its own, without that one
  bool whole;             // it is all of the trace
};

struct RunTotals {
  std::uint64_t on_cpu_ns = 0;
  std::uint64_t dispatches = 0;
  std::vector<std::uint64_t> counts;  // one for each event
  // They hold the truth (row_limits.h).
  Limits on_cpu_limits, dispatches_limits;
  std::vector<Limits> count_limits;
  // The same if the kernel showed every switch of the row.
  std::vector<Limits> shown_limits;
  bool estimated = false;     // an edge cut counts: see count_limits
  bool incomplete = false;    // a dispatch has no counts
  rmap::Qualities qualities;  // why these are not exact; not of a sum
};

void AddTotals(RunTotals& sum, const RunTotals& part);

// Totals of one row with counts (thread, idle or outside).
RunTotals RunTotalsIn(const ThreadRun& run, TimeRange range,
                      std::uint32_t events);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_RANGE_RUN_TOTALS_H_
