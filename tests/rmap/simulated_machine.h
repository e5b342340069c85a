// A small machine with a scheduler, with a known state in every nanosecond:
// writes the records that a recorder would, and keeps the truth by brute force,
// step by step, in a way that has nothing in common with rmap's.
#ifndef COUNTRACE_TESTS_RMAP_SIMULATED_MACHINE_H_
#define COUNTRACE_TESTS_RMAP_SIMULATED_MACHINE_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/rmap/memory_trace.h"

namespace countrace::test_support {

// task-clock, cpu-clock, page-faults, context-switches, cycles.
inline constexpr std::size_t kSimulatedEvents = 5;
using SimulatedCounts = std::array<std::uint64_t, kSimulatedEvents>;

struct TrueSegment {
  std::uint64_t calls = 0, end_inferred = 0;
  std::uint64_t wall_incl = 0, wall_excl = 0;
  std::uint64_t on_cpu_incl = 0, on_cpu_excl = 0;
  std::uint64_t switches_incl = 0, switches_excl = 0;
  std::uint64_t faults_incl = 0, faults_excl = 0;
  std::uint64_t cycles_incl = 0, cycles_excl = 0;
  std::uint64_t wait_incl = 0, wait_excl = 0;
  std::uint64_t blocked_incl = 0, blocked_excl = 0;
  std::vector<std::uint64_t> durations;
};

struct TrueThread {
  std::int32_t pid = 0, tid = 0;
  std::uint64_t process = 0;  // serial number
  std::uint64_t on_cpu_ns = 0, dispatches = 0, migrations = 0, wait_ns = 0;
  std::uint64_t throttled_ns = 0;  // part of it
  std::uint64_t blocked_ns = 0;
  SimulatedCounts counts{};
};

// Who blocked where, and what ended it. Processes are serial numbers.
struct TrueWaking {
  std::int32_t pid = 0;
  std::uint64_t process = 0;
  std::string path;  // "sim:a > syscall:x", "" outside segments
  std::string kind;  // "thread", "interrupt", "idle", "outside",
                     // "not_told", "still_blocked"
  std::int32_t waker_pid = -1;
  std::uint64_t waker_process = 0;
  std::string waker_segment;  // innermost, "" if none
  auto operator<=>(const TrueWaking&) const = default;
};
struct TrueBlocked {
  std::uint64_t times = 0, ns = 0, longest_ns = 0;
};

// What had the CPU of a thread while it waited.
struct TruePreemption {
  std::int32_t pid = 0, tid = 0;
  // "thread", "idle", "idle_allowed", "interrupts", "outside", "throttled",
  // "not_known"
  std::string kind;
  std::int32_t by_pid = -1, by_tid = -1;
  std::uint64_t times = 0, ns = 0, longest_ns = 0;
};

struct TrueProcess {
  std::int32_t pid = 0;
  std::map<std::string, TrueSegment> by_segment;  // "sim:a"
  std::map<std::string, TrueSegment> by_path;     // "sim:a > sim:b"
};

// The machine between two instants at which something happens; times and sums
// are those of the begin.
struct TrueInstant {
  struct Call {
    std::string segment;  // "sim:a"
    std::uint64_t begin_ns, on_cpu_ns;
  };
  struct Thread {
    std::int32_t pid, tid;
    int cpu;         // -1: on none
    bool on_cpu;     // and no interrupt is on that CPU
    bool waiting;    // runnable, on no CPU
    bool throttled;  // and so by a quota
    bool blocked;
    std::uint64_t on_cpu_ns, wait_ns, blocked_ns, dispatches;
    SimulatedCounts counts;
    std::vector<Call> open;  // outermost first
  };
  struct Cpu {
    bool outside;      // idle, or a process outside the recorded command
    std::int32_t tid;  // 0: idle, or outside
    std::vector<std::string> interrupts;  // outermost first
    std::uint64_t interrupts_ns;
  };
  std::uint64_t begin_ns, end_ns;
  std::vector<Cpu> cpus;
  std::vector<Thread> threads;  // alive and recorded
  SimulatedCounts total;
};

struct Truth {
  std::vector<TrueThread> threads;
  std::vector<TrueThread> earlier_threads;  // ended before the range
  std::vector<TrueProcess> processes;
  std::map<TrueWaking, TrueBlocked> wakings;
  std::vector<TruePreemption> preemptions;  // of recorded threads
  std::vector<std::uint64_t> busy_ns, idle_ns, outside_ns;  // by CPU
  std::vector<std::uint64_t> interrupts_ns;                 // by CPU
  SimulatedCounts total{}, processes_total{}, idle_total{}, outside_total{};
  SimulatedCounts interrupts_total{};
  std::uint64_t faults_in_segments = 0;
  std::uint64_t on_cpu_in_segments = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t absent_ns = 0;        // offline time of the last CPU
  std::uint64_t cycles_in_turns = 0;  // counted while event set 0 was on
  std::uint64_t resets = 0;           // of a counter, by another program
  // Tids that two threads had. This machine does within microseconds what a
  // kernel does after many thousand forks, so without the fork and exit records
  // between them nothing separates the two.
  std::set<std::int32_t> reused_tids;
  std::vector<TrueInstant> instants;  // if enabled; without a gap
};

struct SimulationOptions {
  std::uint32_t seed = 0;
  std::uint32_t cpus = 2;
  std::uint32_t steps = 400;
  // A command's trace: the first process and its descendants are recorded.
  bool command_scope = false;
  bool threads_first = false;  // order of streams at equal times
  bool system_calls = false;
  // Interrupts, nested up to three deep, on any recorded CPU; `dumps`: their
  // records, and those of system calls, carry the counters.
  bool interrupts = false;
  bool dumps = false;
  // Multiplexes cycles, as event set 0 of two; the other events are always
  // counted.
  bool event_sets = false;
  // Records wake-ups, except for some that a recorder does not see.
  bool wakeups = false;
  // Some threads leave in state 0x20: they were blocked if a wake-up is
  // recorded.
  bool parks = false;
  // Some threads leave because a CPU quota is used up.
  bool quotas = false;
  // Some threads may not use every CPU, which changes now and then. A CPU that
  // a waiting one might use is idle for long after `least_idle_ns`.
  bool affinities = false;
  std::uint64_t least_idle_ns = 500'000;
  // The second event is exec-runtime: of threads alone, known at switches and
  // last dumps. It lacks the end of some dispatches, which the next thread has.
  bool run_time = false;
  bool instants = false;  // fill Truth::instants
  // Enters of segments have a value, `arg0`, those of system calls `fd`.
  // Requires: no dumps.
  bool values = false;

  // Counters of this many bits, which begin near their end; the trace states
  // the width and, with `rates`, that cycles are at most 2 * `cycles_scale` a
  // nanosecond. The counts of the truth are in 64 bits.
  std::uint32_t counter_width = 64;
  std::uint64_t cycles_scale = 1;
  bool rates = false;  // the trace states the rates of clocks and cycles
  // Now and then a CPU's counters are set to 0, where no wrap can be.
  bool resets = false;
  // The last CPU goes offline in the middle of the run. Its stream ends with or
  // without a last dump; kCut: without the records of its last moments, too.
  enum class Unplug : std::uint8_t { kNever, kWithLastDump, kSilent, kCut };
  Unplug unplug = Unplug::kNever;
  bool replug = false;  // it comes back, with its counters at 0
  // A snapshot is taken at this step; TraceInfo::snapshot_ns is set. 0: none.
  std::uint32_t snapshot_step = 0;
  // The clock steps ahead once by this much; nothing is counted in that time.
  std::uint64_t clock_step_ns = 0;
  // The truth is that of the records in [range_from_ns, range_until_ns) alone;
  // 0: of all. Without `instants`, preemptions and durations.
  std::uint64_t range_from_ns = 0, range_until_ns = 0;
};

struct Simulation {
  std::unique_ptr<MemoryTrace> trace;
  Truth truth;
};

// Another machine for each seed: every kind of record occurs in some of them,
// none in all.
SimulationOptions RandomOptions(std::uint32_t seed);
Simulation Simulate(const SimulationOptions& options);

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_SIMULATED_MACHINE_H_
