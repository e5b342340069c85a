// How far a loss reaches: rows that it cannot concern stay exact.
#include <catch2/catch.hpp>
#include <random>

#include "rmap/pipeline.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::PropertyRuns;
using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;

TEST_CASE("loss: a few lost records leave most of a trace exact",
          "[rmap][loss]") {
  std::size_t exact = 0, rows = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(60u); ++seed) {
    SimulationOptions options;
    options.seed = seed;
    options.cpus = 3;
    options.steps = 1500;
    Simulation run = Simulate(options);
    // Drops one record of a CPU stream in the last tenth, so that earlier
    // calls, and threads that ended before, are not concerned.
    const std::size_t at = run.trace->size() - run.trace->size() / 10;
    std::uint64_t left = 1;
    run.trace->Remove([&](std::size_t i) { return i >= at && left-- == 1; },
                      /*declare=*/true);
    const auto report = Reconstruct(*run.trace, {});
    REQUIRE(report.ok());
    REQUIRE(report->loss.discarded_events == 1);
    for (const SegmentRow& row : report->segment_paths) {
      // Near calls that were left without a record, whatever was lost.
      if (row.quality == Quality::kInferred) continue;
      ++rows;
      exact += row.quality == Quality::kExact &&
               row.on_cpu_quality == Quality::kExact;
    }
  }
  CAPTURE(exact, rows);
  CHECK(exact * 2 > rows);
  CHECK(exact < rows);
}

TEST_CASE(
    "loss: of a process that begins with the loss, the earlier one is exact",
    "[rmap][loss]") {
  test_support::MemoryTrace trace;
  logformat::TraceInfo& info = trace.mutable_info();
  info.cpus = 1;
  info.scope = logformat::SessionScope::kSystem;
  info.cpu_events = {"task-clock"};
  trace.AddHook(10, logformat::HookKind::kSegment, "app", "work");
  using logformat::CountersReason;
  trace.Dump(1000, 0, CountersReason::kBegin, 50, {0});
  trace.State(1000, 0, {50, 50}, "app");
  trace.State(1000, 0, {40, 40}, "sh");
  trace.HookRecord(1100, {50, 50, 10, false});
  trace.HookRecord(1200, {50, 50, 10, true});
  trace.Exit(1300, 0, {50, 50});
  trace.Dispatch(1400, 0, 50, 40, logformat::kSwitchDead, {400});
  trace.Fork(1500, 0, {50, 50, 40, 40});
  trace.Dispatch(1600, 0, 40, 50, logformat::kSwitchRunnable, {600});
  trace.LoseOfThread(1500, 50, 50, 2, logformat::DiscardCause::kNoSubBuffer);
  trace.HookRecord(1700, {50, 50, 10, false});
  trace.HookRecord(1800, {50, 50, 10, true});
  trace.Dump(2000, 0, CountersReason::kEnd, 50, {1000});
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  REQUIRE(report->segments.size() == 2);
  for (const SegmentRow& row : report->segments) {
    const bool later = report->segments[0].process < row.process ||
                       report->segments[1].process < row.process;
    CHECK(row.quality == (later ? Quality::kBounded : Quality::kExact));
  }
}

TEST_CASE("reconstruction: the same trace gives the same report twice",
          "[rmap]") {
  Simulation run = Simulate({.seed = 5, .cpus = 2, .steps = 800});
  run.trace->set_late_sub_buffers(3);
  const auto first = Reconstruct(*run.trace, {});
  const auto second = Reconstruct(*run.trace, {});
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(first->records == second->records);
  CHECK(first->segments.size() == second->segments.size());
  CHECK(first->late_sub_buffers == 3);
}

TEST_CASE("reconstruction: progress that says stop ends it with CANCELLED",
          "[rmap]") {
  Simulation run = Simulate({.seed = 5, .cpus = 2, .steps = 100});
  PipelineOptions options;
  options.progress = [](const logformat::Progress& progress) {
    return progress.done < 10;
  };
  const auto report = Reconstruct(*run.trace, options);
  CHECK(report.status().code() == absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace countrace::rmap
