// Multiplexed event sets with BPF: which one each CPU counts, and the change to
// the next one, with a dump before and after.
//
// In: events/rotation_schedule.h. Out: dumps in the CPUs' rings, and what the
// PMU did not count. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_SET_ROTATION_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_SET_ROTATION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/recorder/events/event_set_choice.h"
#include "runtime/recorder/events/rotation_schedule.h"
#include "runtime/recorder/kernel/bpf/load/bpf_programs.h"

namespace countrace::runtime {

class SetRotation {
 public:
  // `programs` must outlive this; `cpus`: by slot. Without sets nothing ever
  // happens.
  SetRotation(RotationSchedule schedule, BpfPrograms& programs,
              std::vector<std::uint32_t> cpus);

  bool rotates() const { return schedule_.rotates(); }
  // Makes the first set of each CPU the one that counts. Before the CPUs' first
  // counters are dumped.
  absl::Status Begin();
  // The first intervals begin.
  void Begin(std::uint64_t now_ns) { schedule_.Begin(now_ns); }
  // Changes the sets if their intervals have ended, but for CPUs that were idle
  // since the last change. The first error is added to `messages`. `period_ns`:
  // as RotationSchedule::IsDue().
  void ChangeDue(std::uint64_t now_ns, std::uint64_t period_ns,
                 std::vector<std::string>& messages);
  // Adds a message for each set that was not counted on a CPU in some of its
  // intervals.
  void Describe(const EventChoice& choice,
                std::vector<std::string>& messages) const;

 private:
  absl::Status Change(std::size_t slot, std::uint32_t to);

  RotationSchedule schedule_;
  BpfPrograms& programs_;
  const std::vector<std::uint32_t> cpus_;
  std::vector<std::uint32_t> sets_;   // counting now, by slot
  std::vector<std::uint64_t> heads_;  // of each ring at its last change
  bool change_failed_ = false;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_SET_ROTATION_H_
