// Counts that any row may have in a range besides its own: those that are
// unattributed, and those of rmap::UnseenCount, of every interval that touches
// the range. An interval has its counts at unknown times.
//
// Two lists for each event, the intervals' begins and ends with running sums,
// give the sum of any range: all that begin by its end, without those that end
// before it. They may overlap, as CPUs have intervals of their own.
#ifndef COUNTRACE_VIEWER_INDEX_LIMITS_UNSEEN_COUNTS_H_
#define COUNTRACE_VIEWER_INDEX_LIMITS_UNSEEN_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "viewer/index/file/file_layout.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/index/rows/interval_row.h"

namespace countrace::viewer {

// Collects the intervals while an index is built. Thread: one. Memory: bounded;
// beyond kMaxIntervals of an event, neighbours become one.
class UnseenIntervals {
 public:
  static constexpr std::size_t kMaxIntervals = 65536;
  struct Interval {
    std::uint64_t begin_ns, end_ns, count;
  };

  explicit UnseenIntervals(std::uint32_t events) : of_event_(events + 1) {}

  // `event`: an event, or their number: dispatches.
  void Add(std::uint32_t event, Interval interval);

  // The steps at `end_ns` of the intervals, or at `begin_ns`; times by
  // `relative(time_ns)`, which is monotonic.
  template <typename Relative>
  std::vector<UnseenStep> Steps(std::uint64_t Interval::*edge_ns,
                                const Relative& relative) {
    std::vector<UnseenStep> steps;
    for (std::uint32_t event = 0; event < of_event_.size(); ++event) {
      SortBy(edge_ns, of_event_[event]);
      std::uint64_t sum = 0;
      for (const Interval& interval : of_event_[event]) {
        sum += interval.count;
        steps.push_back({event, 0, relative(interval.*edge_ns), sum});
      }
    }
    return steps;
  }

 private:
  static void SortBy(std::uint64_t Interval::*edge_ns,
                     std::vector<Interval>& intervals);
  static void Coarsen(std::vector<Interval>& intervals);

  std::vector<std::vector<Interval>> of_event_;
};

// What rows may lack in one range. Thread: any.
class UnseenCounts {
 public:
  UnseenCounts(const TimelineIndex& index, TimeRange range);

  // What a row lacks here at most. It lacks `limit` in the whole trace, of
  // which `unplaced` are at any time. `event` as above. A limit that has
  // another cause is kUnknownTime.
  std::uint64_t LimitIn(std::uint64_t limit, std::uint64_t unplaced,
                        std::uint32_t event) const;
  // Dispatches that began unseen are at the end of their interval in the index:
  // so many in the range may have begun before it.
  std::uint64_t begun_before() const { return begun_before_; }

 private:
  bool owners_unknown_;
  std::vector<std::uint64_t> in_range_;  // by event, then dispatches
  std::uint64_t begun_before_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_LIMITS_UNSEEN_COUNTS_H_
