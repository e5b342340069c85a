#include "viewer/index/limits/unseen_counts.h"

#include <algorithm>
#include <span>
#include <utility>

#include "viewer/index/file/row_limits.h"
#include "viewer/index/file/visit_count.h"

namespace countrace::viewer {
namespace {

// The sum of the intervals of `event` whose edge is before `time_ns`.
std::uint64_t SumBefore(std::span<const UnseenStep> steps, std::uint32_t event,
                        std::uint64_t time_ns) {
  const auto found =
      std::partition_point(steps.begin(), steps.end(), [&](const auto& step) {
        ++VisitCount();
        return std::pair(step.event, step.time_ns) < std::pair(event, time_ns);
      });
  if (found == steps.begin()) return 0;
  const UnseenStep& last = *(found - 1);
  return last.event == event ? last.sum : 0;
}

}  // namespace

void UnseenIntervals::Add(std::uint32_t event, Interval interval) {
  std::vector<Interval>& intervals = of_event_[event];
  if (intervals.size() >= kMaxIntervals) Coarsen(intervals);
  intervals.push_back(interval);
}

void UnseenIntervals::SortBy(std::uint64_t Interval::*edge_ns,
                             std::vector<Interval>& intervals) {
  std::stable_sort(intervals.begin(), intervals.end(),
                   [edge_ns](const Interval& a, const Interval& b) {
                     return a.*edge_ns < b.*edge_ns;
                   });
}

void UnseenIntervals::Coarsen(std::vector<Interval>& intervals) {
  SortBy(&Interval::begin_ns, intervals);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < intervals.size(); i += 2, ++kept) {
    intervals[kept] = intervals[i];
    if (i + 1 == intervals.size()) continue;
    const Interval& next = intervals[i + 1];
    intervals[kept].end_ns = std::max(intervals[kept].end_ns, next.end_ns);
    intervals[kept].count += next.count;
  }
  intervals.resize(kept);
}

UnseenCounts::UnseenCounts(const TimelineIndex& index, TimeRange range)
    : owners_unknown_((index.header().flags & kOwnersUnknown) != 0) {
  for (std::uint32_t event = 0; event <= index.header().events; ++event) {
    // One that only touches the range may have a count at its edge.
    in_range_.push_back(
        SumBefore(index.unseen_begins(), event, range.end_ns + 1) -
        SumBefore(index.unseen_ends(), event, range.begin_ns));
  }
  const std::uint32_t dispatches = index.header().events;
  begun_before_ = SumBefore(index.unseen_begins(), dispatches, range.begin_ns) -
                  SumBefore(index.unseen_ends(), dispatches, range.begin_ns);
}

std::uint64_t UnseenCounts::LimitIn(std::uint64_t limit, std::uint64_t unplaced,
                                    std::uint32_t event) const {
  if (limit == kUnknownTime || owners_unknown_) return limit;
  return std::min(limit, AtMost(unplaced, in_range_[event]));
}

}  // namespace countrace::viewer
