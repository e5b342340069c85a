#include "viewer/index/range/wait_split.h"

#include <algorithm>
#include <map>

namespace countrace::viewer {
namespace {

std::optional<std::uint32_t> RowOf(const TimelineIndex& index, RowKind kind,
                                   std::uint32_t owner) {
  for (std::uint32_t row = 0; row < index.rows().size(); ++row) {
    if (index.rows()[row].kind == kind && index.rows()[row].owner == owner) {
      return row;
    }
  }
  return std::nullopt;
}

// Who had the CPU of `row` in the wait.
void AddHolders(const IntervalRow& row, TimeRange wait, WaitSplit& split) {
  std::map<std::uint32_t, std::uint64_t> by_thread;
  std::uint64_t rest_ns = wait.end_ns - wait.begin_ns;
  const std::uint64_t first = row.FirstNotOver(wait.begin_ns);
  const std::uint64_t last = row.FirstBeginning(wait.end_ns, first);
  const std::uint64_t seen = std::min(last, first + kMaxSplitLeaves);
  for (std::uint64_t i = first; i < seen; ++i) {
    const IntervalLeaf leaf = row.leaf(i);
    const std::uint64_t begin_ns = std::max(leaf.begin_ns, wait.begin_ns);
    const std::uint64_t end_ns =
        std::max(begin_ns, std::min(leaf.end_ns, wait.end_ns));
    const std::uint64_t ns = std::min(end_ns - begin_ns, rest_ns);
    rest_ns -= ns;
    if ((leaf.flags & kLeafIdle) != 0) {
      split.idle_ns += ns;
    } else if ((leaf.flags & kLeafOutside) != 0) {
      split.outside_ns += ns;
    } else {
      by_thread[leaf.key] += ns;
    }
  }
  if (seen < last) {
    const IntervalNode node =
        row.Summary({row.leaf(seen).begin_ns, wait.end_ns});
    const auto take = [&rest_ns](std::uint64_t ns) {
      const std::uint64_t taken = std::min(ns, rest_ns);
      rest_ns -= taken;
      return taken;
    };
    split.others_ns = take(node.busy_ns);
    split.idle_ns += take(node.idle_ns);
    split.outside_ns += take(node.outside_ns);
  }
  split.unknown_ns = rest_ns;
  for (const auto& [thread, ns] : by_thread) {
    split.holders.push_back({thread, ns});
  }
  // Ties by number, so that answers are deterministic (the map is sorted).
  std::stable_sort(
      split.holders.begin(), split.holders.end(),
      [](const CpuHolder& a, const CpuHolder& b) { return a.ns > b.ns; });
  while (split.holders.size() > kMaxHolders) {
    split.others_ns += split.holders.back().ns;
    split.holders.pop_back();
  }
}

void SetWaker(const ThreadStretch& wait, WaitSplit& split) {
  const std::uint32_t woken = wait.flags >> kWakerShift;
  if (woken == 0 ||
      woken > 1u + static_cast<unsigned>(rmap::WakerKind::kOther)) {
    return;
  }
  split.waker_kind = static_cast<rmap::WakerKind>(woken - 1);
  if (split.waker_kind == rmap::WakerKind::kThread) split.waker = wait.key;
}

}  // namespace

std::optional<std::uint32_t> WaitedFor(const IntervalRow& dispatches,
                                       TimeRange wait, std::uint64_t until_ns,
                                       std::uint64_t hint) {
  const std::uint64_t next = dispatches.FirstBeginning(wait.end_ns, hint);
  if (next > 0) {
    const IntervalLeaf& left =
        dispatches.leaf(std::min(next, dispatches.size()) - 1);
    if (left.end_ns == wait.begin_ns) return left.key;
  }
  if (next < dispatches.size() && wait.end_ns <= until_ns &&
      dispatches.leaf(next).begin_ns == wait.end_ns) {
    return dispatches.leaf(next).key;
  }
  return std::nullopt;
}

std::optional<WaitSplit> SplitWait(const TimelineIndex& index,
                                   std::uint32_t thread,
                                   std::uint64_t time_ns) {
  const std::optional<std::uint32_t> run =
      RowOf(index, RowKind::kThreadRun, thread);
  if (!run || time_ns >= index.duration_ns()) return std::nullopt;
  const InterruptRows interrupts(index);
  const ThreadStates states(index, *run, interrupts);
  const auto covers = [](std::uint64_t at_ns) {
    return [at_ns](const ThreadStretch& one) {
      return one.range.begin_ns <= at_ns && at_ns < one.range.end_ns;
    };
  };
  const std::vector<ThreadStretch> found =
      states.Stretches({time_ns, time_ns + 1});
  const auto stretch =
      std::find_if(found.begin(), found.end(), covers(time_ns));
  if (stretch == found.end() ||
      (stretch->flags & (kStateWaiting | kStateBlocked)) == 0) {
    return std::nullopt;
  }
  WaitSplit split;
  split.stretch = *stretch;
  const TimeRange range = stretch->range;
  if ((stretch->flags & kStateBlocked) != 0) {
    const std::vector<ThreadStretch> next =
        states.Stretches({range.end_ns, range.end_ns + 1});
    const auto wait =
        std::find_if(next.begin(), next.end(), covers(range.end_ns));
    if (wait != next.end() && (wait->flags & kStateWaiting) != 0) {
      SetWaker(*wait, split);
    }
    return split;
  }
  SetWaker(*stretch, split);
  const IntervalRow& row = states.dispatches();
  if ((stretch->flags & kStateThrottled) != 0) {
    split.throttled_ns = range.end_ns - range.begin_ns;
    return split;
  }
  const std::uint64_t next = row.FirstBeginning(range.end_ns);
  if (!split.waker_kind && next > 0) {
    // It left its last CPU to the thread that had it then.
    const IntervalLeaf before = row.leaf(std::min(next, row.size()) - 1);
    const auto cpu = RowOf(index, RowKind::kCpu, before.key);
    if (cpu && before.end_ns == range.begin_ns) {
      const IntervalRow dispatches(index, *cpu);
      const auto at = dispatches.Covering(range.begin_ns);
      if (at &&
          (dispatches.leaf(*at).flags & (kLeafIdle | kLeafOutside)) == 0) {
        split.preempted_by = dispatches.leaf(*at).key;
      }
    }
  }
  split.cpu = WaitedFor(row, range);
  if (!split.cpu) {
    split.unknown_ns = range.end_ns - range.begin_ns;
    return split;
  }
  const auto cpu = RowOf(index, RowKind::kCpu, *split.cpu);
  if (!cpu) {
    split.unknown_ns = range.end_ns - range.begin_ns;
    return split;
  }
  AddHolders(IntervalRow(index, *cpu), range, split);
  split.interrupts_ns = interrupts.TimeIn(*split.cpu, range);
  return split;
}

}  // namespace countrace::viewer
