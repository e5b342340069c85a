// The limits of the numbers of one interval of a TimeSeries: they hold the
// truth, as the bounds of a report's rows do (rmap/result/bounds.h).
//
//   time of an account    what was unattributed in the interval may be its
//   count of an account   the same; a count that was split between intervals
//                         may lie in any of them
//   selected threads      at most what their rows may lack
//   calls                 what the rows of their segments may lack, or have too
//                         much
#ifndef COUNTRACE_RMAP_OVER_TIME_INTERVAL_BOUNDS_H_
#define COUNTRACE_RMAP_OVER_TIME_INTERVAL_BOUNDS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rmap/over_time/over_time.h"
#include "rmap/result/bounds.h"

namespace countrace::rmap {

Bounds TimeBounds(const TimeSeries& series, std::size_t interval,
                  Account account);
Bounds CountBounds(const TimeSeries& series, std::size_t interval,
                   Account account, std::size_t event);
Bounds TotalCountBounds(const TimeSeries& series, std::size_t interval,
                        std::size_t event);
Bounds SelectedTimeBounds(const TimeSeries& series, std::size_t interval);
Bounds SelectedCountBounds(const TimeSeries& series, std::size_t interval,
                           std::size_t event);
struct CallBounds {
  Bounds calls, wall_ns, on_cpu_ns;
};
CallBounds BoundsOfCalls(const TimeSeries& series, std::size_t interval);

// All that are not exact, by name: "cpu_ns.processes",
// "counts.page-faults.total", "selected.on_cpu_ns", "segments.calls".
using NamedBounds = std::vector<std::pair<std::string, Bounds>>;
NamedBounds BoundsOfInterval(const TimeSeries& series, std::size_t interval);
// Why: inferred, bounded.
Qualities QualitiesOfInterval(const TimeSeries& series, std::size_t interval);

// The name of an account in JSON and CSV: "processes".
const char* AccountName(Account account);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_OVER_TIME_INTERVAL_BOUNDS_H_
