#include "runtime/recorder/system/monotonic_clock.h"

#include <time.h>

#include <string>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

#include "base/posix/kernel_clock.h"
#include "base/posix/small_file.h"
#include "base/text/trim.h"
#include "runtime/time_namespace.h"

namespace countrace::runtime {
namespace {

std::uint64_t ReadClock(clockid_t clock) {
  static const bool found = (base::FindKernelClock(), true);
  (void)found;
  return base::KernelClockNs(clock);
}

}  // namespace

std::uint64_t RawCounter() {
#if defined(__x86_64__) || defined(__i386__)
  unsigned processor = 0;
  // rdtscp waits for earlier loads, so the pair is not reordered.
  return __rdtscp(&processor);
#elif defined(__aarch64__)
  std::uint64_t ticks = 0;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
  return ticks;
#elif defined(__powerpc64__)
  return __builtin_ppc_get_timebase();
#else
  return 0;
#endif
}

std::uint64_t MonotonicNs() {
  static const auto ahead_ns =
      static_cast<std::uint64_t>(TimeNamespaceOffsetNs());
  return ReadClock(CLOCK_MONOTONIC) - ahead_ns;
}

void SleepNs(std::uint64_t ns) {
  const timespec duration{.tv_sec = static_cast<time_t>(ns / 1'000'000'000),
                          .tv_nsec = static_cast<long>(ns % 1'000'000'000)};
  nanosleep(&duration, nullptr);
}

std::int64_t RealtimeOffsetNs() {
  const std::uint64_t before = MonotonicNs();
  const std::uint64_t realtime = ReadClock(CLOCK_REALTIME);
  const std::uint64_t after = MonotonicNs();
  return static_cast<std::int64_t>(realtime - (before + (after - before) / 2));
}

std::uint64_t SuspendedNs() {
  const std::uint64_t running = MonotonicNs();
  return ReadClock(CLOCK_BOOTTIME) - running;
}

bool IsRawClockUsable() {
#if defined(__x86_64__) || defined(__i386__)
  const auto source = base::ReadSmallFile(
      "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (!source.ok() || base::Trim(*source) != "tsc") return false;
  const auto cpuinfo = base::ReadSmallFile("/proc/cpuinfo");
  if (!cpuinfo.ok()) return false;
  const std::size_t flags = cpuinfo->find("\nflags");
  if (flags == std::string::npos) return false;
  const std::string line =
      cpuinfo->substr(flags + 1, cpuinfo->find('\n', flags + 1) - flags - 1) +
      " ";
  return line.find(" constant_tsc ") != std::string::npos &&
         line.find(" nonstop_tsc ") != std::string::npos &&
         line.find(" rdtscp ") != std::string::npos;
#elif defined(__aarch64__) || defined(__powerpc64__)
  return true;  // the architecture's timer is constant and never stops
#else
  return false;
#endif
}

ClockPair ReadClockPair() {
  // The tightest of several tries: an interrupt between the reads widens the
  // bracket.
  ClockPair best;
  std::uint64_t best_width = ~std::uint64_t{0};
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t before = RawCounter();
    const std::uint64_t now = MonotonicNs();
    const std::uint64_t after = RawCounter();
    if (after - before < best_width) {
      best_width = after - before;
      best = {.raw = before + (after - before) / 2, .monotonic_ns = now};
    }
  }
  return best;
}

std::uint64_t RawNsMult(const ClockPair& begin, const ClockPair& end) {
  if (end.raw <= begin.raw || end.monotonic_ns <= begin.monotonic_ns) return 0;
  const std::uint64_t ns = end.monotonic_ns - begin.monotonic_ns;
  const std::uint64_t ticks = end.raw - begin.raw;
  if (ns < kCalibrationNs) return 0;
  const auto mult = (static_cast<unsigned __int128>(ns) << 32) / ticks;
  return mult >> 64 != 0 ? 0 : static_cast<std::uint64_t>(mult);
}

}  // namespace countrace::runtime
