// A machine of POWER2 processors under an operating system that traces as the
// paper says (section "Monitoring all events using a log"): at the end of each
// stay the mode and the counts go to the log; just before the next one begins
// those of the operating system itself; then the monitor is set for the process
// that comes, its counters cleared, or loaded with what they were for it.
//
// Writes real traces with the writer of the recorder, and keeps the truth in 64
// bits, step by step, by table 1 as it is printed.
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
  // Processes have hooks, which dump their own counters: these are saved and
  // loaded at dispatch. Not with private_modes.
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
  bool exited = false;     // in a supervisor call, which has no end then
  std::uint32_t mode = 0;  // its event set
  std::uint64_t on_cpu_ns = 0, dispatches = 0;
  Sums counts{};  // in problem state and in its supervisor calls
  Sums in_svc{};  // of it
  std::uint64_t svc_calls = 0;
  std::uint64_t segment_calls = 0;
  Sums in_segment{};  // its own view: what interrupts counted in it as well
};

struct Truth {
  std::vector<TrueProcess> processes;
  Sums total{}, idle{}, clock{}, dispatcher{};
  std::uint64_t idle_ns = 0, clock_ns = 0, dispatcher_ns = 0;
  std::uint64_t duration_ns = 0;
  std::uint32_t wraps = 0;  // of any counter in the log
};

// Simulates, and writes the trace to `directory`, which must not exist.
Truth Simulate(const MachineOptions& options, const std::string& directory);

// What table 1 says is counted, row by row as printed.
bool CountedByTable1(std::uint32_t monitor_bits, bool pr, bool pm);

}  // namespace countrace::test_support::power2

#endif  // COUNTRACE_TESTS_RMAP_POWER2_MACHINE_H_
