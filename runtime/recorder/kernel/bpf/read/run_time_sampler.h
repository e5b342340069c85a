// Estimates the run time of the BPF programs. The kernel measures it only at
// intervals: to measure every run would cost as much as some of the runs.
//
// A window is one pass of the recorder's loop. To begin and end one takes the
// kernel a millisecond and interrupts all CPUs, so they come at growing
// distances; each stands for the time since the one before it. With `always`
// one window is all of the time. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_RUN_TIME_SAMPLER_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_RUN_TIME_SAMPLER_H_

#include <cstdint>

#include "base/posix/scoped_fd.h"
#include "runtime/recorder/kernel/bpf/load/bpf_programs.h"

namespace countrace::runtime {

class RunTimeSampler {
 public:
  RunTimeSampler(const BpfPrograms& programs, bool always)
      : programs_(programs), always_(always) {}

  // Opens the first window, when recording begins. Nothing is measured where
  // the kernel or a missing privilege (CAP_SYS_ADMIN) forbids it.
  void Begin(std::uint64_t now_ns);
  // One pass of the recorder's loop.
  void Pass(std::uint64_t now_ns);
  void End(std::uint64_t now_ns);

  std::uint64_t sampled_ns() const { return sampled_ns_; }
  // The kernel measures all of the time: for this recording, or for all
  // programs (kernel.bpf_stats_enabled).
  bool measures() const;
  // Estimated run time of all programs from Begin() to End(), ns.
  std::uint64_t estimated_ns() const;

 private:
  // Distances of windows, in passes (10 ms each). The first one is a window.
  static constexpr std::uint64_t kShortest = 8, kLongest = 128;

  void Open(std::uint64_t now_ns);
  void Close(std::uint64_t now_ns);

  const BpfPrograms& programs_;
  const bool always_;
  base::ScopedFd statistics_;  // open: the kernel measures
  std::uint64_t end_ns_ = 0;
  std::uint64_t window_begin_ns_ = 0, sampled_ns_ = 0;
  std::uint64_t run_before_ns_ = 0;  // the programs' run time at its begin
  std::uint64_t passes_ = 0, next_ = kShortest, distance_ = kShortest;
  double estimated_ns_ = 0, last_share_ = 0;  // until the last window's end
  std::uint64_t estimated_until_ns_ = 0;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_RUN_TIME_SAMPLER_H_
