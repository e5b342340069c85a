// HOT. The one clock of the log: the host's CLOCK_MONOTONIC in ns, read as the
// raw counter (TSC, CNTVCT, timebase) and converted with parameters that are
// valid for at most about 100 ms. The first thread that reads it later pairs
// the clocks anew.
//
// Time never goes back within a thread: consecutive parameter sets meet where
// one replaces the other, and a set that ran ahead is slowed, not stepped.
// Where the raw counter cannot be used, the limit is 0 and every read takes the
// slow path, clock_gettime through the vDSO.
#ifndef COUNTRACE_RUNTIME_INPROCESS_PROCESS_TRACE_CLOCK_H_
#define COUNTRACE_RUNTIME_INPROCESS_PROCESS_TRACE_CLOCK_H_

#include <atomic>
#include <cstdint>

namespace countrace::runtime {

// Immutable once published.
struct ClockParameters {
  std::uint64_t raw_base;
  std::uint64_t ns_base;
  std::uint64_t mult;  // 2^32 ns per raw tick
  // Valid for raw_base <= raw < raw_base + limit; limit * mult < 2^63.
  std::uint64_t limit;
};

extern std::atomic<const ClockParameters*> g_clock
    __attribute__((visibility("hidden")));

// A raw reading and CLOCK_MONOTONIC at the same instant (within about 20 ns).
struct ClockPair {
  std::uint64_t raw;
  std::uint64_t ns;
};

// --- Hot path (inline) ---

inline std::uint64_t ReadRawCounter() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#elif defined(__powerpc64__)
  return __builtin_ppc_get_timebase();
#else
  return 0;
#endif
}

std::uint64_t ClockSlow() noexcept;

// False: the parameter set has expired; call ClockSlow().
inline bool TryClockNow(std::uint64_t* now_ns) noexcept {
  const std::uint64_t raw = ReadRawCounter();
  // Acquire: pairs with the release in ClockSlow that publishes the set. The
  // raw counter is read first, so it is never later than the replacement.
  const ClockParameters* p = g_clock.load(std::memory_order_acquire);
  const std::uint64_t ticks = raw - p->raw_base;
  *now_ns = p->ns_base + ((ticks * p->mult) >> 32);
  return __builtin_expect(ticks < p->limit, 1);
}

inline std::uint64_t ClockNow() noexcept {
  std::uint64_t now_ns;
  return TryClockNow(&now_ns) ? now_ns : ClockSlow();
}

// --- Slow path ---

// The best of a few tries.
ClockPair ReadClockPair() noexcept;

// `raw_ns_mult`: 2^32 ns per raw tick as the recorder measured it, 0 = the raw
// counter cannot be used on this machine.
void StartClock(std::uint64_t raw_ns_mult) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_PROCESS_TRACE_CLOCK_H_
