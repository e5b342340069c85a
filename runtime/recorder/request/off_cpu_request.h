// `record --offcpu T`: stacks of threads that are off their CPU for long.
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_REQUEST_OFF_CPU_REQUEST_H_
#define COUNTRACE_RUNTIME_RECORDER_REQUEST_OFF_CPU_REQUEST_H_

#include <cstdint>

namespace countrace::runtime {

struct OffCpuRequest {
  std::uint64_t least_ns = 0;  // shortest time with a stack; 0: none are taken
  bool wakers = false;         // also the stacks of who wakes such threads
  // What is copied of user stacks, as in SampleRequest.
  std::uint32_t stack_bytes = 0;

  bool any() const { return least_ns != 0; }
};

// The time of waits that ended on one CPU, and its parts without a stack; of
// wakers the time until the wake-ups there.
struct OffCpuSums {
  std::uint64_t off_ns = 0;                   // all of it
  std::uint64_t shorter = 0, shorter_ns = 0;  // waits below the limit
  std::uint64_t lost = 0, lost_ns = 0;        // stacks that found no room
  std::uint64_t idle_ns = 0;                  // woken on an idle CPU
  std::uint64_t unseen = 0;  // waits whose end was not seen, of unknown time
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_REQUEST_OFF_CPU_REQUEST_H_
