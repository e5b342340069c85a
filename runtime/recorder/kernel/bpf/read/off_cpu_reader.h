// Reads the stacks of threads off CPU (off_cpu.bpf.h).
//
// In: the ring and the maps of the BPF programs. Out: entries in the batches of
// the CPUs on which the threads came back. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_OFF_CPU_READER_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_OFF_CPU_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/recorder/kernel/bpf/load/bpf_programs.h"
#include "runtime/recorder/kernel/cpu_streams.h"
#include "runtime/recorder/request/off_cpu_request.h"

struct ring_buffer;
struct countrace_off_cpu_stack;

namespace countrace::runtime {

class OffCpuReader {
 public:
  // `event`: the index of their event in entries of samples; that of wakers is
  // the next one. Returns:
  // RESOURCE_EXHAUSTED memory.
  static absl::StatusOr<std::unique_ptr<OffCpuReader>> Open(
      const BpfPrograms& programs, OffCpuRequest request, std::size_t event);
  ~OffCpuReader();
  OffCpuReader(const OffCpuReader&) = delete;
  OffCpuReader& operator=(const OffCpuReader&) = delete;

  // Appends all stacks that were handed over, each 1 ns behind its thread's
  // dispatch. Behind the reading of the CPUs' rings.
  void Drain(std::vector<CpuStream>& streams);
  // Appends those of the threads that are off CPU still, as if they came back
  // at `end_ns`. Requires: none are taken any more; everything was drained.
  void TakeWaiting(std::uint64_t end_ns, std::vector<CpuStream>& streams);
  // By CPU, of off-cpu and of its wakers. Behind TakeWaiting().
  std::vector<std::array<OffCpuSums, 2>> Sums(std::size_t cpus) const;

 private:
  OffCpuReader(BpfPrograms::OffCpuMaps maps, OffCpuRequest request,
               std::size_t event)
      : maps_(maps), request_(request), event_(event) {}
  void Add(const countrace_off_cpu_stack& head,
           std::span<const std::byte> frames, std::span<const std::byte> copy,
           std::vector<CpuStream>& streams) const;

  const BpfPrograms::OffCpuMaps maps_;
  const OffCpuRequest request_;
  const std::size_t event_;
  ring_buffer* ring_ = nullptr;
  std::vector<CpuStream>* streams_ = nullptr;  // during Drain()
  std::vector<OffCpuSums> waiting_;            // by CPU
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_OFF_CPU_READER_H_
