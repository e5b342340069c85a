#include "viewer/index/rows/inferred_switches.h"

#include <algorithm>
#include <span>
#include <tuple>

#include "viewer/index/file/visit_count.h"

namespace countrace::viewer {

InferredIn InferredSwitchesIn(const TimelineIndex& index, std::uint32_t thread,
                              TimeRange range) {
  const std::span<const InferredStep> steps = index.inferred_switches();
  InferredIn inferred;
  auto at = std::partition_point(steps.begin(), steps.end(),
                                 [&](const InferredStep& step) {
                                   ++VisitCount();
                                   return std::tie(step.thread, step.time_ns) <
                                          std::tie(thread, range.begin_ns);
                                 });
  for (; at != steps.end() && at->thread == thread; ++at) {
    // Those at unknown times are the last of the thread.
    if (at->time_ns >= range.end_ns && at->time_ns != kUnknownTime) {
      at = std::partition_point(at, steps.end(), [&](const InferredStep& step) {
        return std::tie(step.thread, step.time_ns) <
               std::tie(thread, kUnknownTime);
      });
      if (at == steps.end() || at->thread != thread) break;
    }
    (at->split != 0 ? inferred.split : inferred.switched) = true;
    if (inferred.split && inferred.switched) break;
  }
  return inferred;
}

}  // namespace countrace::viewer
