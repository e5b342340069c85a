// Whatever a trace is like, measured costs of probes change the rows of
// segments alone, by no more than the estimate; and parts stay within wholes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "rmap/pipeline.h"
#include "tests/rmap/busy_machine.h"
#include "tests/rmap/report_lines.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::BusyMachine;
using test_support::PropertyRuns;

logformat::ProbeCost RandomCost(std::mt19937& random) {
  if (random() % 8 == 0) return logformat::kUnknownProbeCost;
  const auto range = [&random]() -> logformat::ProbeCost::Range {
    const auto lo = static_cast<std::uint32_t>(random() % 2000);
    const auto ns = lo + static_cast<std::uint32_t>(random() % 500);
    return {ns, lo, ns + static_cast<std::uint32_t>(random() % 3000)};
  };
  return {range(), range()};
}

bool IsTable(const std::string& name) {
  return name == "threads" || name == "wakers" || name == "hooks" ||
         name == "cpus" || name == "trace";
}

void CheckPair(const RowBounds& bounds, std::uint64_t incl, std::uint64_t excl,
               Number of_incl, Number of_excl) {
  CHECK(excl <= incl);
  for (const auto& [number, value] :
       {std::pair(of_incl, incl), std::pair(of_excl, excl)}) {
    const auto interval = bounds.Of(number);
    if (!interval) continue;
    CHECK(interval->lo <= value);
    CHECK(value <= interval->hi);
  }
}

// `raw`: without costs.
void CheckRow(const SegmentRow& raw, const SegmentRow& row) {
  CAPTURE(row.segment, row.pid);
  CHECK(row.calls == raw.calls);
  if (!row.probes) {
    CHECK(row.wall.incl == raw.wall.incl);
    CHECK(row.wall.excl == raw.wall.excl);
    return;
  }
  CHECK(row.qualities.Has(Quality::kBounded));
  CHECK(row.probes->lo_ns <= row.probes->ns);
  CHECK(row.probes->ns <= row.probes->hi_ns);
  CHECK(raw.wall.incl - row.wall.incl == row.probes->ns);
  CHECK(row.wall.excl <= raw.wall.excl);
  // A call that waits for a time takes as long without probes.
  CHECK(row.bounds.Of(Number::kWallIncl)->hi >= raw.wall.incl);
  CHECK(row.bounds.Of(Number::kWallP50)->hi >= raw.wall.p50);
  if (!row.path.empty()) {
    CheckPair(row.bounds, row.wall.incl, row.wall.excl, Number::kWallIncl,
              Number::kWallExcl);
  }
  CHECK(row.wall.min <= row.wall.p50);
  CHECK(row.wall.p50 <= row.wall.p99);
  CHECK(row.wall.p99 <= row.wall.max);
  // A wait for a CPU is no sign that what is measured takes long.
  const std::uint64_t waited =
      row.wait ? std::min(row.wait->incl, row.wall.incl) : 0;
  if (row.wall.incl - waited < 3 * row.probes->ns) {
    CHECK(row.bounds.Of(Number::kWallIncl)->lo == 0);
  }
  REQUIRE(row.on_cpu);
  CHECK(raw.on_cpu->incl - row.on_cpu->incl == row.probes->ns);
  if (!row.path.empty()) {
    CheckPair(row.bounds, row.on_cpu->incl, row.on_cpu->excl,
              Number::kOnCpuIncl, Number::kOnCpuExcl);
  }
  // Off the CPU no probe runs.
  CHECK(row.off_cpu->incl == raw.off_cpu->incl);
}

TEST_CASE("property: the cost of probes is in no other table", "[rmap]") {
  const auto seeds = PropertyRuns(std::uint32_t{2000});
  std::size_t probed = 0;
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto trace = BusyMachine(seed);
    const auto raw = Reconstruct(*trace, {});
    REQUIRE(raw.ok());
    for (logformat::HookInfo& hook : trace->mutable_info().hooks) {
      if (hook.origin == logformat::HookOrigin::kProbe) {
        hook.probe_cost = RandomCost(random);
      }
    }
    const auto report = Reconstruct(*trace, {});
    REQUIRE(report.ok());
    const auto raw_tables = test_support::ShowTables(*raw);
    const auto tables = test_support::ShowTables(*report);
    for (std::size_t i = 0; i < tables.size(); ++i) {
      if (IsTable(tables[i].table))
        CHECK(tables[i].lines == raw_tables[i].lines);
    }
    for (std::size_t i = 0; i < report->books.size(); ++i) {
      const Books &a = raw->books[i], &b = report->books[i];
      CHECK(a.total == b.total);
      CHECK(a.processes == b.processes);
      CHECK(a.unattributed == b.unattributed);
      CHECK(a.in_segments == b.in_segments);
      CHECK(b.residual == 0);
      if (b.recording.probes) {
        CHECK(b.recording.probes->ns <= b.processes + b.own);
      }
    }
    for (std::size_t i = 0; i < report->processes.size(); ++i) {
      CHECK(report->processes[i].on_cpu_ns == raw->processes[i].on_cpu_ns);
    }
    // In the order of what is left of their time.
    REQUIRE(report->segment_paths.size() == raw->segment_paths.size());
    for (const SegmentRow& row : report->segment_paths) {
      for (const SegmentRow& before : raw->segment_paths) {
        if (before.process == row.process && before.path == row.path &&
            before.pid == row.pid) {
          CheckRow(before, row);
          probed += row.probes ? 1 : 0;
        }
      }
    }
    for (const SegmentRow& row : report->segments) {
      for (const SegmentRow& before : raw->segments) {
        if (before.process == row.process && before.segment == row.segment &&
            before.pid == row.pid) {
          CheckRow(before, row);
        }
      }
    }
  }
  CHECK(probed > seeds / 10);
}

}  // namespace
}  // namespace countrace::rmap
