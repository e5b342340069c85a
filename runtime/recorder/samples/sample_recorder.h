// Samples of a recording: takes them, and stores those of counted processes as
// records of the CPUs' streams (FORMAT.md 4.8).
//
//   SamplingEvents -> entries in the batches of CpuStreams -> SampleRecorder
//     -> records: files, symbols, frames, then the sample itself
//
// Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_RECORDER_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_RECORDER_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/code/stack_unwinder.h"
#include "logformat/data_areas.h"
#include "logformat/write/packet_writer.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_registry.h"
#include "runtime/recorder/kernel/kernel_record.h"
#include "runtime/recorder/samples/address_spaces.h"
#include "runtime/recorder/samples/kernel_names.h"
#include "runtime/recorder/samples/local_symbols.h"
#include "runtime/recorder/samples/off_cpu_request.h"
#include "runtime/recorder/samples/sample_entries.h"
#include "runtime/recorder/samples/sample_request.h"
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
    spaces_.Fork(parent_pid, pid);
    if (areas_ != nullptr) areas_->Fork(parent_pid, pid);
  }
  void End(std::int32_t pid) {
    spaces_.End(pid);
    if (areas_ != nullptr) areas_->End(pid);
    unwinder_.Forget(pid);
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
  // What was lost, for the user. Behind Stop().
  void Describe(std::vector<std::string>& messages) const;

  // Ends sampling; what is in the rings stays there.
  void Stop() { events_.Disable(); }
  // Behind the last sample of a CPU: what only the end shows. `ids` as in
  // KernelHookRecord.
  void StoreEnd(std::size_t cpu, std::uint64_t time_ns, std::uint64_t ids,
                logformat::PacketWriter& writer);

 private:
  // What a stream has defined since the begin of a packet. A packet begins
  // anew, so that it needs no other one (a flight recording overwrites the
  // oldest), unless definitions would take more than a fifth of the stream.
  struct Stream {
    std::uint64_t packets = 0;
    std::uint64_t begun_bytes = 0;  // of the stream, when it began anew
    std::uint64_t last_frame = 0;   // numbers are never used again
    absl::flat_hash_set<std::uint32_t> files;
    absl::flat_hash_set<std::uint64_t> kernel_symbols;  // by begin
    absl::flat_hash_set<std::uint32_t> areas;
    struct Frame {
      std::uint64_t parent, address;
      std::uint32_t file;
      bool operator==(const Frame&) const = default;
      template <typename H>
      friend H AbslHashValue(H h, const Frame& frame) {
        return H::combine(std::move(h), frame.parent, frame.address,
                          frame.file);
      }
    };
    absl::flat_hash_map<Frame, std::uint64_t> frames;
    // The stack of the last sample, outermost first, with its frames' numbers:
    // most stacks begin as the one before.
    std::vector<std::pair<CodePlace, std::uint64_t>> last;
    std::vector<std::uint64_t> outside;  // sum of periods, by event
  };

  SampleRecorder(std::vector<SampleRequest> requests, OffCpuRequest off_cpu,
                 SamplingEvents events, std::size_t cpus, CodeNamer namer);
  // Leaves out how each stack off CPU or of a waker begins: the program that
  // took it, and the kernel's own way there. Changes `stack_`.
  void CutOffCpu(bool of_waker);
  void StoreOffCpuEnd(std::size_t cpu, bool of_waker, std::uint64_t time_ns,
                      std::uint64_t ids, logformat::PacketWriter& writer);
  void DescribeOffCpu(std::vector<std::string>& messages) const;
  std::uint64_t FrameOf(Stream& stream, std::uint64_t parent, CodePlace place,
                        std::uint64_t ids, std::uint64_t time_ns,
                        logformat::PacketWriter& writer);
  // The frames of a sample, innermost first, to `stack_`.
  void FindFrames(const RecordBatch& batch, const KernelRecord& entry,
                  std::int32_t pid);
  void DefineFile(Stream& stream, std::uint32_t file, std::uint64_t ids,
                  std::uint64_t time_ns, logformat::PacketWriter& writer);
  void DefineKernelSymbol(Stream& stream, std::uint64_t address,
                          std::uint64_t ids, std::uint64_t time_ns,
                          logformat::PacketWriter& writer);
  // The number of the area in which the data address of a sample lies.
  std::uint64_t AreaOf(Stream& stream, const SampleDataWords& data,
                       std::uint64_t ids, std::uint64_t time_ns,
                       logformat::PacketWriter& writer);
  void DescribeStacks(std::vector<std::string>& messages) const;
  void StoreJitSymbols(Stream& stream, std::uint64_t ids, std::uint64_t time_ns,
                       logformat::PacketWriter& writer);
  // Those of one process: of memory that was used again with their times.
  void StoreJitSymbols(Stream& stream, std::uint32_t file,
                       const std::set<std::uint64_t>& addresses,
                       std::uint64_t ids, std::uint64_t time_ns,
                       logformat::PacketWriter& writer);

  std::vector<SampleRequest> requests_;
  const OffCpuRequest off_cpu_;
  std::vector<std::array<OffCpuSums, 2>> off_cpu_sums_;  // by CPU
  SamplingEvents events_;
  CodeFiles files_;
  AddressSpaces spaces_;
  base::StackUnwinder unwinder_;
  std::unique_ptr<logformat::DataAreas> areas_;  // null: without --data
  std::uint32_t kernel_file_, truncated_file_, not_unwound_file_;
  std::uint64_t unwound_ = 0, truncated_ = 0, not_unwound_ = 0;  // stacks
  std::vector<CodePlace> stack_;  // of the sample being stored
  KernelNames kernel_names_;
  // Addresses in code that compilers at run time made, by file.
  std::map<std::uint32_t, std::set<std::uint64_t>> jit_addresses_;
  KernelHookRegistry* registry_ = nullptr;  // since Begin()
  std::vector<std::string> jit_messages_;   // what is wrong with their files
  std::vector<Stream> streams_;
  // Event ids of the points.
  std::vector<std::uint16_t> sample_ids_;  // by event
  std::uint16_t frame_id_ = 0, file_id_ = 0, symbol_id_ = 0, count_id_ = 0,
                short_id_ = 0, timed_id_ = 0, area_id_ = 0;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_RECORDER_H_
