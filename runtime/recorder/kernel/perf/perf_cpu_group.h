// The perf events of one CPU: the group led by sched:sched_switch, the page
// faults beside it, and the ring that both write to. Where the kernel hides
// switches of some threads (their tracepoints do not fire), also its switch-in
// records, in a ring of their own; losses there are no losses of the trace.
//
// Thread: one. Begin and end readings are taken while the calling thread runs
// on that CPU (thread_placement.h).
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_PERF_PERF_CPU_GROUP_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_PERF_PERF_CPU_GROUP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"
#include "runtime/recorder/events/event_set_choice.h"
#include "runtime/recorder/kernel/perf/perf_decoder.h"
#include "runtime/recorder/kernel/ring/perf_ring.h"
#include "runtime/recorder/system/tracepoint_format.h"

namespace countrace::runtime {

// The mode of fault records.
struct FaultMode {
  bool exclude_user = false, exclude_kernel = false;
};

struct PerfCpuGroupOptions {
  std::uint32_t cpu = 0;
  std::uint64_t switch_tracepoint = 0;  // its id
  SwitchFormat format;
  EventChoice choice;  // the session's events
  bool fault_records = false;
  FaultMode fault_mode;
  std::uint64_t ring_bytes = 0;
};

// Counters and ring position at one instant between two records.
struct GroupReading {
  std::uint64_t time_ns = 0;
  std::uint64_t ring_head = 0;
  std::uint64_t clock = 0;  // of the leader, if sets rotate: PerfDecoder
  std::vector<std::uint64_t> counters;  // the words of a dump
};

class PerfCpuGroup {
 public:
  // Opens everything disabled. Events that this CPU lacks are left out (see
  // missing()). Returns: NOT_FOUND the CPU went offline; PERMISSION_DENIED;
  // RESOURCE_EXHAUSTED.
  static absl::StatusOr<PerfCpuGroup> Open(const PerfCpuGroupOptions& options);

  // `set`: the event set that is counted first.
  absl::Status Enable(std::uint32_t set);
  // Reads the group so that no record lies between the reading and its position
  // in the ring. Returns: UNAVAILABLE if the PMU refused the (pinned) group.
  absl::StatusOr<GroupReading> Read();

  // Rotates to event set `to`. Adds the records so far to `batch`, with a dump
  // before and after. Returns: UNAVAILABLE if the PMU has no counters for it;
  // the group continues without.
  absl::Status ChangeSet(std::uint32_t to, RecordBatch& batch);

  // If another user of the PMU took its counters, the whole group is off, and
  // no switch is recorded. This continues without the hardware events, which
  // are absent until they can be counted again. Call it at intervals, with the
  // ring drained; it adds its results to `batch`. It interrupts the CPU.
  absl::Status FindRefusal(RecordBatch& batch);
  // Time for which hardware events were absent, and how often that began: each
  // time switches may have been lost.
  std::uint64_t refused_ns() const;
  std::uint64_t refusals() const { return refusals_; }

  // Also records switch-ins from now on; a second call does nothing. Costs a
  // record for each switch in and out. Returns: as Open().
  absl::Status WatchSwitchIns();
  bool watches_switch_ins() const { return switch_ins_.has_value(); }

  // Moves the records before ring position `limit` to `batch`, in time order,
  // and switch-ins up to `until_ns`. Returns how many records were out of
  // order. With switch-ins, records later than the time of the call may have
  // earlier ones after them in the next batch: leave them in `batch`.
  std::uint64_t Drain(std::uint64_t limit, RecordBatch& batch,
                      std::uint64_t until_ns = ~std::uint64_t{0});

  // Moves the records so far to `batch`, and a dump behind them. Returns: as
  // Read().
  absl::Status DumpForSnapshot(RecordBatch& batch);

  std::uint32_t cpu() const { return cpu_; }
  std::uint32_t present() const { return present_; }  // bit i: event i counts
  int ring_fd() const { return leader_.get(); }
  PerfRing& ring() { return ring_; }
  const PerfRing& ring() const { return ring_; }
  const PerfDecoder& decoder() const { return decoder_; }
  // errno of event i of the set if it could not be opened, else 0.
  const std::vector<int>& missing() const { return missing_; }

 private:
  PerfCpuGroup(std::uint32_t cpu, std::uint32_t present, base::ScopedFd leader,
               std::vector<base::ScopedFd> members, base::ScopedFd faults,
               PerfRing ring, PerfDecoder decoder, std::vector<int> missing);

  std::uint32_t cpu_;
  // Read() without the dump: `group` is the kernel's data.
  absl::StatusOr<GroupReading> ReadGroup(std::vector<std::uint64_t>& group);
  absl::Status Switch(std::uint32_t set, bool on);
  // Switches the PMU's always-on events and those of the current set.
  void SwitchHardware(bool on);
  void AddCounters(const GroupReading& reading,
                   logformat::CountersReason reason, RecordBatch& batch) const;

  std::uint32_t present_;
  PerfDecoder::EventBits hardware_;     // the events of a PMU
  std::uint64_t refused_since_ns_ = 0;  // 0: they are counted
  std::uint64_t refused_ns_ = 0, refusals_ = 0;
  base::ScopedFd leader_;
  std::vector<base::ScopedFd> members_;
  struct Member {
    EventSpec event;
    std::optional<std::size_t> set;
  };
  std::vector<Member> kinds_;  // of members_
  // Whether it is a PMU's, and always on or in the current set.
  bool IsHardwareInForce(const Member& member) const {
    return member.event.is_hardware() && member.set.value_or(set_) == set_;
  }
  std::uint32_t set_ = 0;
  base::ScopedFd kick_;  // with event sets: an event of the leader's PMU that
                         // counts nothing
  base::ScopedFd faults_;
  PerfRing ring_;
  PerfDecoder decoder_;
  std::vector<int> missing_;
  struct SwitchIns {
    base::ScopedFd event;
    PerfRing ring;
  };
  std::optional<SwitchIns> switch_ins_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_PERF_PERF_CPU_GROUP_H_
