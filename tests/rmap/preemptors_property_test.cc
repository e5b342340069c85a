// What had the CPU of waiting threads, against a machine whose truth is known;
// and every part of a wait has one owner, whatever is lost.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "rmap/pipeline.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;
using test_support::TruePreemption;

Report MustReconstruct(logformat::TraceReader& reader,
                       std::uint64_t least_idle_ns = 500'000) {
  auto report = Reconstruct(
      reader, {.rows = {.preemptors = true, .least_idle_ns = least_idle_ns}});
  REQUIRE(report.ok());
  return *std::move(report);
}

SimulationOptions OptionsOf(std::uint32_t seed) {
  SimulationOptions options = RandomOptions(seed);
  options.wakeups = seed % 4 != 0;
  options.affinities = seed % 3 != 0;
  options.event_sets = seed % 5 == 0;
  options.quotas |= seed % 7 == 0;
  options.least_idle_ns = 50 + seed % 10 * 100;
  if (seed % 6 == 0) {
    options.unplug = SimulationOptions::Unplug::kWithLastDump;
    options.replug = seed % 12 == 0;
  }
  return options;
}

using Place = std::tuple<std::int32_t, std::int32_t, std::string, std::int32_t,
                         std::int32_t>;
using Row = std::tuple<Place, std::uint64_t, std::uint64_t, std::uint64_t>;

Place PlaceOf(const PreemptorRow& row) {
  return {row.pid, row.tid, PreemptorKindName(row.preemptor.kind),
          row.preemptor.pid.value_or(-1), row.preemptor.tid.value_or(-1)};
}
Place PlaceOf(const TruePreemption& truth) {
  return {truth.pid, truth.tid, truth.kind, truth.by_pid, truth.by_tid};
}

// The rows of each thread add up to its wait. Rows have no index, so those of
// threads that had the same tid, one after the other, are taken together.
void CheckSums(const Report& report) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::uint64_t> waits, parts;
  for (const ThreadRow& row : report.threads) {
    waits[{row.pid, row.tid}] += row.wait_ns.value_or(0);
  }
  for (const PreemptorRow& row : report.preemptors) {
    parts[{row.pid, row.tid}] += row.wait_ns;
    CHECK(row.times > 0);
    CHECK(row.wait_ns > 0);
    CHECK(row.longest_ns <= row.wait_ns);
    CHECK(row.preemptor.tid.has_value() ==
          (row.preemptor.kind == PreemptorKind::kThread));
  }
  for (const auto& [thread, ns] : waits) CHECK(parts[thread] == ns);
  for (const auto& [thread, ns] : parts) CHECK(waits[thread] == ns);
}

TEST_CASE("preemptors: equal the simulated machine's, exactly",
          "[rmap][property]") {
  std::map<PreemptorKind, int> seen;
  for (std::uint32_t seed = 0; seed < PropertyRuns(1000u); ++seed) {
    CAPTURE(seed);
    const SimulationOptions options = OptionsOf(seed);
    Simulation run = Simulate(options);
    const Report report = MustReconstruct(*run.trace, options.least_idle_ns);
    CheckSums(report);
    std::vector<Row> rows, true_rows;
    for (const PreemptorRow& row : report.preemptors) {
      ++seen[row.preemptor.kind];
      rows.emplace_back(PlaceOf(row), row.times, row.wait_ns, row.longest_ns);
    }
    for (const TruePreemption& truth : run.truth.preemptions) {
      true_rows.emplace_back(PlaceOf(truth), truth.times, truth.ns,
                             truth.longest_ns);
    }
    std::sort(rows.begin(), rows.end());
    std::sort(true_rows.begin(), true_rows.end());
    REQUIRE(rows == true_rows);
  }
  for (const PreemptorKind kind :
       {PreemptorKind::kThread, PreemptorKind::kInterrupts,
        PreemptorKind::kIdle, PreemptorKind::kIdleAllowed,
        PreemptorKind::kOutside, PreemptorKind::kThrottled,
        PreemptorKind::kNotKnown}) {
    CAPTURE(PreemptorKindName(kind));
    CHECK(seen[kind] > PropertyRuns(100));
  }
}

// As in older traces, and in those of other recorders.
TEST_CASE("preemptors: without the flags of switches no idle CPU is said",
          "[rmap][property]") {
  using Times = std::map<Place, std::uint64_t>;
  std::uint64_t allowed = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(200u); ++seed) {
    CAPTURE(seed);
    SimulationOptions options = OptionsOf(seed);
    Times with, without;
    for (const bool flags : {true, false}) {
      options.affinities = flags;
      Simulation run = Simulate(options);
      std::mt19937 random(seed);
      if (seed % 2 != 0) {
        run.trace->Remove([&](std::size_t) { return random() % 100 == 0; },
                          /*declare=*/true);
      }
      const Report report = MustReconstruct(*run.trace, options.least_idle_ns);
      CheckSums(report);
      for (const PreemptorRow& row : report.preemptors) {
        (flags ? with : without)[PlaceOf(row)] += row.wait_ns;
      }
    }
    // What it says of an idle CPU it takes from the other rows.
    for (const auto& [place, ns] : without) {
      REQUIRE(std::get<2>(place) != "idle_allowed");
      CHECK(ns >= with[place]);
    }
    for (const auto& [place, ns] : with) {
      if (std::get<2>(place) == "idle_allowed") {
        allowed += ns;
      } else {
        CHECK(ns <= without[place]);
      }
    }
  }
  CHECK(allowed > PropertyRuns(1000u));
}

TEST_CASE("preemptors: a trace that lacks nothing has exact rows",
          "[rmap][property]") {
  std::uint64_t exact = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(100u); ++seed) {
    CAPTURE(seed);
    const SimulationOptions options = OptionsOf(seed);
    Simulation run = Simulate(options);
    const Report report = MustReconstruct(*run.trace, options.least_idle_ns);
    std::map<std::int32_t, bool> not_known;
    for (const PreemptorRow& row : report.preemptors) {
      not_known[row.tid] |= row.preemptor.kind == PreemptorKind::kNotKnown;
    }
    for (const PreemptorRow& row : report.preemptors) {
      const bool is_exact =
          row.preemptor.kind == PreemptorKind::kNotKnown || !not_known[row.tid];
      if (!is_exact && row.quality == Quality::kBounded) continue;
      CHECK(row.quality == Quality::kExact);
      ++exact;
    }
  }
  CHECK(exact > PropertyRuns(100u));
}

TEST_CASE("preemptors: add up to the wait whatever is lost",
          "[rmap][property]") {
  std::uint64_t bounded = 0, exact = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(300u); ++seed) {
    CAPTURE(seed);
    const SimulationOptions options = OptionsOf(seed);
    Simulation run = Simulate(options);
    std::mt19937 random(seed);
    run.trace->Remove([&](std::size_t) { return random() % 40 == 0; },
                      /*declare=*/seed % 2 == 0);
    const Report report = MustReconstruct(*run.trace, options.least_idle_ns);
    CheckSums(report);
    for (const PreemptorRow& row : report.preemptors) {
      (row.quality == Quality::kExact ? exact : bounded)++;
    }
  }
  CHECK(bounded > PropertyRuns(100u));
  CHECK(exact > PropertyRuns(100u));
}

TEST_CASE("preemptors: intervals hold the truth after losses",
          "[rmap][property]") {
  std::uint64_t checked = 0, narrow = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(400u); ++seed) {
    CAPTURE(seed);
    const SimulationOptions options = OptionsOf(seed);
    Simulation run = Simulate(options);
    std::mt19937 random(seed);
    const std::size_t one_in = 40 + seed % 3 * 100;
    run.trace->Remove([&](std::size_t) { return random() % one_in == 0; },
                      /*declare=*/true);
    const Report report = MustReconstruct(*run.trace, options.least_idle_ns);
    // Without their forks, threads with one tid are one row.
    const auto reused = [&](std::int32_t tid) {
      return run.truth.reused_tids.contains(tid);
    };
    std::map<Place, std::uint64_t> truths;
    for (const TruePreemption& truth : run.truth.preemptions) {
      truths[PlaceOf(truth)] += truth.ns;
    }
    for (const PreemptorRow& row : report.preemptors) {
      const PreemptorRow::By& by = row.preemptor;
      if (reused(row.tid) || (by.tid && reused(*by.tid))) continue;
      const auto found = truths.find(PlaceOf(row));
      const std::uint64_t truth = found == truths.end() ? 0 : found->second;
      const Bounds bounds = row.bounds.Of(Number::kWait)
                                .value_or(Bounds{row.wait_ns, row.wait_ns});
      CAPTURE(row.pid, row.tid, PreemptorKindName(by.kind), by.tid.value_or(-1),
              row.wait_ns, truth, bounds.lo, bounds.hi);
      CHECK(bounds.lo <= truth);
      CHECK(truth <= bounds.hi);
      ++checked;
      narrow += bounds.hi < 2 * row.wait_ns && bounds.lo > 0 ? 1 : 0;
    }
  }
  CHECK(checked > PropertyRuns(1000u));
  CHECK(narrow > checked / 20);
}

TEST_CASE("preemptors: an interrupt without its exit may have ended at once",
          "[rmap]") {
  constexpr std::uint32_t kTimer = logformat::kHookIdKernelMin;
  test_support::MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpus = 1;
  trace.mutable_info().cpu_events = {"task-clock"};
  trace.AddHook(kTimer, logformat::HookKind::kSegment, "irq", "timer",
                logformat::HookOrigin::kInterrupt);
  trace.Dump(1000, 0, logformat::CountersReason::kBegin, 50, {0});
  trace.State(1000, 0, {50, 50}, "app");
  trace.State(1000, 0, {60, 60}, "two");
  trace.Dispatch(1100, 0, 50, 60, logformat::kSwitchPreempted, {100});
  trace.KernelHook(1140, 0, {60, 60, kTimer});
  trace.KernelHook(1150, 0, {60, 60, kTimer, true});
  trace.KernelHook(1200, 0, {60, 60, kTimer});
  trace.Dispatch(1300, 0, 60, 50, logformat::kSwitchInterruptible, {300});
  trace.Dump(1400, 0, logformat::CountersReason::kEnd, 50, {400});
  const Report report = MustReconstruct(trace);
  CheckSums(report);
  REQUIRE(report.preemptors.size() == 2);
  for (const PreemptorRow& row : report.preemptors) {
    const bool timer = row.preemptor.kind == PreemptorKind::kInterrupts;
    CAPTURE(timer);
    CHECK(row.wait_ns == (timer ? 110 : 90));
    CHECK(row.quality == Quality::kBounded);
    const auto wait = row.bounds.Of(Number::kWait);
    REQUIRE(wait);
    CHECK(wait->lo == (timer ? 10 : 90));
    CHECK(wait->hi == (timer ? 110 : 190));
  }
}

TEST_CASE(
    "preemptors: a thread that is never seen on a CPU waits since it is"
    " woken",
    "[rmap]") {
  constexpr std::uint32_t kHook = 7;
  // Its hooks show that it ran. It left its CPU before the range, or never.
  const bool left = GENERATE(false, true);
  CAPTURE(left);
  test_support::MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpus = 1;
  trace.mutable_info().cpu_events = {"task-clock"};
  trace.AddHook(kHook, logformat::HookKind::kPoint, "app", "step");
  trace.HookRecord(900, {60, 60, kHook});
  if (left) {
    trace.Dispatch(1000, 0, 60, 50, logformat::kSwitchInterruptible, {0});
  } else {
    trace.Dump(1000, 0, logformat::CountersReason::kBegin, 50, {0});
  }
  trace.State(1000, 0, {50, 50}, "app");
  trace.State(1000, 0, {60, 60}, "two");
  trace.Wakeup(1300, 0, 50, 60);
  trace.Dump(1400, 0, logformat::CountersReason::kEnd, 50, {400});
  auto report = Reconstruct(
      trace, {.rows = {.preemptors = true}, .range = {.from_ns = 1200}});
  REQUIRE(report.ok());
  CheckSums(*report);
  REQUIRE(report->preemptors.size() == 1);
  CHECK(report->preemptors[0].wait_ns == 100);
  const auto row =
      std::find_if(report->threads.begin(), report->threads.end(),
                   [](const ThreadRow& thread) { return thread.tid == 60; });
  REQUIRE(row != report->threads.end());
  CHECK(row->wait_ns == 100u);
  CHECK(row->blocked_ns == (left ? 100u : 0u));
  // Without a record of a switch it is unknown when it ran.
  CHECK(row->on_cpu_ns.has_value() == left);
}

TEST_CASE("preemptors: nothing is split unless it is wanted", "[rmap]") {
  Simulation run = Simulate(OptionsOf(1));
  const auto report = Reconstruct(*run.trace, {});
  REQUIRE(report.ok());
  CHECK(report->preemptors.empty());
}

}  // namespace
}  // namespace countrace::rmap
