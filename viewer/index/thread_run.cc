#include "viewer/index/thread_run.h"

#include <algorithm>

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

std::uint64_t InterruptRows::TimeBefore(std::uint32_t cpu,
                                        std::uint64_t time_ns) const {
  return TimeIn(cpu, {0, time_ns});
}

bool InterruptRows::IsIn(std::uint32_t cpu, std::uint64_t time_ns) const {
  const std::optional<IntervalRow> row = Row(cpu);
  return row && row->Covering(time_ns).has_value();
}

std::uint64_t ThreadRun::OnCpuBefore(std::uint64_t time_ns) const {
  const std::uint64_t end = dispatches_.FirstBeginning(time_ns);
  if (end == 0) return 0;
  const std::uint64_t cut = end - 1;  // the only dispatch that may not be over
  const std::uint32_t interrupts = dispatches_.entry().extras;
  const std::uint64_t before_ns =
      dispatches_.SumOfFirst(cut, 0) - dispatches_.SumOfFirst(cut, interrupts);
  const IntervalLeaf& dispatch = dispatches_.leaf(cut);
  if (dispatch.end_ns <= time_ns) {
    return before_ns + (dispatch.end_ns - dispatch.begin_ns) -
           dispatches_.extra(cut, interrupts - 1);
  }
  const std::uint64_t part_ns = time_ns - dispatch.begin_ns;
  return before_ns + part_ns -
         std::min(part_ns, interrupts_.TimeIn(dispatch.key,
                                              {dispatch.begin_ns, time_ns}));
}

}  // namespace countrace::viewer
