#include "viewer/index/range/thread_totals.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "viewer/index/limits/inferred_switches.h"
#include "viewer/index/limits/unknown_time.h"
#include "viewer/index/limits/unseen_counts.h"
#include "viewer/index/range/run_limits.h"
#include "viewer/index/rows/thread_states.h"

namespace countrace::viewer {

namespace {

// The rows of threads in one range.
class ThreadSums {
 public:
  ThreadSums(const TimelineIndex& index, TimeRange range)
      : index_(index),
        counted_(index, range),
        range_(counted_.range),
        interrupts_(index),
        unseen_(index, range_),
        unknown_ns_(UnknownTime(index).In(range_)) {}

  // Rows in the index's order. None: the row is no thread's, or nothing of it
  // is in the range.
  std::optional<ThreadTotals> Next(std::uint32_t number) {
    const RowEntry& entry = index_.rows()[number];
    ThreadTotals row;
    row.thread = entry.owner;
    std::uint64_t blocked_ns = 0;
    if (entry.kind == RowKind::kThreadRun) {
      ran_ = entry.owner;
      row.run = RunTotalsIn(ThreadRun(index_, number, interrupts_), range_,
                            index_.header().events);
      const StateTimes states =
          ThreadStates(index_, number, interrupts_).In(range_);
      row.wait_ns = states.waiting_ns;
      blocked_ns = states.blocked_ns;
    } else if (entry.kind == RowKind::kThreadWait && entry.owner != ran_) {
      // It waited and never ran.
      row.run.counts.resize(index_.header().events);
      row.run.count_limits.resize(index_.header().events);
      const IntervalRow waits(index_, number);
      row.wait_ns = waits.Before(range_.end_ns, 0).value -
                    waits.Before(range_.begin_ns, 0).value;
    } else {
      return std::nullopt;
    }
    if (row.run.on_cpu_ns == 0 && row.run.dispatches == 0 && row.wait_ns == 0 &&
        blocked_ns == 0) {
      return std::nullopt;
    }
    const bool wakeups = (index_.header().flags & kWakeups) != 0;
    if (wakeups) row.blocked_ns = blocked_ns;
    SetRunLimits(row);
    SetWaitLimits(row);
    if (row.blocked_ns) SetBlockedLimits(*row.blocked_ns, row);
    return row;
  }

 private:
  std::uint64_t Limit(const ThreadTotals& row, std::size_t field) const {
    return index_.ThreadLimit(row.thread, field);
  }
  // What is left of the range beside its time on CPUs.
  std::uint64_t OffCpu(const ThreadTotals& row) const {
    return counted_.wall_ns - std::min(counted_.wall_ns, row.run.on_cpu_ns);
  }

  void SetRunLimits(ThreadTotals& row) const {
    const InferredIn inferred = InferredSwitchesIn(index_, row.thread, range_);
    if (inferred.switched || inferred.split) {
      row.run.qualities.Add(rmap::Quality::kInferred);
    }
    SetRowLimits(
        [&](std::size_t field) { return Limit(row, field); }, counted_.wall_ns,
        unknown_ns_, unseen_,
        [this](std::uint32_t event) { return index_.IsInTurns(event); },
        counted_.whole, row.run);
  }

  void SetWaitLimits(ThreadTotals& row) const {
    const bool known =
        unknown_ns_ == 0 && Limit(row, kLimitOnCpu) != kUnknownTime;
    const std::uint64_t less_ns = known ? 0 : Limit(row, kLimitWaitLess);
    const std::uint64_t more_ns = known ? 0 : Limit(row, kLimitWaitMore);
    row.wait_limits = {
        row.wait_ns - std::min(row.wait_ns, less_ns),
        std::max(row.wait_ns,
                 std::min(AtMost(row.wait_ns, more_ns), OffCpu(row)))};
    if (!row.wait_limits.IsExact(row.wait_ns)) {
      row.run.qualities.Add(rmap::Quality::kBounded);
    }
  }

  void SetBlockedLimits(std::uint64_t blocked_ns, ThreadTotals& row) const {
    row.blocked_limits = {blocked_ns, blocked_ns};
    // While it may have run or waited unseen, it may also have been blocked.
    const bool complete =
        (Limit(row, kLimitOnCpu) | Limit(row, kLimitWaitLess) |
         Limit(row, kLimitWaitMore) | Limit(row, kLimitDispatches) |
         Limit(row, kLimitDispatchesLess) | Limit(row, kLimitBlockedLess) |
         Limit(row, kLimitBlockedMore)) == 0;
    if (!index_.losses().empty() && !complete) {
      row.blocked_limits = {0, std::max(blocked_ns, OffCpu(row))};
    }
    if (!row.blocked_limits.IsExact(blocked_ns)) {
      row.run.qualities.Add(rmap::Quality::kBounded);
    }
  }

  const TimelineIndex& index_;
  const CountedRange counted_;
  const TimeRange range_;
  const InterruptRows interrupts_;
  const UnseenCounts unseen_;
  const std::uint64_t unknown_ns_;
  std::uint32_t ran_ = kNoKey;  // the thread of the last row of dispatches
};

}  // namespace

std::vector<ThreadTotals> ThreadsIn(const TimelineIndex& index,
                                    TimeRange range) {
  std::vector<ThreadTotals> threads;
  ThreadSums rows(index, range);
  for (std::uint32_t number = 0; number < index.rows().size(); ++number) {
    std::optional<ThreadTotals> row = rows.Next(number);
    if (row) threads.push_back(*std::move(row));
  }
  // Ties stay in the index's order, so that answers are deterministic.
  std::stable_sort(threads.begin(), threads.end(),
                   [](const ThreadTotals& a, const ThreadTotals& b) {
                     return a.run.on_cpu_ns > b.run.on_cpu_ns;
                   });
  return threads;
}

}  // namespace countrace::viewer
