// Where the time of each CPU went in a range: the rows of the report's CPUs.
#ifndef COUNTRACE_VIEWER_INDEX_RANGE_CPU_TOTALS_H_
#define COUNTRACE_VIEWER_INDEX_RANGE_CPU_TOTALS_H_

#include <cstdint>
#include <vector>

#include "viewer/index/file/row_limits.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {

// All but `dispatches` add up to the length of the range.
struct CpuTotals {
  std::uint32_t cpu = 0;
  std::uint64_t busy_ns = 0;  // of threads, without interrupts
  std::uint64_t idle_ns = 0, outside_ns = 0, interrupts_ns = 0, unknown_ns = 0;
  std::uint64_t dispatches = 0;  // of threads
  // They hold the truth: each may have all of `unknown_ns` that can be its.
  Limits busy_limits, idle_limits, outside_limits, interrupts_limits;
  Limits dispatches_limits;
};

// By number. CPUs without kernel records have no row.
std::vector<CpuTotals> CpusIn(const TimelineIndex& index, TimeRange range);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_RANGE_CPU_TOTALS_H_
