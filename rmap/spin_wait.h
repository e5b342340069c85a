// Waits for another thread that will be done in microseconds. Thread: any.
#ifndef COUNTRACE_RMAP_SPIN_WAIT_H_
#define COUNTRACE_RMAP_SPIN_WAIT_H_

#include <atomic>
#include <cstdint>

namespace countrace::rmap {

// A task takes some microseconds; whoever waits longer sleeps.
inline constexpr int kSpins = 2000;

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns: `count`, once it is not `seen` any more. Who changes it notifies.
inline std::uint64_t WaitUntilNot(const std::atomic<std::uint64_t>& count,
                                  std::uint64_t seen) {
  for (int i = 0; i < kSpins; ++i) {
    const std::uint64_t now = count.load(std::memory_order_acquire);
    if (now != seen) return now;
    Pause();
  }
  count.wait(seen, std::memory_order_acquire);
  return count.load(std::memory_order_acquire);
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SPIN_WAIT_H_
