// A machine of POWER2 processors under an operating system that traces as in
// the paper (section "Monitoring all events using a log"): at the end of each
// dispatch the mode and the counts go to the log; just before the next one
// begins, the operating system's own counts; then the monitor is set for the
// next process, its counters cleared, or loaded with the process's saved
// values.
//
// Writes the trace, and keeps the truth in 64 bits, step by step, by table 1 as
// printed.
#ifndef COUNTRACE_EXAMPLES_POWER2_MACHINE_H_
#define COUNTRACE_EXAMPLES_POWER2_MACHINE_H_

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "monitor.h"

namespace power2 {

struct MachineOptions {
  std::uint32_t seed = 0;
  std::uint32_t cpus = 1;
  std::uint32_t steps = 200;
  std::size_t most_processes = 25;
  std::uint32_t monitor_bits = 0;  // DIS (most significant) to DMR
  bool sga = false;
  std::optional<std::array<std::uint32_t, kUnits>> groups;  // else random
  // Each process has a mode of its own: one of four groups of the fixed-point
  // unit.
  bool private_modes = false;
  // The clock's interrupt takes these units from one group to the next, 0 to
  // 15, or the IMR from one instruction code to the next. Not with private
  // modes.
  std::bitset<kUnits> sweep_units;
  bool sweep_codes = false;
  // Processes have hooks, which dump their own counters; dispatches save and
  // load these. Not with private_modes.
  bool private_counters = false;
  // The machine idles or works for up to half a minute at a time.
  bool long_steps = false;
  // Once the operating system does not look at the counters for 150 s.
  bool dump_late = false;
  std::string command = "power2";  // for the trace
};
MachineOptions RandomOptions(std::uint32_t seed);

// By event of the trace.
using Sums = std::vector<std::uint64_t>;

struct TrueProcess {
  std::int32_t pid = 0;
  std::string name;
  bool marked = false;
  bool exited = false;     // in a supervisor call, which then has no end
  std::uint32_t mode = 0;  // its event set, with private modes
  std::uint64_t on_cpu_ns = 0, dispatches = 0;
  Sums counts;    // in problem state and in its supervisor calls
  Sums happened;  // the same, counted or not while another mode was on
  Sums in_svc;    // the part of `counts` in supervisor calls
  std::uint64_t svc_calls = 0;
  std::uint64_t segment_calls = 0;
  Sums in_phase;  // its own view, which includes interrupts
};

struct Truth {
  std::vector<std::string> events;
  std::vector<TrueProcess> processes;
  Sums total, happened, idle, clock, dispatcher;
  std::uint64_t idle_ns = 0, clock_ns = 0, dispatcher_ns = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t spe_changes = 0, imr_writes = 0;  // records of these
  std::uint32_t wraps = 0;                        // of all counters in the log
};

// Simulates, and writes the trace to `directory`, which must not exist. Throws
// std::runtime_error if it cannot be written.
Truth Simulate(const MachineOptions& options, const std::string& directory);

// True if table 1, as printed, says that counters count.
bool CountedByTable1(std::uint32_t monitor_bits, bool pr, bool pm);

}  // namespace power2

#endif  // COUNTRACE_EXAMPLES_POWER2_MACHINE_H_
