#include "viewer/index/rows/thread_run.h"

#include <algorithm>

#include "logformat/packet_layout.h"
#include "viewer/index/file/packed_block.h"
#include "viewer/index/file/partition_point.h"

namespace countrace::viewer {

InterruptRows::InterruptRows(const TimelineIndex& index) : index_(index) {
  for (std::uint32_t number = 0; number < index.rows().size(); ++number) {
    const RowEntry& entry = index.rows()[number];
    if (entry.kind != RowKind::kInterruptTime) continue;
    if (entry.owner >= index.header().cpus) continue;  // damage
    if (entry.owner >= by_cpu_.size()) by_cpu_.resize(entry.owner + 1, kNoKey);
    by_cpu_[entry.owner] = number;
  }
}

std::optional<IntervalRow> InterruptRows::Row(std::uint32_t cpu) const {
  if (cpu >= by_cpu_.size() || by_cpu_[cpu] == kNoKey) return std::nullopt;
  return IntervalRow(index_, by_cpu_[cpu]);
}

std::uint64_t InterruptRows::TimeIn(std::uint32_t cpu, TimeRange range) const {
  if (range.begin_ns >= range.end_ns) return 0;
  const std::optional<IntervalRow> row = Row(cpu);
  if (!row) return 0;
  return row->Before(range.end_ns, 0).value -
         row->Before(range.begin_ns, 0).value;
}

std::uint64_t InterruptRows::TimeIn(std::uint32_t cpu, TimeRange range,
                                    std::uint64_t& hint) const {
  constexpr std::uint64_t kFew = kIntervalBlock;  // cheaper than two sums
  if (range.begin_ns >= range.end_ns) return 0;
  const std::optional<IntervalRow> row = Row(cpu);
  if (!row) return 0;
  hint = row->FirstNotOver(range.begin_ns, hint);
  std::uint64_t ns = 0;
  for (std::uint64_t i = hint; i < row->size(); ++i) {
    const IntervalLeaf leaf = row->leaf(i);
    if (leaf.begin_ns >= range.end_ns) break;
    if (i == hint + kFew) return TimeIn(cpu, range);
    const std::uint64_t begin_ns = std::max(leaf.begin_ns, range.begin_ns);
    const std::uint64_t end_ns = std::min(leaf.end_ns, range.end_ns);
    ns += end_ns > begin_ns ? end_ns - begin_ns : 0;
  }
  return ns;
}

std::uint64_t InterruptRows::TimeBefore(std::uint32_t cpu,
                                        std::uint64_t time_ns) const {
  return TimeIn(cpu, {0, time_ns});
}

bool InterruptRows::IsIn(std::uint32_t cpu, std::uint64_t time_ns) const {
  const std::optional<IntervalRow> row = Row(cpu);
  return row && row->Covering(time_ns).has_value();
}

ThreadRun::ThreadRun(const TimelineIndex& index, std::uint32_t row,
                     const InterruptRows& interrupts)
    : index_(index), dispatches_(index, row), interrupts_(interrupts) {
  if (dispatches_.entry().kind != RowKind::kThreadRun) return;
  // The rows of a thread are adjacent.
  for (std::uint32_t next = row + 1; next < index.rows().size(); ++next) {
    const RowEntry& entry = index.rows()[next];
    if (entry.owner != dispatches_.entry().owner) break;
    if (entry.kind == RowKind::kThreadWait) waits_ = next;
    if (entry.kind == RowKind::kFault) faults_ = next;
    if (entry.kind == RowKind::kThreadBlocked) blocked_.emplace(index, next);
  }
}

std::uint64_t ThreadRun::OnCpuBefore(std::uint64_t time_ns) const {
  const std::uint64_t end = dispatches_.FirstBeginning(time_ns);
  if (end == 0) return 0;
  const std::uint64_t cut = end - 1;  // the only dispatch that may not be over
  const std::uint32_t interrupts = dispatches_.entry().extras;
  const std::uint64_t before_ns =
      dispatches_.SumOfFirst(cut, 0) - dispatches_.SumOfFirst(cut, interrupts);
  const IntervalLeaf dispatch = dispatches_.leaf(cut);
  if (dispatch.end_ns <= time_ns) {
    return before_ns + (dispatch.end_ns - dispatch.begin_ns) -
           dispatches_.extra(cut, interrupts - 1);
  }
  const std::uint64_t part_ns = time_ns - dispatch.begin_ns;
  const RowEntry& row = dispatches_.entry();
  const std::uint32_t cpu =
      row.kind == RowKind::kCpu ? row.owner : dispatch.key;
  return before_ns + part_ns -
         std::min(part_ns,
                  interrupts_.TimeIn(cpu, {dispatch.begin_ns, time_ns}));
}

std::uint64_t ThreadRun::FaultsIn(TimeRange range) const {
  if (!faults_ || range.begin_ns >= range.end_ns) return 0;
  const RowEntry& entry = index_.rows()[*faults_];
  const PackedBlocks times(
      index_.bytes(), index_.At<std::uint64_t>(entry.leaf_offset), kFaultShape);
  const auto time = [&](std::uint64_t number) {
    return times.Value(number, 0);
  };
  if (entry.leaves == 0 || time(0) >= range.end_ns ||
      time(entry.leaves - 1) < range.begin_ns) {
    return 0;
  }
  const auto before = [&](std::uint64_t time_ns, std::uint64_t from) {
    return PartitionPoint(from, entry.leaves, [&](std::uint64_t number) {
      return time(number) < time_ns;
    });
  };
  const std::uint64_t first = before(range.begin_ns, 0);
  return before(range.end_ns, first) - first;
}

IntervalRow::Cumulative ThreadRun::CountBefore(std::uint64_t time_ns,
                                               std::uint32_t event) const {
  const CountRule rule = index_.RuleOf(event);
  const std::uint32_t which = 1 + event;
  // Each has a record, also where the dispatch around it is not known.
  if (rule == CountRule::kAtFaults && faults_ &&
      index_.rows()[*faults_].leaves ==
          dispatches_.SumOfFirst(dispatches_.entry().leaves, which)) {
    return {FaultsIn({0, time_ns}), false};
  }
  const std::uint64_t end = dispatches_.FirstBeginning(time_ns);
  if (end == 0) return {0, false};
  const std::uint64_t cut = end - 1;  // the only dispatch that may not be over
  const IntervalLeaf dispatch = dispatches_.leaf(cut);
  if (rule == CountRule::kSpread || dispatch.end_ns <= time_ns) {
    return dispatches_.Before(time_ns, which);
  }
  const std::uint64_t before = dispatches_.SumOfFirst(cut, which);
  const std::uint64_t value = dispatches_.extra(cut, event);
  const TimeRange part{dispatch.begin_ns, time_ns};
  switch (rule) {
    case CountRule::kAtBegin:
      return {before + value, false};
    case CountRule::kAtFaults:
      // Counts without a record are at unknown times.
      return {before + std::min(value, FaultsIn(part)),
              value != FaultsIn({dispatch.begin_ns, dispatch.end_ns})};
    case CountRule::kOnCpu: {
      const std::uint64_t wall_ns = dispatch.end_ns - dispatch.begin_ns;
      const std::uint64_t whole_ns =
          wall_ns - std::min(wall_ns, dispatches_.extra(
                                          cut, dispatches_.entry().extras - 1));
      if (whole_ns == 0) return {before, false};
      const std::uint64_t part_ns = std::min(
          whole_ns, OnCpuBefore(time_ns) - OnCpuBefore(dispatch.begin_ns));
      __extension__ typedef unsigned __int128 Wide;
      // Counts of which a part is elsewhere are not where the time is.
      return {
          before + static_cast<std::uint64_t>(Wide{value} * part_ns / whole_ns),
          value != whole_ns};
    }
    case CountRule::kSpread:
      break;
  }
  return {before, false};
}

bool LeavesBlocked(std::uint32_t flags) {
  constexpr std::uint32_t kBlocks =
      logformat::kSwitchInterruptible | logformat::kSwitchUninterruptible |
      logformat::kSwitchStopped | logformat::kSwitchTraced;
  const std::uint32_t state = flags >> kLeafEndStateShift;
  return (state & logformat::kSwitchDead) == 0 && (state & kBlocks) != 0;
}

bool ThreadRun::IsBlockedAfter(std::uint64_t dispatch) const {
  std::uint64_t hint = 0;
  return IsBlockedAfter(dispatch, hint);
}

bool ThreadRun::IsBlockedAfter(std::uint64_t dispatch,
                               std::uint64_t& wait_hint) const {
  const IntervalLeaf leaf = dispatches_.leaf(dispatch);
  if (LeavesBlocked(leaf.flags)) return true;
  if (!waits_) return false;
  const IntervalRow waits(index_, *waits_);
  wait_hint = waits.FirstBeginning(leaf.end_ns, wait_hint);
  const std::uint64_t next = wait_hint;
  return next < waits.size() && WasWoken(waits.leaf(next).flags) &&
         (dispatch + 1 == dispatches_.size() ||
          waits.leaf(next).begin_ns < dispatches_.leaf(dispatch + 1).begin_ns);
}

std::uint64_t ThreadRun::BlockedBefore(std::uint64_t time_ns) const {
  if (has_pauses()) return blocked_ ? blocked_->Before(time_ns, 0).value : 0;
  const std::uint64_t end = dispatches_.FirstBeginning(time_ns);
  if (end == 0) return 0;
  const std::uint32_t which = dispatches_.entry().extras - 1;
  const std::uint64_t before_ns = dispatches_.SumOfFirst(end, which);
  const IntervalLeaf last = dispatches_.leaf(end - 1);
  if (last.end_ns >= time_ns || !IsBlockedAfter(end - 1)) return before_ns;
  std::uint64_t waited_ns = 0;
  if (waits_) {
    const IntervalRow waits(index_, *waits_);
    waited_ns =
        waits.Before(time_ns, 0).value - waits.Before(last.end_ns, 0).value;
  }
  const std::uint64_t gap_ns = time_ns - last.end_ns;
  return before_ns + gap_ns - std::min(gap_ns, waited_ns);
}

}  // namespace countrace::viewer
