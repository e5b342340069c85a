#include "viewer/index/range/run_limits.h"

#include <algorithm>

#include "viewer/index/limits/unknown_time.h"

namespace countrace::viewer {
namespace {

void AddUnplaced(const std::function<std::uint64_t(std::size_t)>& limit,
                 std::uint32_t events, RunTotals& run) {
  run.dispatches += limit(kUnplacedDispatches);
  run.dispatches_limits.hi = std::max(run.dispatches_limits.hi, run.dispatches);
  for (std::uint32_t i = 0; i < run.count_limits.size(); ++i) {
    run.counts[i] += limit(UnplacedCount(i, events));
    run.count_limits[i].hi = std::max(run.count_limits[i].hi, run.counts[i]);
  }
}

}  // namespace

void SetRowLimits(const std::function<std::uint64_t(std::size_t)>& limit,
                  std::uint64_t most_ns, std::uint64_t unknown_ns,
                  const UnseenCounts& unseen,
                  const std::function<bool(std::uint32_t)>& in_turns,
                  bool whole, RunTotals& run) {
  const auto events = static_cast<std::uint32_t>(run.count_limits.size());
  const std::uint64_t limit_ns = limit(kLimitOnCpu);
  const std::uint64_t ns = AtMost(run.on_cpu_ns, LimitIn(limit_ns, unknown_ns));
  // A row that lacks nothing in the whole trace has no dispatch that began
  // unseen.
  const bool known =
      (unknown_ns == 0 && limit_ns != kUnknownTime) ||
      (limit_ns | limit(kLimitDispatches) | limit(kLimitDispatchesLess)) == 0;
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
  // What lacks nothing in the whole trace had no switch that was not shown.
  std::uint64_t lacks =
      limit_ns | limit(kLimitDispatches) | limit(kLimitDispatchesLess);
  for (std::uint32_t i = 0; i < run.count_limits.size(); ++i) {
    lacks |= limit(CountLimit(i)) | limit(UnplacedCount(i, events));
  }
  if (lacks == 0 && run.shown_limits.size() == run.count_limits.size()) {
    run.count_limits = run.shown_limits;
  }
  for (std::uint32_t i = 0; i < run.count_limits.size(); ++i) {
    run.count_limits[i].hi =
        AtMost(run.count_limits[i].hi,
               unseen.LimitIn(limit(CountLimit(i)),
                              limit(UnplacedCount(i, events)), i));
  }
  if (whole) AddUnplaced(limit, events, run);
  bool exact = run.on_cpu_limits.IsExact(run.on_cpu_ns) &&
               run.dispatches_limits.IsExact(run.dispatches);
  for (std::uint32_t i = 0; i < run.count_limits.size(); ++i) {
    if (in_turns(i)) {
      run.qualities.Add(rmap::Quality::kScaled);
    } else {
      exact &= run.count_limits[i].IsExact(run.counts[i]);
    }
  }
  if (!exact) run.qualities.Add(rmap::Quality::kBounded);
}

}  // namespace countrace::viewer
