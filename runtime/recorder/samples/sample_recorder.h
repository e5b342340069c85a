// Samples of a recording: takes them, and stores those of counted processes as
// records of the CPUs' streams (FORMAT.md 4.8).
//
//   SamplingEvents -> entries in the batches of CpuStreams -> SampleRecorder
//     -> records: definitions (SampleDefinitions), then the sample itself
//
// Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_RECORDER_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_RECORDER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/data_areas.h"
#include "logformat/write/packet_writer.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_registry.h"
#include "runtime/recorder/kernel/ring/kernel_record.h"
#include "runtime/recorder/kernel/ring/sample_entries.h"
#include "runtime/recorder/request/off_cpu_request.h"
#include "runtime/recorder/request/sample_request.h"
#include "runtime/recorder/samples/address_spaces.h"
#include "runtime/recorder/samples/kernel_names.h"
#include "runtime/recorder/samples/sample_definitions.h"
#include "runtime/recorder/samples/sample_stacks.h"
#include "runtime/recorder/samples/sampling_events.h"

namespace countrace::runtime {

class SampleRecorder {
 public:
  // Null without requests. `threads`, and errors: as SamplingEvents::Open().
  // `namer` as KernelNames has it.
  static absl::StatusOr<std::unique_ptr<SampleRecorder>> Open(
      std::vector<SampleRequest> requests, OffCpuRequest off_cpu,
      const std::vector<std::uint32_t>& cpus,
      const std::vector<std::int32_t>& threads = {}, CodeNamer namer = {});

  // The index of off-cpu in entries: behind those of the requests. The next one
  // is that of its wakers.
  std::size_t off_cpu_event() const { return requests_.size(); }

  // The most that Drain() appends of copies of stacks.
  std::uint64_t stack_bytes(std::size_t cpu) const {
    return events_.stack_ring_bytes(cpu);
  }
  // Registers the points and begins to sample.
  absl::Status Begin(KernelHookRegistry& registry);
  // For a process that ran before. After Begin(), so none of its mappings is
  // missed.
  void ReadMappings(std::int32_t pid);
  // Readable when a ring is half full.
  std::vector<int> WakeDescriptors() const { return events_.Descriptors(); }
  // Appends entries to the batch of the CPU with this index, in time order with
  // what is in it.
  void Drain(std::size_t cpu, RecordBatch& batch);

  // A new process has its parent's mappings; an ended one none.
  void Fork(std::int32_t parent_pid, std::int32_t pid) {
    stacks_.Fork(parent_pid, pid);
    if (areas_ != nullptr) areas_->Fork(parent_pid, pid);
  }
  void End(std::int32_t pid) {
    stacks_.End(pid);
    if (areas_ != nullptr) areas_->End(pid);
  }
  // Entries of the batches, in time order over all CPUs. `time_ns`: theirs, or
  // later if the kernel finished them late. `counted`: its process is;
  // `running_tid` stands for a thread that is ending, which has no number
  // any more.
  void StoreSample(std::size_t cpu, const RecordBatch& batch,
                   const KernelRecord& entry, std::uint64_t time_ns,
                   bool counted, std::int32_t running_tid,
                   logformat::PacketWriter& writer);
  void TakeMapping(const RecordBatch& batch, const KernelRecord& entry);

  // By CPU, of off-cpu and of its wakers. Before StoreEnd().
  void SetOffCpuSums(std::vector<std::array<OffCpuSums, 2>> sums) {
    off_cpu_sums_ = std::move(sums);
  }
  // Samples of all events that found no room. Behind Stop().
  std::uint64_t lost() const;
  // Drops the samples that Drain() finds from now on, or not any more.
  void LeaveOut(bool leave_out) { events_.LeaveOut(leave_out); }
  std::uint64_t left_out() const;  // dropped so far
  // What was lost, for the user. Behind Stop().
  void Describe(std::vector<std::string>& messages) const;

  // Ends sampling; what is in the rings stays there.
  void Stop() { events_.Disable(); }
  // Behind the last sample of a CPU: what only the end shows. Reads files of
  // sampled programs, for up to 6 s: no ring waits for it. `ids` as in
  // KernelHookRecord.
  void StoreEnd(std::size_t cpu, std::uint64_t time_ns, std::uint64_t ids,
                logformat::PacketWriter& writer);

 private:
  SampleRecorder(std::vector<SampleRequest> requests, OffCpuRequest off_cpu,
                 SamplingEvents events, std::size_t cpus, CodeNamer namer);
  StackKind KindOf(std::size_t event) const;
  // Defines the area in which the data address of a sample lies. Returns its
  // number.
  std::uint64_t AreaOf(const SampleDataWords& data, const SampleOutput& out);
  void StoreOffCpuEnd(bool of_waker, const SampleOutput& out);
  void DescribeOffCpu(std::vector<std::string>& messages) const;

  std::vector<SampleRequest> requests_;
  const OffCpuRequest off_cpu_;
  std::vector<std::array<OffCpuSums, 2>> off_cpu_sums_;  // by CPU
  SamplingEvents events_;
  std::vector<std::vector<std::uint64_t>> outside_;  // periods, by CPU, event
  CodeFiles files_;
  KernelNames kernel_names_;
  SampleStacks stacks_;
  std::unique_ptr<logformat::DataAreas> areas_;  // null: without --data
  SampleDefinitions definitions_;
  // What is not known of files, and of code made at run time.
  std::vector<std::string> end_messages_;
  bool ended_ = false;
  // Event ids of the points.
  std::vector<std::uint16_t> sample_ids_;  // by event
  std::uint16_t count_id_ = 0, short_id_ = 0;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_RECORDER_H_
