// Records the kernel side of a session: every dispatch on every CPU with the
// counters at that instant, forks, execs, exits, names, page faults.
//
// In: the chosen events. Out: cpu-N streams in the trace directory. Back ends:
// perf ring buffers (kernel_recorder_perf.h); BPF behind the same interface.
// Thread: all calls from one thread.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_KERNEL_RECORDER_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_KERNEL_RECORDER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "logformat/rules/gating.h"
#include "logformat/session_layout.h"
#include "logformat/trace_info.h"
#include "runtime/recorder/events/event_set_choice.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_rules.h"
#include "runtime/recorder/kernel/process_marks.h"
#include "runtime/recorder/kernel/program_start.h"
#include "runtime/recorder/request/off_cpu_request.h"
#include "runtime/recorder/request/sample_request.h"

namespace countrace::runtime {

struct KernelRecorderOptions {
  // The processes whose records are kept (marked and unmarked ones), and the
  // mode of fault records. The modes of events are already in them.
  logformat::Gating gating;
  ProcessMarks marks;  // beside KernelRecorderTarget::root_pids
  EventChoice choice;
  std::optional<std::uint64_t>
      rotate_ns;  // absent: RotateNs() of rotation_schedule.h
  // Index of the first event that the user did not name: such events are left
  // out silently if this machine lacks them.
  std::size_t optional_events_from = logformat::kMaxEvents;
  bool fault_records = true;
  bool wakeups = false;                // a record for each wake-up: BPF only
  KernelHookRequest hooks;             // BPF only
  KernelHookRules hook_rules;          // of these
  std::vector<SampleRequest> samples;  // what is sampled beside
  OffCpuRequest off_cpu;               // BPF only
  std::uint64_t ring_bytes = 8 << 20;  // per CPU
  bool measures_itself = false;        // for SpentNs(); BPF only
};

// What is not recorded, so that recording costs less.
enum class Thinning : std::uint8_t {
  kNothing,
  kCalls,           // system calls and faults as segments
  kCallsAndSamples  // and samples
};

// The destination of the records.
struct KernelRecorderTarget {
  std::string directory;  // of the trace
  std::array<std::uint8_t, 16> uuid{};
  // Existing processes that are marked: of a command, or of -p.
  std::vector<std::int32_t> root_pids;
  // The command, which has not called exec yet; 0: none. Kernel hooks of its
  // steps before that are the recorder's and are not recorded (BPF).
  std::int32_t starting_pid = 0;
};

struct KernelRecorderStatistics {
  std::uint64_t dispatches = 0;    // read from the rings
  std::uint64_t records = 0;       // stored in the streams
  std::uint64_t bytes = 0;         // of the streams
  std::uint64_t ring_lost = 0;     // records the kernel could not store
  std::uint64_t discarded = 0;     // all causes, as counted in the streams
  std::uint64_t lost_samples = 0;  // no records: the kernel had no room
  std::uint64_t clock_errors = 0;  // times that went back
  std::uint64_t malformed = 0;     // records with an invalid form
  std::uint64_t ring_bytes = 0;    // actual size of each ring
  // Run time of BPF programs, estimated from the part of the time in which it
  // was measured (0: never).
  std::uint64_t own_bpf_ns = 0, own_bpf_sampled_ns = 0;
  // The part of `discarded` that no packet could hold (the device was full).
  std::array<std::uint64_t, logformat::kDiscardCauses> unplaced{};
  std::uint64_t left_out_samples = 0;  // by Thin()
  std::uint64_t recursion_missed = 0;  // by the kernel's guard (BPF)
  int last_errno = 0;  // errno of the last discard for disk_full or no_resource
};

class KernelRecorder {
 public:
  virtual ~KernelRecorder() = default;

  // Events that are counted, and their sets. Valid after creation.
  virtual const EventChoice& choice() const = 0;

  // Creates the streams and starts to record. After an error, nothing is
  // recorded and End() only closes the opened files.
  virtual absl::Status Begin(const KernelRecorderTarget& target) = 0;
  // Stores the records since the last call.
  virtual void Drain() = 0;
  // Stores a dump of every CPU for a snapshot (CountersReason::kSnapshot) and
  // the records before it. Without a CPU's dump, where it ends there is
  // unknown.
  virtual absl::Status DumpForSnapshot() = 0;
  // Stores the last counters of every CPU and closes the streams. Idempotent.
  virtual absl::Status End() = 0;

  // The programs that recorded processes executed, since the last call. BPF
  // only.
  virtual std::vector<ProgramStart> TakePrograms() { return {}; }
  virtual bool reports_programs() const { return false; }

  // How long after a call of Drain() the next one is due.
  static constexpr std::uint64_t kDrainNs = 10'000'000;
  virtual std::uint64_t drain_ns() const { return kDrainNs; }
  // Descriptors that become readable when Drain() should be called before its
  // timer.
  virtual std::vector<int> WakeDescriptors() const = 0;
  virtual KernelRecorderStatistics statistics() const = 0;
  // Messages for the user: events left out, smaller rings, CPUs without
  // records.
  virtual const std::vector<std::string>& messages() const = 0;

  // Kernel segments, dynamic hooks and wake-ups. BPF only.
  virtual bool records_hooks() const { return false; }
  // The marked processes that live now, without namespaces. BPF only.
  virtual std::vector<std::int32_t> MarkedProcesses() const { return {}; }
  // Run time of the BPF programs so far, all of it, ns. Absent: it is not
  // measured.
  virtual std::optional<std::uint64_t> SpentNs() const { return {}; }
  // Leaves out less or more from now on. Requires: SpentNs() has a value.
  virtual absl::Status Thin(Thinning) { return absl::OkStatus(); }

  // Parts of the request that are in no stream; not among messages().
  const std::vector<logformat::NotRecorded>& left_out() const {
    return left_out_;
  }

 protected:
  std::vector<logformat::NotRecorded> left_out_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_KERNEL_RECORDER_H_
