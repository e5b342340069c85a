// Single events that must not vanish in a column: the longest call of each
// segment, and where a hook was hit.
#ifndef COUNTRACE_VIEWER_INDEX_RANGE_RARE_EVENTS_H_
#define COUNTRACE_VIEWER_INDEX_RANGE_RARE_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/index/range/call_durations.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {

struct LongestCall {
  std::uint32_t hook;
  TimedCall call;
};

// One for each segment of threads, over the whole trace, the longest first; as
// in the report, without calls whose begin was inferred. Visits every call.
std::vector<LongestCall> LongestCalls(const TimelineIndex& index);

// Hits, or begins of calls, of one hook, by column of the range.
struct HitsColumn {
  std::uint64_t first_ns;
  std::uint32_t thread;  // of the first; of an interrupt: the CPU
  std::uint64_t hits;
};

inline constexpr std::uint64_t kMaxHits = 1 << 20;

// In time order; columns without hits are not there. Requires: columns > 0.
// Returns: OUT_OF_RANGE more than kMaxHits.
absl::StatusOr<std::vector<HitsColumn>> HitsIn(const TimelineIndex& index,
                                               std::uint32_t hook,
                                               TimeRange range,
                                               std::size_t columns);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_RANGE_RARE_EVENTS_H_
