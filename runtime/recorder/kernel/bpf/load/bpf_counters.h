// The perf events that the BPF programs read at each dump: opened on each CPU,
// and which event set of them counts.
//
// In: the events of a recording. Out: descriptors in a map of the programs,
// and what could not be counted. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_BPF_COUNTERS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_BPF_COUNTERS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"
#include "runtime/recorder/events/event_name.h"
#include "runtime/recorder/kernel/bpf/load/bpf_program_options.h"
#include "runtime/recorder/kernel/hooks/kernel_ring.h"

namespace countrace::runtime {

// Where the programs take the value of an event that always counts.
countrace_counter_source SourceOf(const EventSpec& event, bool fault_records);

// Whether it is read from a perf event.
inline bool IsRead(countrace_counter_source source) {
  return source == COUNTRACE_SOURCE_PERF || source == COUNTRACE_SOURCE_PMU;
}

class BpfCounters {
 public:
  BpfCounters() = default;  // of no CPU
  // Opens the events on all CPUs and stores their descriptors in `map`, the
  // programs' perf_events. Of event sets the first one counts.
  static absl::StatusOr<BpfCounters> Open(const BpfProgramOptions& options,
                                          int map);

  // Counts event set `to` instead of `from` on the CPU of `slot`.
  absl::Status CountSet(std::size_t slot, std::uint32_t from, std::uint32_t to);
  // An interval of `set` ends: adds it to rotations().
  void EndRotation(std::size_t slot, std::uint32_t set);
  // Enables the always-on events again if another user of the PMU took their
  // counters.
  void Retry(std::size_t slot);

  // Intervals of a set on a CPU, and those at whose end the PMU did not count
  // it.
  struct SetRotations {
    std::uint64_t rotations = 0, refused = 0;
  };
  const SetRotations& rotations(std::size_t slot, std::uint32_t set) const {
    return set_rotations_[slot * sets_ + set];
  }
  // Bit i: value i of a dump is counted on this CPU. Without event sets only;
  // with them, each dump has these bits.
  std::uint32_t present(std::size_t slot) const { return present_[slot]; }
  // Events that could not be opened on a CPU although they open on others.
  struct MissingEvent {
    std::uint32_t cpu;
    std::string name;
    int error;
  };
  const std::vector<MissingEvent>& missing() const { return missing_; }

 private:
  struct EventRole;
  // Sets `opened` unless the event is absent on this CPU.
  absl::Status OpenEvent(const EventSpec& event, std::size_t index,
                         std::size_t slot, const EventRole& role, int& opened);
  absl::Status OpenAlwaysOn(const BpfProgramOptions& options, std::size_t slot);
  absl::Status OpenSets(const EventChoice& choice, std::size_t slot);

  int map_ = -1;
  std::vector<std::uint32_t> cpus_;  // by slot
  std::uint32_t sets_ = 0;
  std::vector<std::uint32_t> present_;
  std::vector<MissingEvent> missing_;
  std::vector<int> always_leaders_;  // by slot; -1: no PMU event always counts
  std::vector<int> set_leaders_;     // slot * sets_ + set; -1: none opened
  std::vector<SetRotations> set_rotations_;
  std::vector<base::ScopedFd> events_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_LOAD_BPF_COUNTERS_H_
