// How long the calls of a segment took: quantiles, a histogram, and a call at
// each quantile.
#ifndef COUNTRACE_VIEWER_INDEX_RANGE_CALL_DURATIONS_H_
#define COUNTRACE_VIEWER_INDEX_RANGE_CALL_DURATIONS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {

struct TimedCall {
  std::uint32_t thread = kNoKey;  // of an interrupt: the CPU
  TimeRange range{0, 0};
  std::uint64_t ns() const { return range.end_ns - range.begin_ns; }
};

struct DurationBucket {
  std::uint64_t from_ns, to_ns;  // half-open; to_ns = 2 * from_ns, or 1
  std::uint64_t calls;
};

struct CallDurations {
  std::uint64_t calls = 0;
  // The shortest, the longest, and those that half and 99 % of the calls do not
  // exceed; exact. Absent (kNoKey) without calls.
  TimedCall min, p50, p99, max;
  std::vector<DurationBucket> buckets;  // from the first to the last with calls
};

inline constexpr std::uint64_t kMaxTimedCalls = 1 << 20;

// Both inclusive.
struct DurationRange {
  std::uint64_t least_ns = 0, most_ns = ~std::uint64_t{0};
};

// Calls of a segment in a process that begin in `range`, at their whole length;
// as in the report, not those whose begin was inferred; only those as long as
// `lengths` says. Returns: OUT_OF_RANGE more than kMaxTimedCalls begin in
// `range`.
absl::StatusOr<CallDurations> DurationsIn(const TimelineIndex& index,
                                          std::uint32_t process,
                                          std::uint32_t hook, TimeRange range,
                                          DurationRange lengths = {});

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_RANGE_CALL_DURATIONS_H_
