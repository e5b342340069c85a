// What each thread had in a range: the rows of the report's threads.
#ifndef COUNTRACE_VIEWER_INDEX_RANGE_THREAD_TOTALS_H_
#define COUNTRACE_VIEWER_INDEX_RANGE_THREAD_TOTALS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "viewer/index/file/timeline_index.h"
#include "viewer/index/range/range_totals.h"

namespace countrace::viewer {

struct ThreadTotals {
  std::uint32_t thread = kNoKey;
  RunTotals run;
  std::uint64_t wait_ns = 0;  // runnable, on no CPU
  // On no CPU and not runnable, without the time of which that is not known.
  // Absent: no wake-ups were recorded.
  std::optional<std::uint64_t> blocked_ns;
};

// Threads that ran, waited or were blocked in `range`, by on-CPU time, largest
// first.
std::vector<ThreadTotals> ThreadsIn(const TimelineIndex& index,
                                    TimeRange range);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_RANGE_THREAD_TOTALS_H_
