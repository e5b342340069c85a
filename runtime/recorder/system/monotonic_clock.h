// The log's clock: the host's CLOCK_MONOTONIC, also in a time namespace, and
// the raw counter's rate against it.
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_MONOTONIC_CLOCK_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_MONOTONIC_CLOCK_H_

#include <cstdint>

namespace countrace::runtime {

std::uint64_t MonotonicNs();
// Returns early if a signal arrives.
void SleepNs(std::uint64_t ns);
// CLOCK_REALTIME - CLOCK_MONOTONIC now.
std::int64_t RealtimeOffsetNs();

// CLOCK_BOOTTIME - CLOCK_MONOTONIC: how long the machine has been suspended
// since it was started.
std::uint64_t SuspendedNs();

// Both clocks read at (nearly) the same instant.
struct ClockPair {
  std::uint64_t raw = 0;  // TSC, CNTVCT
  std::uint64_t monotonic_ns = 0;
};

// True if user space may use the raw counter as a clock: on x86 the kernel
// itself uses the TSC, and it is constant and never stops.
bool IsRawClockUsable();
std::uint64_t RawCounter();
ClockPair ReadClockPair();

// ns = ticks * mult / 2^32 between two pairs; 0 if they are too close (less
// than 50 ms) or contradict each other.
inline constexpr std::uint64_t kCalibrationNs = 50'000'000;
std::uint64_t RawNsMult(const ClockPair& begin, const ClockPair& end);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_MONOTONIC_CLOCK_H_
