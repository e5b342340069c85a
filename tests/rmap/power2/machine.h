// A machine of POWER2 processors under an operating system that traces as in
// the paper (section "Monitoring all events using a log"): at the end of each
// dispatch the mode and the counts go to the log; just before the next one
// begins, the operating system's own counts; then the monitor is set for the
// next process, its counters cleared, or loaded with the process's saved
// values.
//
// Writes real traces with the recorder's writer, and keeps the truth in 64
// bits, step by step, by table 1 as printed.
#ifndef COUNTRACE_TESTS_RMAP_POWER2_MACHINE_H_
#define COUNTRACE_TESTS_RMAP_POWER2_MACHINE_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/rmap/power2/monitor.h"

namespace countrace::test_support::power2 {

struct MachineOptions {
  std::uint32_t seed = 0;
  std::uint32_t cpus = 1;
  std::uint32_t steps = 200;
  std::uint32_t monitor_bits = 0;  // DIS (most significant) to DMR
  bool sga = false;
  // Each process has a mode of its own: one of four groups of the fixed-point
  // unit. The log has the cycle and memory counters and the unit's.
  bool private_modes = false;
  // Processes have hooks, which dump their own counters; dispatches save and
  // load these. Not with private_modes.
  bool private_counters = false;
  // The machine idles or works for up to half a minute at a time.
  bool long_steps = false;
};
MachineOptions RandomOptions(std::uint32_t seed);

// By event of the trace.
using Sums = std::array<std::uint64_t, kCounters>;

struct TrueProcess {
  std::int32_t pid = 0;
  bool marked = false;
  bool exited = false;     // in a supervisor call, which then has no end
  std::uint32_t mode = 0;  // its event set
  std::uint64_t on_cpu_ns = 0, dispatches = 0;
  Sums counts{};  // in problem state and in its supervisor calls
  Sums in_svc{};  // the part in supervisor calls
  std::uint64_t svc_calls = 0;
  std::uint64_t segment_calls = 0;
  Sums in_segment{};  // its own view, which includes interrupts
};

struct Truth {
  std::vector<TrueProcess> processes;
  Sums total{}, idle{}, clock{}, dispatcher{};
  std::uint64_t idle_ns = 0, clock_ns = 0, dispatcher_ns = 0;
  std::uint64_t duration_ns = 0;
  std::uint32_t wraps = 0;  // wraps of all counters in the log
};

// Simulates, and writes the trace to `directory`, which must not exist.
Truth Simulate(const MachineOptions& options, const std::string& directory);

// True if table 1, as printed, says that counters count.
bool CountedByTable1(std::uint32_t monitor_bits, bool pr, bool pm);

}  // namespace countrace::test_support::power2

#endif  // COUNTRACE_TESTS_RMAP_POWER2_MACHINE_H_
