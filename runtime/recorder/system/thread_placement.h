// Moves the calling thread between CPUs and changes its priority; the
// destructors restore both.
//
// The kernel recorder moves itself to each CPU: the running thread is then
// known when it reads the counters. Thread: the one that created the object.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_THREAD_PLACEMENT_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_THREAD_PLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace countrace::runtime {

class AffinityGuard {
 public:
  AffinityGuard();
  ~AffinityGuard();  // restores the CPUs that were allowed before
  AffinityGuard(const AffinityGuard&) = delete;
  AffinityGuard& operator=(const AffinityGuard&) = delete;

  // Runs on `cpu` when it returns true. False: not allowed (cpuset) or offline.
  bool MoveTo(std::uint32_t cpu);

 private:
  std::vector<std::byte>
      saved_;  // cpu_set_t of the size that the kernel requires
};

class PriorityGuard {
 public:
  // Tries nice -10 for this thread; silent if that is not allowed.
  PriorityGuard();
  ~PriorityGuard();
  PriorityGuard(const PriorityGuard&) = delete;
  PriorityGuard& operator=(const PriorityGuard&) = delete;

 private:
  int saved_ = 0;
  bool raised_ = false;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_THREAD_PLACEMENT_H_
