#include "viewer/index/run_limits.h"

#include <algorithm>

#include "viewer/index/unknown_time.h"

namespace countrace::viewer {

void SetRowLimits(const std::function<std::uint64_t(std::size_t)>& limit,
                  std::uint64_t most_ns, std::uint64_t unknown_ns,
                  const UnseenCounts& unseen, std::uint32_t events, bool whole,
                  RunTotals& run) {
  const std::uint64_t limit_ns = limit(kLimitOnCpu);
  const std::uint64_t ns = AtMost(run.on_cpu_ns, LimitIn(limit_ns, unknown_ns));
  const bool known = unknown_ns == 0 && limit_ns != kUnknownTime;
  run.on_cpu_limits = {run.on_cpu_ns,
                       std::max(run.on_cpu_ns, std::min(ns, most_ns))};
  run.dispatches_limits = {
      run.dispatches -
          std::min(run.dispatches, limit(kLimitDispatchesLess) +
                                       (known ? 0 : unseen.begun_before())),
      AtMost(run.dispatches,
             known ? 0
                   : unseen.LimitIn(limit(kLimitDispatches),
                                    limit(kUnplacedDispatches), events))};
  for (std::uint32_t i = 0; i < run.count_limits.size(); ++i) {
    run.count_limits[i].hi =
        AtMost(run.count_limits[i].hi,
               unseen.LimitIn(limit(CountLimit(i)),
                              limit(UnplacedCount(i, events)), i));
  }
  if (!whole) return;
  run.dispatches += limit(kUnplacedDispatches);
  run.dispatches_limits.hi = std::max(run.dispatches_limits.hi, run.dispatches);
  for (std::uint32_t i = 0; i < run.count_limits.size(); ++i) {
    run.counts[i] += limit(UnplacedCount(i, events));
    run.count_limits[i].hi = std::max(run.count_limits[i].hi, run.counts[i]);
  }
}

}  // namespace countrace::viewer
