// How long the BPF programs run, measured by the kernel now and then: to
// measure every run would cost as much as some of the runs.
//
// Windows of one call to the next, one in kEvery. The estimate is what was
// measured, times the whole time over the time of the windows. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_RUN_TIME_SAMPLER_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_RUN_TIME_SAMPLER_H_

#include <cstdint>

#include "base/posix/scoped_fd.h"
#include "runtime/recorder/kernel/bpf/bpf_programs.h"

namespace countrace::runtime {

class RunTimeSampler {
 public:
  explicit RunTimeSampler(const BpfPrograms& programs) : programs_(programs) {}

  // Recording begins: opens the first window. Where the kernel or the privilege
  // (CAP_SYS_ADMIN) does not allow it, nothing is measured.
  void Begin(std::uint64_t now_ns);
  // A turn of the recorder's loop.
  void Turn(std::uint64_t now_ns);
  void End(std::uint64_t now_ns);

  std::uint64_t sampled_ns() const { return sampled_ns_; }
  // Estimated run time of all programs from Begin() to End(), ns.
  std::uint64_t estimated_ns() const;

 private:
  // Of the recorder's turns (10 ms each). The first is a window.
  static constexpr std::uint64_t kEvery = 20;

  void Open(std::uint64_t now_ns);
  void Close(std::uint64_t now_ns);

  const BpfPrograms& programs_;
  base::ScopedFd statistics_;  // open: the kernel measures
  std::uint64_t begin_ns_ = 0, end_ns_ = 0;
  std::uint64_t window_begin_ns_ = 0, sampled_ns_ = 0, turns_ = 0;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_RUN_TIME_SAMPLER_H_
