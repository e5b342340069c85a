// Where the time of single calls went: as the sums of the report have it, call
// by call.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "rmap/pipeline.h"
#include "rmap/slowest_calls.h"
#include "tests/rmap/lost_records.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using logformat::CountersReason;
using test_support::MemoryTrace;
using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Simulate;
using test_support::Simulation;

struct Answer {
  Report report;
  std::vector<SlowCall> calls;
};

Answer Slowest(MemoryTrace& trace, std::size_t most, TableRange range = {}) {
  std::unordered_set<std::uint32_t> hooks;
  for (const logformat::HookInfo& hook : trace.info().hooks) {
    if (hook.kind == logformat::HookKind::kSegment &&
        hook.origin != logformat::HookOrigin::kInterrupt) {
      hooks.insert(hook.id);
    }
  }
  SlowestCalls slowest(most, hooks, range);
  auto report = Reconstruct(trace, {.observer = &slowest});
  REQUIRE(report.ok());
  return {*std::move(report), slowest.Take()};
}

TEST_CASE("slowest calls: all of them add up to the paths of the report",
          "[rmap][property][slowest]") {
  std::uint64_t blocked_calls = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(300u); ++seed) {
    test_support::SimulationOptions options = RandomOptions(seed);
    options.steps = 100 + seed % 400;
    const Simulation run = Simulate(options);
    const Answer answer = Slowest(*run.trace, 1'000'000);
    CAPTURE(seed);
    std::uint64_t calls = 0, wall_ns = 0, on_cpu_ns = 0, wait_ns = 0;
    std::uint64_t blocked_ns = 0;
    for (const SegmentRow& row : answer.report.segment_paths) {
      if (row.pid == 0) continue;
      calls += row.calls;
      wall_ns += row.wall.incl;
      on_cpu_ns += row.on_cpu->incl;
      wait_ns += row.wait->incl;
      if (row.blocked) blocked_ns += row.blocked->incl;
    }
    std::uint64_t sum_wall_ns = 0, sum_on_cpu_ns = 0, sum_wait_ns = 0;
    std::uint64_t sum_blocked_ns = 0;
    for (const SlowCall& call : answer.calls) {
      sum_wall_ns += call.wall_ns();
      sum_on_cpu_ns += call.on_cpu_ns.value_or(0);
      sum_wait_ns += call.wait_ns;
      sum_blocked_ns += call.blocked_ns;
      blocked_calls += call.blocked_ns != 0;
      std::uint64_t parts_ns = 0;
      for (const auto& [by, ns] : call.woken_by) parts_ns += ns;
      CHECK(parts_ns == call.blocked_ns);
    }
    CHECK(answer.calls.size() == calls);
    CHECK(sum_wall_ns == wall_ns);
    CHECK(sum_on_cpu_ns == on_cpu_ns);
    CHECK(sum_wait_ns == wait_ns);
    if (answer.report.wakeups) CHECK(sum_blocked_ns == blocked_ns);

    // Few of them are the first of all.
    const Answer few = Slowest(*run.trace, 5);
    REQUIRE(few.calls.size() == std::min<std::size_t>(5, answer.calls.size()));
    for (std::size_t i = 0; i < few.calls.size(); ++i) {
      CHECK(few.calls[i].begin_ns == answer.calls[i].begin_ns);
      CHECK(few.calls[i].wall_ns() == answer.calls[i].wall_ns());
    }
  }
  CHECK(blocked_calls != 0);
}

TEST_CASE("slowest calls: a call has room for its times, whatever is lost",
          "[rmap][property][slowest][loss]") {
  for (std::uint32_t seed = 0; seed < PropertyRuns(1000u); ++seed) {
    const Simulation run = Simulate(RandomOptions(seed));
    test_support::LostRecords lost(seed, *run.trace);
    run.trace->RemoveOf(lost);
    const Answer answer = Slowest(*run.trace, 1'000'000);
    CAPTURE(seed);
    for (const SlowCall& call : answer.calls) {
      CAPTURE(call.hook_id, call.begin_ns);
      CHECK(call.on_cpu_ns.value_or(0) + call.wait_ns + call.blocked_ns <=
            call.wall_ns());
    }
  }
}

TEST_CASE(
    "slowest calls: one that is open at the end is marked, one that lost "
    "records too",
    "[rmap][slowest][loss]") {
  MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpus = 1;
  trace.mutable_info().begin_ns = 1000;
  trace.mutable_info().cpu_events = {"task-clock"};
  trace.AddHook(1, logformat::HookKind::kSegment, "app", "work");
  trace.Dump(1000, 0, CountersReason::kBegin, 7, {0});
  trace.State(1000, 0, {7, 7, 0, 0}, "app");
  trace.HookRecord(1100, {7, 7, 1});
  trace.HookRecord(1200, {7, 7, 1, true});
  trace.HookRecord(1300, {7, 7, 1});
  trace.LoseOnCpu(1350, 0, 2, logformat::DiscardCause::kKernelRingFull);
  trace.Dispatch(1400, 0, 8, 7, 0, {400});
  trace.HookRecord(1500, {7, 7, 1, true});
  trace.HookRecord(1600, {7, 7, 1});
  trace.Dump(2000, 0, CountersReason::kEnd, 7, {1000});
  const std::vector<SlowCall> calls = Slowest(trace, 10).calls;
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].begin_ns == 1600);
  CHECK(calls[0].end_ns == 2000);
  CHECK(calls[0].end_inferred);
  CHECK(calls[1].begin_ns == 1300);
  CHECK_FALSE(calls[1].end_inferred);
  CHECK_FALSE(calls[1].on_cpu_exact);
  CHECK(calls[2].begin_ns == 1100);
  CHECK(calls[2].on_cpu_exact);
  // Those that begin in a range.
  CHECK(Slowest(trace, 10, {1200, 1600}).calls.size() == 1);
}

}  // namespace
}  // namespace countrace::rmap
