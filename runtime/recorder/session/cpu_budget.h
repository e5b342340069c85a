// `record --max-cpu`: decides what is recorded, so that the recorder's process
// and its BPF programs take no more than a share of one CPU.
//
//   credit   grows with time, by the share; what was spent is taken from it
//   nothing  thinned while there is credit
//   calls    system calls and faults as segments, from when it is used up
//            until there is that of a second
//   samples  too, if a second's credit more is used up meanwhile, until there
//            is credit again
//
// Credit is never above a second's. So over any time the share is exceeded by
// the credit of two seconds (with samples, three), and of a few passes, at
// most. Never thinned are dispatches, forks, wake-ups, interrupts, and hooks
// that the user names: what these cost beyond the share is forgiven, and
// reported. In: readings of what was spent. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SESSION_CPU_BUDGET_H_
#define COUNTRACE_RUNTIME_RECORDER_SESSION_CPU_BUDGET_H_

#include <cstdint>
#include <optional>
#include <string>

#include "logformat/trace_info.h"
#include "runtime/recorder/kernel/kernel_recorder.h"

namespace countrace::runtime {

// What was spent so far, ns.
struct CpuSpent {
  std::uint64_t bpf_ns = 0, process_ns = 0;
  std::uint64_t sum() const { return bpf_ns + process_ns; }
};

class CpuBudget {
 public:
  // `share`: of one CPU, above 0. `has_calls`: system calls or faults are
  // segments.
  CpuBudget(double share, bool has_calls, bool has_samples,
            std::uint64_t now_ns, const CpuSpent& spent);

  // One pass of the recorder's loop. Returns what is thinned from now on.
  Thinning Pass(std::uint64_t now_ns, const CpuSpent& spent);
  Thinning thinning() const { return thinning_; }
  // What was left out so far; absent: nothing.
  std::optional<logformat::NotRecorded> LeftOut(std::uint64_t samples) const;
  // What is never thinned cost more than the share; empty: it did not.
  std::string Exceeded() const;

 private:
  const double share_;
  const bool has_calls_;
  const Thinning most_;
  const double second_ns_;  // of credit
  const std::uint64_t begin_ns_;
  std::uint64_t now_ns_;
  CpuSpent spent_;
  double credit_ns_;
  double calls_credit_ns_ = 0;  // when calls began to be left out
  Thinning thinning_ = Thinning::kNothing;
  std::uint64_t stretches_ = 0, thinned_ns_ = 0, without_samples_ns_ = 0;
  // With all left out that may be, credit below this is forgiven.
  double least_ns_ = 0, forgiven_ns_ = 0;
  std::uint64_t exceeded_ns_ = 0;
  CpuSpent exceeded_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SESSION_CPU_BUDGET_H_
