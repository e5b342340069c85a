// Estimates the run time of the BPF programs. The kernel measures it only at
// intervals: to measure every run would cost as much as some of the runs.
//
// A window lasts from one call to the next; one in kEvery is measured. The
// estimate is the measured time, times the whole time over the time of the
// windows. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_RUN_TIME_SAMPLER_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_RUN_TIME_SAMPLER_H_

#include <cstdint>

#include "base/posix/scoped_fd.h"
#include "runtime/recorder/kernel/bpf/bpf_programs.h"

namespace countrace::runtime {

class RunTimeSampler {
 public:
  explicit RunTimeSampler(const BpfPrograms& programs) : programs_(programs) {}

  // Opens the first window, when recording begins. Nothing is measured where
  // the kernel or a missing privilege (CAP_SYS_ADMIN) forbids it.
  void Begin(std::uint64_t now_ns);
  // One pass of the recorder's loop.
  void Turn(std::uint64_t now_ns);
  void End(std::uint64_t now_ns);

  std::uint64_t sampled_ns() const { return sampled_ns_; }
  // Estimated run time of all programs from Begin() to End(), ns.
  std::uint64_t estimated_ns() const;

 private:
  // In passes of the recorder (10 ms each). The first one is a window.
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
