// HOT. Reads one hardware counter from user space, by the index in the event's
// mapped page (perf_event_open(2), "rdpmc").
#ifndef COUNTRACE_RUNTIME_INPROCESS_COUNTERS_HARDWARE_COUNTER_H_
#define COUNTRACE_RUNTIME_INPROCESS_COUNTERS_HARDWARE_COUNTER_H_

#include <linux/perf_event.h>

#include <cstdint>

namespace countrace::runtime {

// False: not on this architecture, or the kernel does not allow it.
inline bool PageAllowsUserRead(
    [[maybe_unused]] const perf_event_mmap_page* page) noexcept {
#if defined(__x86_64__) || defined(__aarch64__)
  return page->cap_user_rdpmc != 0;
#else
  return false;
#endif
}

#if defined(__aarch64__)
// One register for each counter. Selecting a counter (PMSELR, then PMXEVCNTR)
// would be shorter, but the selection belongs to the CPU: a signal handler with
// hooks, or another process, may change it between the two instructions.
#define COUNTRACE_ARM64_COUNTER(n)                            \
  case n:                                                     \
    __asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(v)); \
    break
#define COUNTRACE_ARM64_TEN_COUNTERS(tens) \
  COUNTRACE_ARM64_COUNTER(tens##0);        \
  COUNTRACE_ARM64_COUNTER(tens##1);        \
  COUNTRACE_ARM64_COUNTER(tens##2);        \
  COUNTRACE_ARM64_COUNTER(tens##3);        \
  COUNTRACE_ARM64_COUNTER(tens##4);        \
  COUNTRACE_ARM64_COUNTER(tens##5);        \
  COUNTRACE_ARM64_COUNTER(tens##6);        \
  COUNTRACE_ARM64_COUNTER(tens##7);        \
  COUNTRACE_ARM64_COUNTER(tens##8);        \
  COUNTRACE_ARM64_COUNTER(tens##9)
#endif

inline std::uint64_t ReadHardwareCounter(
    [[maybe_unused]] std::uint32_t index) noexcept {
#if defined(__x86_64__)
  std::uint32_t low, high;
  __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
  return (std::uint64_t{high} << 32) | low;
#elif defined(__aarch64__)
  std::uint64_t v = 0;
  // Waits until the program's earlier instructions are done.
  __asm__ volatile("isb");
  switch (index) {
    COUNTRACE_ARM64_TEN_COUNTERS();
    COUNTRACE_ARM64_TEN_COUNTERS(1);
    COUNTRACE_ARM64_TEN_COUNTERS(2);
    COUNTRACE_ARM64_COUNTER(30);
    case 31:
      __asm__ volatile("mrs %0, pmccntr_el0" : "=r"(v));
      break;
    default:
      break;
  }
  return v;
#else
  return 0;
#endif
}

#undef COUNTRACE_ARM64_TEN_COUNTERS
#undef COUNTRACE_ARM64_COUNTER

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_COUNTERS_HARDWARE_COUNTER_H_
