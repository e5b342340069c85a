// The tables of a snapshot end with the recorder's dumps for it: they are those
// of a recording that ends there, whatever its streams have from later.
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <utility>

#include "logformat/trace_info.h"
#include "rmap/pipeline.h"
#include "rmap/report/render_options.h"
#include "rmap/report/report_render.h"
#include "tests/rmap/memory_trace.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using logformat::CountersReason;
using test_support::MemoryTrace;
using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Simulate;
using test_support::SimulationOptions;

// The whole report, without the number of records that were read.
std::string Tables(logformat::TraceReader& trace) {
  auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  report->records = 0;
  RenderOptions options;
  options.format = ReportFormat::kJson;
  return RenderReport(*report, options);
}

TEST_CASE("snapshot: the tables are those of a recording that ends there",
          "[rmap][property][snapshot]") {
  for (std::uint32_t seed = 0; seed < PropertyRuns(1000u); ++seed) {
    CAPTURE(seed);
    SimulationOptions options = RandomOptions(seed);
    options.event_sets = seed % 2 == 0;
    options.steps = 100 + seed % 300;
    const std::string ends = Tables(*Simulate(options).trace);
    options.snapshot_step = options.steps;
    options.steps *= 2;
    const auto snapshot = Simulate(options);
    CHECK(Tables(*snapshot.trace) == ends);
    // In the recording itself it is a dump as any other: it adds nothing up.
    const std::uint64_t snapshot_ns =
        std::exchange(snapshot.trace->mutable_info().snapshot_ns, 0);
    CHECK(snapshot_ns != 0);
    const auto report = Reconstruct(*snapshot.trace, {});
    REQUIRE(report.ok());
    CHECK(report->hidden_switches == 0);
    std::uint64_t wall_ns = 0;
    for (const CpuRow& row : report->cpu_rows) {
      CHECK(row.unattributed_ns == 0);
      wall_ns += row.wall_ns;
    }
    CHECK(wall_ns == options.cpus * snapshot.truth.duration_ns);
  }
}

// CPU 0 ends before CPU 1: what it shows meanwhile is in no table, but what it
// forked may run on CPU 1.
TEST_CASE("snapshot: each CPU ends with its own dump", "[rmap][snapshot]") {
  constexpr std::uint64_t kSnapshotNs = 2000;
  MemoryTrace trace;
  trace.mutable_info().snapshot_ns = kSnapshotNs;
  trace.mutable_info().begin_ns = 1000;
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpus = 2;
  trace.mutable_info().cpu_events = {"task-clock"};
  trace.AddHook(4096, logformat::HookKind::kSegment, "p", "work");
  trace.Dump(1000, 0, CountersReason::kBegin, 50, {0});
  trace.Dump(1000, 1, CountersReason::kBegin, 0, {0});
  trace.State(1000, 0, {50, 50, 1, 0}, "one");
  // An earlier snapshot of the same recording.
  trace.Dump(1500, 0, CountersReason::kSnapshot, 50, {500});
  trace.Dump(1500, 1, CountersReason::kSnapshot, 0, {500});
  trace.HookRecord(1600, {.pid = 50, .tid = 50, .hook_id = 4096});
  trace.Dump(2010, 0, CountersReason::kSnapshot, 50, {1010});
  trace.HookRecord(2015, {.pid = 50, .tid = 50, .hook_id = 4096, .exit = true});
  trace.Fork(2020, 0, {60, 60, 50, 50});
  trace.Dispatch(2020, 0, 50, 0, 1, {1020});
  trace.Dispatch(2030, 1, 0, 60, 0, {1030});
  trace.Dump(2040, 1, CountersReason::kSnapshot, 60, {1040});
  // Records of hooks that were lost later are of no table, wherever a CPU ends.
  trace.LoseOfThread(2005, 50, 50, 3, logformat::DiscardCause::kNoSubBuffer);
  // Those of a CPU are, until it ends.
  const bool lost = GENERATE(false, true);
  trace.LoseOnCpu(lost ? 2035 : 2045, 1, 1,
                  logformat::DiscardCause::kKernelRingFull);
  trace.Dispatch(2050, 1, 60, 0, 1, {1050});
  trace.Dispatch(2060, 0, 0, 70, 0, {1060});
  trace.Dump(3000, 0, CountersReason::kEnd, 70, {2000});
  trace.Dump(3000, 1, CountersReason::kEnd, 0, {2000});

  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  CHECK(report->end_ns == 2040);
  CHECK(report->hidden_switches == 0);
  REQUIRE(report->threads.size() == 2);
  for (const ThreadRow& row : report->threads) {
    CHECK(row.on_cpu_ns == (row.tid == 50 ? 1010u : lost ? 0u : 10u));
    CHECK(row.dispatches == 1);
    if (row.tid == 60) CHECK(row.bounds.empty() != lost);
  }
  for (const CpuRow& row : report->cpu_rows) {
    CHECK(row.wall_ns == (row.cpu == 0 ? 1010u : 1040u));
    CHECK(row.unattributed_ns == (row.cpu == 1 && lost ? 10u : 0u));
  }
  REQUIRE(report->segment_paths.size() == 1);
  CHECK(report->segment_paths[0].calls == 1);
  CHECK(report->segment_paths[0].on_cpu->incl == 410);
  CHECK(report->segment_paths[0].quality == Quality::kInferred);
}

}  // namespace
}  // namespace countrace::rmap
