// The perf events that take samples, one for each event and CPU, and their
// rings.
//
// In: what is sampled. Out: entries in the batches of the CPUs' records
// (sample_entries.h), in ring order. With privilege they count whole CPUs, so
// that a process of a millisecond has its share of samples, as a process of an
// hour; without it threads and what these fork, each by itself. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLING_EVENTS_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLING_EVENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"
#include "runtime/recorder/kernel/ring/kernel_record.h"
#include "runtime/recorder/kernel/ring/perf_ring.h"
#include "runtime/recorder/request/sample_request.h"

namespace countrace::runtime {

// The sums of one event on one CPU.
struct SamplingTotals {
  std::uint64_t counted = 0;    // by the event itself
  std::uint64_t idle = 0;       // sum of the periods of samples on the idle CPU
  std::uint64_t lost = 0;       // samples that found no room in the ring
  std::uint64_t throttled = 0;  // times that the kernel stopped it for a while
  std::uint64_t left_out = 0;   // samples that were dropped by request
};

// Returns: INVALID_ARGUMENT this machine does not have the event.
absl::Status TrySampling(const SampleRequest& request);

class SamplingEvents {
 public:
  // Opens them, disabled. `threads`: empty for whole CPUs; else these, with
  // records of forks, ends and names. Returns: PERMISSION_DENIED,
  // INVALID_ARGUMENT the machine lacks the event, RESOURCE_EXHAUSTED.
  static absl::StatusOr<SamplingEvents> Open(
      const std::vector<SampleRequest>& requests,
      const std::vector<std::uint32_t>& cpus,
      const std::vector<std::int32_t>& threads = {});

  absl::Status Enable();
  // Appends what happened on the CPU with this index since the last call.
  void Drain(std::size_t cpu, RecordBatch& batch);
  // One of each ring, readable when it is half full.
  std::vector<int> Descriptors() const;
  // From now on, drops samples instead of appending them. What else the rings
  // hold, mappings, is appended.
  void LeaveOut(bool leave_out) { leave_out_ = leave_out; }
  // Stops them and reads their counts. What is in the rings stays there.
  void Disable();

  std::size_t events() const { return events_; }
  // The most that the copies of stacks take in the rings of the CPU with this
  // index.
  std::uint64_t stack_ring_bytes(std::size_t cpu) const;
  const SamplingTotals& totals(std::size_t cpu, std::size_t event) const {
    return all_[cpu * events_ + event].totals;
  }

 private:
  struct Event {
    std::vector<base::ScopedFd> fds;  // all with the first one's ring
    PerfRing ring;
    SamplingTotals totals;
    std::uint64_t lost_records = 0;  // sum of PERF_RECORD_LOST
    std::uint64_t period = 0;        // 0: the kernel chooses
    bool of_threads = false, has_stacks = false;
    logformat::SampleData data = logformat::SampleData::kNone;
  };
  // Which records of mappings come with an event.
  enum class Follows { kNone, kCode, kCodeAndData };
  static absl::StatusOr<Event> OpenEvent(
      const SampleRequest& request, std::uint32_t cpu, Follows follows,
      const std::vector<std::int32_t>& threads);
  void Decode(Event& event, std::uint16_t index,
              const perf_event_header* header, RecordBatch& batch) const;

  std::size_t events_ = 0;
  bool leave_out_ = false;
  std::vector<Event> all_;  // by CPU, then event
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLING_EVENTS_H_
