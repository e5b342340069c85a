// Switches of threads whose time was computed, in a range: why the report of
// the range has their numbers as inferred. Thread: any.
#ifndef COUNTRACE_VIEWER_INDEX_ROWS_INFERRED_SWITCHES_H_
#define COUNTRACE_VIEWER_INDEX_ROWS_INFERRED_SWITCHES_H_

#include <cstdint>

#include "viewer/index/file/timeline_index.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {

struct InferredIn {
  bool switched = false;  // a computed switch: of the thread and its process
  bool split = false;     // an exec in a dispatch: of the thread alone
};

// Of `thread` in `range`. O(log n), and those of the thread in the range.
InferredIn InferredSwitchesIn(const TimelineIndex& index, std::uint32_t thread,
                              TimeRange range);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_ROWS_INFERRED_SWITCHES_H_
