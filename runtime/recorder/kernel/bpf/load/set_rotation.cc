#include "runtime/recorder/kernel/bpf/load/set_rotation.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "logformat/packet_layout.h"

namespace countrace::runtime {

using logformat::CountersReason;

SetRotation::SetRotation(RotationSchedule schedule, BpfPrograms& programs,
                         std::vector<std::uint32_t> cpus)
    : schedule_(std::move(schedule)),
      programs_(programs),
      cpus_(std::move(cpus)) {}

absl::Status SetRotation::Begin() {
  if (!rotates()) return absl::OkStatus();
  heads_.assign(cpus_.size(), 0);
  for (std::size_t slot = 0; slot < cpus_.size(); ++slot) {
    const std::uint32_t set = sets_.emplace_back(schedule_.Next(slot));
    if (set == 0) continue;  // it is on
    std::atomic_ref(programs_.control(slot).set)
        .store(set, std::memory_order_relaxed);
    const absl::Status status = programs_.counters().CountSet(slot, 0, set);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void SetRotation::ChangeDue(std::uint64_t now_ns, std::uint64_t period_ns,
                            std::vector<std::string>& messages) {
  if (!schedule_.IsDue(now_ns, period_ns)) return;
  for (std::size_t slot = 0; slot < sets_.size(); ++slot) {
    // Idle since the last change: nothing to count, and no CPU to wake. (A busy
    // CPU may also have no records: one thread that runs without a switch.)
    countrace_ring_control& control = programs_.control(slot);
    const auto head =
        std::atomic_ref(control.head).load(std::memory_order_relaxed);
    const bool idle =
        std::atomic_ref(control.task).load(std::memory_order_relaxed) != 0 &&
        std::atomic_ref(control.tid).load(std::memory_order_relaxed) == 0;
    if (idle && head == heads_[slot]) continue;
    const absl::Status status = Change(slot, schedule_.Next(slot));
    heads_[slot] =
        std::atomic_ref(control.head).load(std::memory_order_relaxed);
    if (!status.ok() && !std::exchange(change_failed_, true)) {
      messages.push_back(
          absl::StrFormat("Event sets do not rotate as requested: %s",
                          base::StatusText(status)));
    }
  }
}

absl::Status SetRotation::Change(std::size_t slot, std::uint32_t to) {
  const std::uint32_t from = std::exchange(sets_[slot], to);
  BpfCounters& counters = programs_.counters();
  counters.Retry(slot);
  counters.EndRotation(slot, from);
  absl::Status status =
      programs_.DumpCounters(cpus_[slot], CountersReason::kSetEnd, to);
  status.Update(counters.CountSet(slot, from, to));
  status.Update(
      programs_.DumpCounters(cpus_[slot], CountersReason::kSetBegin, to));
  return status;
}

void SetRotation::Describe(const EventChoice& choice,
                           std::vector<std::string>& messages) const {
  for (std::size_t slot = 0; slot < sets_.size(); ++slot) {
    for (std::uint32_t set = 0; set < choice.set_sizes.size(); ++set) {
      const auto& taken = programs_.counters().rotations(slot, set);
      if (taken.refused == 0) continue;
      messages.push_back(absl::StrFormat(
          "Event set %d {%s} was not counted on CPU %d in %d of %d intervals: "
          "the PMU has no counters for it beside those always on, or another "
          "user holds them; its values are absent there",
          set, NamesOf(choice, set), cpus_[slot], taken.refused,
          taken.rotations));
    }
  }
}

}  // namespace countrace::runtime
