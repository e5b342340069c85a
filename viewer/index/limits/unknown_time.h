// CPU time of which the occupant is unknown: no thread lacks more in a span of
// time. Thread: any.
#ifndef COUNTRACE_VIEWER_INDEX_LIMITS_UNKNOWN_TIME_H_
#define COUNTRACE_VIEWER_INDEX_LIMITS_UNKNOWN_TIME_H_

#include <cstdint>
#include <vector>

#include "viewer/index/file/timeline_index.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {

// Short-lived; refers to the index.
class UnknownTime {
 public:
  explicit UnknownTime(const TimelineIndex& index);

  // Inside `range`, summed over CPUs: time without an occupant and, after the
  // first loss, of threads outside, which may be some whose fork was lost or
  // overwritten.
  std::uint64_t In(TimeRange range) const;

 private:
  std::uint64_t duration_ns_;
  std::vector<IntervalRow> cpus_, outside_;
  std::uint64_t unseen_cpus_ = 0;  // CPUs that have losses alone
  std::uint64_t first_loss_ns_ = kUnknownTime;
};

// What a row that lacks `limit` in the whole trace (a LimitField) may lack
// where `unknown_ns` are unknown. A limit that has another cause is
// kUnknownTime.
constexpr std::uint64_t LimitIn(std::uint64_t limit, std::uint64_t unknown_ns) {
  return limit == kUnknownTime || limit < unknown_ns ? limit : unknown_ns;
}

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_LIMITS_UNKNOWN_TIME_H_
