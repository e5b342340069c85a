// The calls of one group of segments inside a range.
#ifndef COUNTRACE_VIEWER_INDEX_RANGE_GROUP_TOTALS_H_
#define COUNTRACE_VIEWER_INDEX_RANGE_GROUP_TOTALS_H_

#include <cstdint>

#include "viewer/index/file/timeline_index.h"
#include "viewer/index/rows/interval_row.h"
#include "viewer/index/rows/thread_run.h"

namespace countrace::viewer {

struct GroupTotals {
  std::uint64_t calls = 0;
  std::uint64_t wall_ns = 0;
  std::uint64_t on_cpu_ns = 0;
  std::uint64_t cut_ns = 0;  // part of wall_ns, of a call that began before
  bool on_cpu_known = true;
  bool inferred = false;  // a begin or an end, of these or of none of them
};

// `run`: dispatches of the thread; cut calls take their on-CPU time from it.
// Null: the thread has none.
GroupTotals CallsIn(TimeRange range, const TimelineIndex& index,
                    const GroupEntry& group, const ThreadRun* run);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_RANGE_GROUP_TOTALS_H_
