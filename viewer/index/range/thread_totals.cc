#include "viewer/index/range/thread_totals.h"

#include <algorithm>
#include <utility>

#include "viewer/index/limits/inferred_switches.h"
#include "viewer/index/limits/unknown_time.h"
#include "viewer/index/limits/unseen_counts.h"
#include "viewer/index/range/run_limits.h"
#include "viewer/index/rows/thread_states.h"

namespace countrace::viewer {

std::vector<ThreadTotals> ThreadsIn(const TimelineIndex& index,
                                    TimeRange range) {
  std::vector<ThreadTotals> threads;
  const std::uint32_t events = index.header().events;
  // One past the end, so that boundaries at the last instant count.
  if (range.end_ns >= index.duration_ns()) {
    range.end_ns = index.duration_ns() + 1;
  }
  range.begin_ns = std::min(range.begin_ns, range.end_ns);
  const std::uint64_t wall_ns = std::min(range.end_ns, index.duration_ns()) -
                                std::min(range.begin_ns, index.duration_ns());
  const bool lossy = !index.losses().empty();
  const bool whole = range.begin_ns == 0 && range.end_ns > index.duration_ns();
  const bool wakeups = (index.header().flags & kWakeups) != 0;
  const InterruptRows interrupts(index);
  const UnseenCounts unseen(index, range);
  const std::uint64_t unknown_ns = UnknownTime(index).In(range);
  const auto in_turns = [&index](std::uint32_t event) {
    return index.IsInTurns(event);
  };
  const auto set_limits = [&](ThreadTotals& row) {
    const auto limit = [&index, &row](std::size_t field) {
      return index.ThreadLimit(row.thread, field);
    };
    const InferredIn inferred = InferredSwitchesIn(index, row.thread, range);
    if (inferred.switched || inferred.split) {
      row.run.qualities.Add(rmap::Quality::kInferred);
    }
    SetRowLimits(limit, wall_ns, unknown_ns, unseen, in_turns, whole, row.run);
    const bool known = unknown_ns == 0 && limit(kLimitOnCpu) != kUnknownTime;
    const auto room_ns = [wall_ns](std::uint64_t other_ns) {
      return wall_ns - std::min(wall_ns, other_ns);
    };
    const std::uint64_t more_ns = known ? 0 : limit(kLimitWaitMore);
    row.wait_limits = {
        row.wait_ns - std::min(row.wait_ns, known ? 0 : limit(kLimitWaitLess)),
        std::max(row.wait_ns, std::min(AtMost(row.wait_ns, more_ns),
                                       room_ns(row.run.on_cpu_ns)))};
    if (!row.wait_limits.IsExact(row.wait_ns)) {
      row.run.qualities.Add(rmap::Quality::kBounded);
    }
    if (!row.blocked_ns) return;
    row.blocked_limits = {*row.blocked_ns, *row.blocked_ns};
    // While it may have run or waited unseen, it may also have been blocked.
    const bool complete =
        (limit(kLimitOnCpu) | limit(kLimitWaitLess) | limit(kLimitWaitMore) |
         limit(kLimitDispatches) | limit(kLimitDispatchesLess) |
         limit(kLimitBlockedLess) | limit(kLimitBlockedMore)) == 0;
    if (lossy && !complete) {
      row.blocked_limits = {
          0, std::max(*row.blocked_ns, room_ns(row.run.on_cpu_ns))};
    }
    if (!row.blocked_limits.IsExact(*row.blocked_ns)) {
      row.run.qualities.Add(rmap::Quality::kBounded);
    }
  };
  std::uint32_t ran = kNoKey;  // the thread of the last row of dispatches
  for (std::uint32_t number = 0; number < index.rows().size(); ++number) {
    const RowEntry& entry = index.rows()[number];
    ThreadTotals row;
    row.thread = entry.owner;
    std::uint64_t blocked_ns = 0;
    if (entry.kind == RowKind::kThreadRun) {
      ran = entry.owner;
      const ThreadRun run(index, number, interrupts);
      row.run = RunTotalsIn(run, range, events);
      const StateTimes states =
          ThreadStates(index, number, interrupts).In(range);
      row.wait_ns = states.waiting_ns;
      blocked_ns = states.blocked_ns;
    } else if (entry.kind == RowKind::kThreadWait && entry.owner != ran) {
      // It waited and never ran.
      row.run.counts.resize(events);
      row.run.count_limits.resize(events);
      const IntervalRow waits(index, number);
      row.wait_ns = waits.Before(range.end_ns, 0).value -
                    waits.Before(range.begin_ns, 0).value;
    } else {
      continue;
    }
    if (wakeups) row.blocked_ns = blocked_ns;
    if (row.run.on_cpu_ns == 0 && row.run.dispatches == 0 && row.wait_ns == 0 &&
        blocked_ns == 0) {
      continue;
    }
    set_limits(row);
    threads.push_back(std::move(row));
  }
  // Ties stay in the index's order, so that answers are deterministic.
  std::stable_sort(threads.begin(), threads.end(),
                   [](const ThreadTotals& a, const ThreadTotals& b) {
                     return a.run.on_cpu_ns > b.run.on_cpu_ns;
                   });
  return threads;
}

}  // namespace countrace::viewer
