// What one thread, idle or outside had between two instants, by the rules of
// range_totals.h.
#ifndef COUNTRACE_VIEWER_INDEX_RANGE_RUN_TOTALS_H_
#define COUNTRACE_VIEWER_INDEX_RANGE_RUN_TOTALS_H_

#include <cstdint>
#include <vector>

#include "rmap/result/bounds.h"
#include "viewer/index/rows/interval_row.h"
#include "viewer/index/rows/thread_run.h"

namespace countrace::viewer {

// A range inside the trace.
struct CountedRange {
  CountedRange(const TimelineIndex& index, TimeRange of);

  // Ends one past the trace, so that boundaries at the last instant count.
  TimeRange range;
  std::uint64_t wall_ns;  // of its own, without that one
};

// How sure a count is: kAtLeast where an edge of the range cuts a dispatch of
// which it is not known where its counts are; kUnknown: the report has none.
enum class CountMark : std::uint8_t { kExact, kAtLeast, kAbout, kUnknown };

struct RunTotals {
  std::uint64_t on_cpu_ns = 0;
  std::uint64_t dispatches = 0;
  std::vector<std::uint64_t> counts;  // one for each event
  std::vector<CountMark> marks;       // of each
  bool incomplete = false;            // a dispatch has no counts
  rmap::Qualities qualities;          // why these are not exact; not of a sum
  const rmap::RowBounds* bounds = nullptr;  // of a row of a report
};

void AddTotals(RunTotals& sum, const RunTotals& part);

// Adds `scaled` and `bounded`. `unsure`: an Unsure.
void AddQualities(const TimelineIndex& index, TimeRange range,
                  std::uint32_t unsure, RunTotals& run);

// Totals of one row with counts (thread, idle or outside).
RunTotals RunTotalsIn(const ThreadRun& run, TimeRange range,
                      std::uint32_t events);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_RANGE_RUN_TOTALS_H_
