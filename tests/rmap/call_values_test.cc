// Rows by a value of hooks, and rows of files: parts of the rows without it.
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "rmap/pipeline.h"
#include "rmap/where/row_groups.h"
#include "tests/rmap/lost_records.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::LostRecords;
using test_support::MemoryTrace;
using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;

Report ReportOf(MemoryTrace& trace, const std::string& value,
                TableRange range = {}) {
  auto report = Reconstruct(trace, {.rows = {.value = value}, .range = range});
  REQUIRE(report.ok());
  return *std::move(report);
}

struct Sums {
  std::uint64_t calls = 0, begin_inferred = 0, end_inferred = 0;
  std::uint64_t wall_excl_ns = 0, wall_incl_ns = 0, on_cpu_ns = 0;
  std::uint64_t wait_ns = 0, blocked_ns = 0;
  std::uint64_t failed = 0, least_calls = 0;
  bool operator==(const Sums&) const = default;
};

void Add(const SegmentRow& row, Sums& sum) {
  sum.calls += row.calls;
  sum.begin_inferred += row.begin_inferred;
  sum.end_inferred += row.end_inferred;
  sum.wall_excl_ns += row.wall.excl;
  // In a recursive segment, calls inside those with another value have it, too.
  if (row.errors) sum.wall_incl_ns += row.wall.incl;
  if (row.errors && row.on_cpu) sum.on_cpu_ns += row.on_cpu->incl;
  if (row.wait) sum.wait_ns += row.wait->excl;
  if (row.blocked) sum.blocked_ns += row.blocked->excl;
  if (!row.errors) return;
  for (const auto& [error, calls] : *row.errors) sum.failed += calls;
}

using SumsByRow = std::map<std::pair<ProcessIndex, std::string>, Sums>;

SumsByRow SumsOf(const std::vector<SegmentRow>& rows) {
  SumsByRow sums;
  for (const SegmentRow& row : rows) Add(row, sums[{row.process, row.segment}]);
  return sums;
}

SumsByRow SumsOfPaths(const std::vector<SegmentRow>& rows) {
  SumsByRow sums;
  for (const SegmentRow& row : rows) {
    std::string path;
    for (const std::string& name : row.path) path += name + ">";
    Add(row, sums[{row.process, path}]);
  }
  return sums;
}

std::map<ProcessIndex, Sums> SystemCallsOf(const Report& report) {
  std::map<ProcessIndex, Sums> sums;
  for (const SegmentRow& row : report.segments) {
    if (!row.errors) continue;
    Sums& sum = sums[row.process];
    sum.calls += row.calls;
    sum.wall_incl_ns += row.wall.incl;
    if (row.on_cpu) sum.on_cpu_ns += row.on_cpu->incl;
    const auto calls = row.bounds.Of(Number::kCalls);
    sum.least_calls += calls ? calls->lo : row.calls;
  }
  return sums;
}

SimulationOptions WithValues(std::uint32_t seed) {
  SimulationOptions options = RandomOptions(seed);
  options.values = true;
  options.system_calls = true;
  options.dumps = false;
  return options;
}

}  // namespace

TEST_CASE("call_values: rows by a value add up to the rows without it",
          "[rmap][property]") {
  const auto seed = GENERATE(range(0u, PropertyRuns(120u)));
  CAPTURE(seed);
  Simulation simulation = Simulate(WithValues(seed));
  if (seed % 3 == 2) {
    LostRecords lose(seed, *simulation.trace);
    simulation.trace->RemoveOf(lose);
  }
  MemoryTrace& trace = *simulation.trace;
  const Report whole = ReportOf(trace, "");
  const std::string name = std::array{"arg0", "fd", "ret"}[seed % 4 % 3];
  const Report parts = ReportOf(trace, name);
  CHECK(SumsOf(parts.segments) == SumsOf(whole.segments));
  CHECK(SumsOfPaths(parts.segment_paths) == SumsOfPaths(whole.segment_paths));
  std::uint64_t known = 0;
  std::uint64_t unknown = 0;
  for (const SegmentRow& row : parts.segments) {
    CHECK(row.wall.excl <= row.wall.incl);
    const bool has = row.segment.starts_with("sim:") == (name == "arg0") &&
                     !row.segment.starts_with("irq:");
    if (!has) CHECK_FALSE(row.grouped.argument);
    // An enter that was recorded has its value, and an exit; a jump that is
    // recorded ends calls without one.
    const std::uint64_t calls =
        row.calls - (name == "ret" ? row.end_inferred : 0);
    if (has && calls != 0 && name != "ret") CHECK(row.grouped.argument);
    if (has) (row.grouped.argument ? known : unknown) += calls;
    if (name != "ret" || !row.grouped.argument) continue;
    CHECK(row.begin_inferred == 0);
    Sums sum;
    Add(row, sum);
    const bool failed = *row.grouped.argument == "-2";
    CHECK(sum.failed == (failed ? calls : 0));
  }
  if (name == "ret" && seed % 3 != 2) CHECK(unknown <= known / 10 + 2);
}

TEST_CASE("call_values: parts of a range add up, after losses too",
          "[rmap][property][range]") {
  const auto seed = GENERATE(range(0u, PropertyRuns(90u)));
  CAPTURE(seed);
  Simulation simulation = Simulate(WithValues(seed));
  MemoryTrace& trace = *simulation.trace;
  if (seed % 3 == 1) trace.LeaveOutCalls(seed);
  if (seed % 3 == 2) {
    LostRecords lose(seed, trace);
    trace.RemoveOf(lose);
  }
  const Report all = ReportOf(trace, "");
  const std::uint64_t third = (all.end_ns - all.begin_ns) / 3;
  const std::string name = std::array{"arg0", "fd", "ret"}[seed / 3 % 3];
  for (const std::uint64_t piece : {0, 1, 2}) {
    const TableRange range = {.from_ns = all.begin_ns + piece * third,
                              .until_ns = all.begin_ns + (piece + 1) * third};
    CAPTURE(piece, name);
    const Report whole = ReportOf(trace, "", range);
    Report parts = ReportOf(trace, name, range);
    CHECK(SumsOf(parts.segments) == SumsOf(whole.segments));
    CHECK(SumsOfPaths(parts.segment_paths) == SumsOfPaths(whole.segment_paths));
    // Sums of rows by value are of all processes.
    std::map<std::string, Sums> of_whole, of_groups;
    for (const SegmentRow& row : whole.segments) {
      Add(row, of_whole[row.segment]);
    }
    where::SumRows(name, ReportBy::kSegment, parts, nullptr);
    for (const SegmentRow& row : parts.segments) {
      Add(row, of_groups[row.segment]);
    }
    CHECK(of_groups == of_whole);
    std::map<ProcessIndex, Sums> files;
    for (const FileRow& row : whole.files) {
      Sums& sum = files[row.process];
      sum.calls += row.calls;
      sum.wall_incl_ns += row.wall_ns;
      sum.on_cpu_ns += row.on_cpu_ns.value_or(0);
      const auto calls = row.bounds.Of(Number::kCalls);
      if (calls) CHECK((calls->lo <= row.calls && row.calls <= calls->hi));
    }
    for (const auto& [process, calls] : SystemCallsOf(whole)) {
      CHECK(files[process].calls == calls.calls);
      CHECK(files[process].wall_incl_ns == calls.wall_incl_ns);
      CHECK(files[process].on_cpu_ns == calls.on_cpu_ns);
    }
  }
}

TEST_CASE("call_values: files have the calls and times of system calls",
          "[rmap][property]") {
  const auto seed = GENERATE(range(0u, PropertyRuns(120u)));
  CAPTURE(seed);
  Simulation simulation = Simulate(WithValues(seed));
  if (seed % 2 == 1) {
    LostRecords lose(seed, *simulation.trace);
    simulation.trace->RemoveOf(lose);
  }
  const Report report = ReportOf(*simulation.trace, "");
  REQUIRE(report.file_values);
  std::map<ProcessIndex, Sums> sums;
  for (const FileRow& row : report.files) {
    CHECK(row.opens + row.reads + row.writes <= row.calls);
    Sums& sum = sums[row.process];
    sum.calls += row.calls;
    sum.wall_incl_ns += row.wall_ns;
    sum.on_cpu_ns += row.on_cpu_ns.value_or(0);
    const auto calls = row.bounds.Of(Number::kCalls);
    if (calls) CHECK(calls->lo <= row.calls);
    if (calls) CHECK(calls->hi >= row.calls);
    sum.least_calls += calls ? calls->lo : row.calls;
    if (row.calls != 0) CHECK(row.file);
  }
  const auto whole = SystemCallsOf(report);
  for (const auto& [process, of_process] : whole) {
    CHECK(sums[process].calls == of_process.calls);
    CHECK(sums[process].wall_incl_ns == of_process.wall_incl_ns);
    CHECK(sums[process].on_cpu_ns == of_process.on_cpu_ns);
    CHECK(sums[process].least_calls <= of_process.calls);
  }
  CHECK(sums.size() == whole.size());
}

TEST_CASE("call_values: other rows are as if calls had no values",
          "[rmap][property]") {
  const auto seed = GENERATE(range(0u, PropertyRuns(60u)));
  CAPTURE(seed);
  Simulation simulation = Simulate(WithValues(seed));
  MemoryTrace& trace = *simulation.trace;
  const Report with = ReportOf(trace, "");
  for (logformat::HookInfo& hook : trace.mutable_info().hooks) {
    if (hook.origin == logformat::HookOrigin::kKernel) {
      hook.payload.clear();
      hook.payload_names.clear();
    }
  }
  const Report without = ReportOf(trace, "");
  CHECK_FALSE(without.file_values);
  CHECK(SumsOf(with.segments) == SumsOf(without.segments));
  REQUIRE(with.segment_paths.size() == without.segment_paths.size());
  CHECK(SumsOfPaths(with.segment_paths) == SumsOfPaths(without.segment_paths));
  for (std::size_t i = 0; i < with.segments.size(); ++i) {
    CHECK(with.segments[i].wall.p90 == without.segments[i].wall.p90);
  }
}

TEST_CASE("call_values: hits with a value are part of the hook's hits",
          "[rmap][property]") {
  const auto seed = GENERATE(range(0u, PropertyRuns(60u)));
  CAPTURE(seed);
  Simulation simulation = Simulate(WithValues(seed));
  if (seed % 2 == 1) {
    LostRecords lose(seed, *simulation.trace);
    simulation.trace->RemoveOf(lose);
  }
  const Report whole = ReportOf(*simulation.trace, "");
  Report parts = ReportOf(*simulation.trace, "arg0");
  std::map<std::string, std::uint64_t> sums, all;
  for (const HookRow& row : whole.hooks) all[row.hook] += row.hits;
  for (const HookRow& row : parts.hooks) sums[row.hook] += row.hits;
  CHECK(sums == all);
  where::SumRows("arg0", ReportBy::kHook, parts, nullptr);
  sums.clear();
  std::map<std::pair<std::string, std::string>, int> rows;
  for (const HookRow& row : parts.hooks) {
    sums[row.hook] += row.hits;
    CHECK(++rows[{row.hook, row.grouped.argument.Read()}] == 1);
  }
  CHECK(sums == all);
}

}  // namespace countrace::rmap
