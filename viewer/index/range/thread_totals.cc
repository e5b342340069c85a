#include "viewer/index/range/thread_totals.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "viewer/index/rows/inferred_switches.h"
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
        interrupts_(index) {}

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
    SetQualities(row);
    return row;
  }

 private:
  void SetQualities(ThreadTotals& row) const {
    const InferredIn inferred = InferredSwitchesIn(index_, row.thread, range_);
    if (inferred.switched || inferred.split) {
      row.run.qualities.Add(rmap::Quality::kInferred);
    }
    const std::uint32_t unsure = row.thread < index_.threads().size()
                                     ? index_.threads()[row.thread].unsure
                                     : kUnsureInGaps;
    AddQualities(index_, range_, unsure, row.run);
    // How long it was blocked depends on records before and after the range.
    if (unsure != kSure && row.blocked_ns && !index_.losses().empty()) {
      row.run.qualities.Add(rmap::Quality::kBounded);
    }
  }

  const TimelineIndex& index_;
  const CountedRange counted_;
  const TimeRange range_;
  const InterruptRows interrupts_;
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
