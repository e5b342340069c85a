// A flight recording overwrote the middle of some streams: the tables begin
// behind the hole, and are those of a trace that begins there.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rmap/pipeline.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::MemoryTrace;
using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;
using test_support::TrueInstant;
using test_support::TrueThread;

constexpr std::size_t kFaults = 2, kSwitches = 3, kCycles = 4;

SimulationOptions Options(std::uint32_t seed) {
  SimulationOptions options = RandomOptions(seed);
  options.instants = true;
  options.steps = 100 + seed % 400;
  options.command_scope = false;
  options.event_sets = options.resets = options.replug = false;
  options.counter_width = 64;
  options.unplug = SimulationOptions::Unplug::kNever;
  options.clock_step_ns = 0;
  return options;
}

// Holes of some streams, each behind its first records, up to the middle of
// the trace at most.
std::map<std::uint32_t, MemoryTrace::Hole> Holes(std::uint32_t seed,
                                                 const MemoryTrace& trace) {
  std::mt19937 random(seed);
  std::map<std::uint32_t, MemoryTrace::Hole> holes;
  for (const auto& [stream, times] : trace.RecordTimes()) {
    if (times.size() < 8 || random() % 4 == 0) continue;
    const std::size_t begin = random() % (times.size() / 4);
    const std::size_t end = begin + 1 + random() % (times.size() / 3);
    holes[stream] = {times[begin], times[end]};
  }
  return holes;
}

const TrueInstant& At(const test_support::Truth& truth, std::uint64_t time_ns) {
  const auto after =
      std::upper_bound(truth.instants.begin(), truth.instants.end(), time_ns,
                       [](std::uint64_t t, const TrueInstant& instant) {
                         return t < instant.begin_ns;
                       });
  REQUIRE(after != truth.instants.begin());
  return *std::prev(after);
}

// False for a thread that ended before.
bool LivesAfter(const test_support::Truth& truth, std::int32_t tid,
                std::uint64_t time_ns) {
  return std::any_of(
      truth.instants.begin(), truth.instants.end(),
      [&](const TrueInstant& instant) {
        return instant.end_ns > time_ns &&
               std::any_of(instant.threads.begin(), instant.threads.end(),
                           [&](const auto& now) { return now.tid == tid; });
      });
}

struct Tally {
  std::uint64_t snapshots = 0, rows = 0, compared = 0, blocked_before = 0;
};

// The truth is in [lo, hi], and in the row's limits.
bool Holds(const ThreadRow& row, Number number,
           std::optional<std::uint64_t> shown, std::uint64_t lo,
           std::uint64_t hi) {
  const std::uint64_t value = shown.value_or(0);
  const Bounds bounds = row.bounds.Of(number).value_or(Bounds{value, value});
  return bounds.lo <= hi && lo <= bounds.hi;
}

void CheckThreads(const Report& report, const Simulation& run,
                  std::uint64_t begin_ns, Tally& tally) {
  const TrueInstant& begin = At(run.truth, begin_ns);
  const std::uint64_t into_ns = begin_ns - begin.begin_ns;
  // What happens at that instant comes after it, and is in the tables.
  if (into_ns == 0) return;
  for (const ThreadRow& row : report.threads) {
    if (run.truth.reused_tids.contains(row.tid)) continue;
    const auto thread =
        std::find_if(run.truth.threads.begin(), run.truth.threads.end(),
                     [&](const TrueThread& t) { return t.tid == row.tid; });
    REQUIRE(thread != run.truth.threads.end());
    TrueInstant::Thread at{};
    at.cpu = -1;
    for (const auto& now : begin.threads) {
      if (now.tid == row.tid) at = now;
    }
    CAPTURE(row.tid, begin_ns);
    ++tally.rows;
    if (!LivesAfter(run.truth, row.tid, begin_ns)) {
      CHECK(row.on_cpu_ns.value_or(0) == 0);
      CHECK(row.dispatches == 0);
      continue;
    }
    CHECK(row.on_cpu_ns.value_or(0) ==
          thread->on_cpu_ns - at.on_cpu_ns - (at.on_cpu ? into_ns : 0));
    CHECK(row.dispatches ==
          thread->dispatches - at.dispatches + (at.cpu >= 0 ? 1 : 0));
    CHECK(row.counts[0] == row.on_cpu_ns);
    CHECK(row.counts[kFaults].value_or(0) ==
          thread->counts[kFaults] - at.counts[kFaults]);
    CHECK(row.counts[kSwitches].value_or(0) ==
          thread->counts[kSwitches] - at.counts[kSwitches]);
    for (const Number number : {Number::kOnCpu, Number::kDispatches}) {
      CHECK_FALSE(row.bounds.Of(number));
    }
    // What began before is in no account, but in the limits.
    const std::uint64_t wait_ns =
        thread->wait_ns - at.wait_ns - (at.waiting ? into_ns : 0);
    CHECK(Holds(row, Number::kWait, row.wait_ns, wait_ns, wait_ns));
    CHECK(row.wait_ns.value_or(0) <= wait_ns);
    if (report.wakeups) {
      const std::uint64_t blocked_ns =
          thread->blocked_ns - at.blocked_ns - (at.blocked ? into_ns : 0);
      CHECK(
          Holds(row, Number::kBlocked, row.blocked_ns, blocked_ns, blocked_ns));
      CHECK(row.blocked_ns.value_or(0) <= blocked_ns);
      tally.blocked_before += row.blocked_ns.value_or(0) < blocked_ns ? 1 : 0;
    }
    const std::uint64_t cycles = thread->counts[kCycles] - at.counts[kCycles];
    // The instant's own cycles may lie on either side.
    CHECK(Holds(row, CountNumber(kCycles, CountPart::kWhole),
                row.counts[kCycles], cycles - std::min(cycles, 10 * into_ns),
                cycles));
  }
}

void CheckCpus(const Report& report, std::uint64_t begin_ns) {
  std::uint64_t busy_ns = 0, on_cpu_ns = 0;
  for (const CpuRow& row : report.cpu_rows) {
    CHECK(row.wall_ns <= report.end_ns - begin_ns);
    CHECK(row.unattributed_ns == 0);
    CHECK(row.wall_ns == row.busy_ns + row.idle_ns + row.interrupts_ns);
    busy_ns += row.busy_ns;
  }
  for (const ThreadRow& row : report.threads) {
    on_cpu_ns += row.on_cpu_ns.value_or(0);
  }
  CHECK(busy_ns == on_cpu_ns);
  for (const Books& books : report.books) CHECK(books.residual == 0);
}

// The threads of each table: a fork may be among what was overwritten.
std::multiset<std::pair<std::int32_t, std::int32_t>> Threads(
    const Report& report) {
  std::multiset<std::pair<std::int32_t, std::int32_t>> ids;
  for (const ThreadRow& row : report.threads) ids.insert({row.pid, row.tid});
  return ids;
}

// False: a pid was used again, and where the first process ended may be among
// what was overwritten.
bool HasOneProcessForEachPid(const Report& report) {
  std::set<std::int32_t> pids;
  for (const ProcessRow& row : report.processes) {
    if (!pids.insert(row.pid).second) return false;
  }
  return true;
}

// Segments by process and path: their numbers as text.
std::map<std::string, std::string> Segments(const Report& report) {
  std::map<std::string, std::string> rows;
  for (const SegmentRow& row : report.segment_paths) {
    if (row.calls == 0) continue;
    std::string key = std::to_string(row.pid), numbers;
    for (const std::string& name : row.path) key += " > " + name;
    for (const std::uint64_t number :
         {row.calls, row.end_inferred, row.wall.incl, row.wall.excl,
          row.wall.min, row.wall.max, row.on_cpu ? row.on_cpu->incl : 0,
          row.wait ? row.wait->excl : 0, row.blocked ? row.blocked->excl : 0,
          row.counts[kFaults] ? row.counts[kFaults]->incl : 0,
          row.counts[kSwitches] ? row.counts[kSwitches]->incl : 0}) {
      numbers += std::to_string(number) + " ";
    }
    rows[key] += numbers;
  }
  return rows;
}

TEST_CASE("snapshot: the tables are the truth from the end of the hole on",
          "[rmap][property][snapshot]") {
  Tally tally;
  for (std::uint32_t seed = 0; seed < PropertyRuns(3000u); ++seed) {
    Simulation run = Simulate(Options(seed));
    const Simulation whole = Simulate(Options(seed));
    run.trace->Overwrite(Holes(seed, *run.trace));
    const std::uint64_t begin_ns = run.trace->complete_from_ns();
    if (begin_ns == 0) continue;
    ++tally.snapshots;
    const auto report = Reconstruct(*run.trace, {});
    REQUIRE(report.ok());
    CAPTURE(seed);
    CHECK(report->begin_ns == begin_ns);
    CHECK(report->hidden_switches == 0);
    CheckThreads(*report, run, begin_ns, tally);
    CheckCpus(*report, begin_ns);
    // What is left from before the hole changes no number.
    whole.trace->set_complete_from(begin_ns);
    const auto complete = Reconstruct(*whole.trace, {});
    REQUIRE(complete.ok());
    if (run.truth.reused_tids.empty() &&
        Threads(*report) == Threads(*complete) &&
        HasOneProcessForEachPid(*report) &&
        HasOneProcessForEachPid(*complete)) {
      ++tally.compared;
      const auto rows = Segments(*report), expected = Segments(*complete);
      for (const auto& [path, numbers] : rows) {
        const auto found = expected.find(path);
        const std::string others =
            found == expected.end() ? "none" : found->second;
        CAPTURE(path);
        CHECK(numbers == others);
      }
    }
  }
  CHECK(tally.snapshots > PropertyRuns(2000u));
  CHECK(tally.rows > PropertyRuns(5000u));
  CHECK(tally.blocked_before > PropertyRuns(500u));
  CHECK(tally.compared > PropertyRuns(300u));
}

}  // namespace
}  // namespace countrace::rmap
