// Rows for threads, processes and names: those of the one add up to those of
// the others.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rmap/columns/report_tables.h"
#include "rmap/pipeline.h"
#include "rmap/report/text_tables.h"
#include "rmap/where/row_groups.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;

struct Sum {
  std::uint64_t times = 0, ns = 0, longest_ns = 0;
  auto operator<=>(const Sum&) const = default;
  void Add(std::uint64_t more_times, std::uint64_t more_ns,
           std::uint64_t longest) {
    times += more_times;
    ns += more_ns;
    longest_ns = std::max(longest_ns, longest);
  }
};

// Coarser names of finer rows: of a process its pid, of a name nothing.
using Place = std::tuple<std::int32_t, std::string, std::vector<std::string>,
                         int, std::int32_t, std::string, std::string>;

Place PlaceOf(const WakerRow& row, bool process) {
  return {process ? row.pid : 0,
          row.comm,
          row.path,
          static_cast<int>(row.waker.kind),
          process ? row.waker.pid.value_or(-1) : -1,
          row.waker.comm,
          row.waker.segment};
}
Place PlaceOf(const PreemptorRow& row, bool process) {
  return {process ? row.pid : 0,
          row.comm,
          {},
          static_cast<int>(row.preemptor.kind),
          process ? row.preemptor.pid.value_or(-1) : -1,
          row.preemptor.comm,
          ""};
}

std::uint64_t NsOf(const WakerRow& row) { return row.blocked_ns; }
std::uint64_t NsOf(const PreemptorRow& row) { return row.wait_ns; }

template <typename Rows>
std::map<Place, Sum> SumsOf(const Rows& rows, bool processes) {
  std::map<Place, Sum> sums;
  for (const auto& row : rows) {
    sums[PlaceOf(row, processes)].Add(row.times, NsOf(row), row.longest_ns);
  }
  return sums;
}

// Processes of one name, as a make has: names from pids.
Report Of(std::uint32_t seed, RowsOf of, bool lossy) {
  SimulationOptions options = RandomOptions(seed);
  options.wakeups = true;
  Simulation run = Simulate(options);
  if (lossy) {
    run.trace->Remove([](std::size_t i) { return i % 37 == 5; },
                      /*declare=*/true);
  }
  auto report = Reconstruct(
      *run.trace,
      {.rows = {.preemptors = true, .wakers_of = of, .preemptors_of = of}});
  REQUIRE(report.ok());
  return *std::move(report);
}

// Every thread of the simulation has a name that its process has, too.
TEST_CASE("groups: rows of threads add up to those of processes and names",
          "[rmap][property]") {
  std::uint64_t finer = 0, coarser = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(150u); ++seed) {
    const bool lossy = seed % 3 == 2;
    CAPTURE(seed, lossy);
    const Report threads = Of(seed, RowsOf::kThread, lossy);
    const Report processes = Of(seed, RowsOf::kProcess, lossy);
    Report names = processes;
    where::SumRows("comm", ReportBy::kDefault, names, nullptr);
    for (const bool of : {true, false}) {
      const Report& coarse = of ? processes : names;
      CHECK(SumsOf(threads.wakers, of) == SumsOf(coarse.wakers, of));
      CHECK(SumsOf(threads.preemptors, of) == SumsOf(coarse.preemptors, of));
    }
    finer += threads.wakers.size() > processes.wakers.size() ? 1 : 0;
    coarser += names.preemptors.size() < processes.preemptors.size() ? 1 : 0;
    for (const WakerRow& row : threads.wakers) {
      CHECK(row.tid != 0);
      CHECK(row.waker.tid.has_value() ==
            (row.waker.kind == WakerKind::kThread));
    }
    for (const PreemptorRow& row : names.preemptors) {
      CHECK(row.tid == 0);
    }
  }
  CHECK(finer > 0);
  CHECK(coarser > PropertyRuns(50u));
}

std::string RenderedCell(const Cell& cell) {
  return FormatCell(cell, Unit::kId);
}

std::uint64_t NumberOf(const Cell& cell) {
  const auto* number = std::get_if<std::uint64_t>(&cell);
  return number == nullptr ? 0 : *number;
}

// The sum over rows of a column, of its lower limits, and of the rows in each.
struct Total {
  std::uint64_t sum = 0, lo = 0, rows = 0;
  bool operator==(const Total&) const = default;
};

template <typename Row>
Total TotalOf(const Report& report, const Table<Row>& table,
              const std::vector<Column<Row>>& columns) {
  Total total;
  const auto number = NumberNamed(report.events, table.sum);
  for (const Row& row : report.*table.rows) {
    if constexpr (requires { row.processes; }) total.rows += row.processes;
    if constexpr (requires { row.grouped; }) total.rows += row.grouped.rows;
    for (const Column<Row>& column : columns) {
      if (FullName(column) != table.sum) continue;
      const std::uint64_t value = NumberOf(column.value(row));
      total.sum += value;
      if constexpr (requires { row.bounds; }) {
        const auto bounds = number ? row.bounds.Of(*number) : std::nullopt;
        total.lo += bounds ? bounds->lo : value;
      }
    }
  }
  return total;
}

TEST_CASE("groups: the rows of any field add up to those of the table",
          "[rmap][property]") {
  std::uint64_t joined = 0, tables = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(40u); ++seed) {
    const Report report = Of(seed, RowsOf::kProcess, seed % 3 == 2);
    VisitTables(report, [&](const auto& table, const auto& columns,
                            const auto& rows) {
      std::vector<std::string> fields = {"comm", "process", "user", "cgroup"};
      for (const auto& column : columns) {
        if (column.unit == Unit::kNone || column.unit == Unit::kId) {
          fields.push_back(FullName(column));
        }
      }
      for (const std::string& field : fields) {
        if (!where::CheckGroups(field, report, table.by).ok()) continue;
        CAPTURE(seed, table.name, field);
        Report sums = report;
        where::SumRows(field, table.by, sums, nullptr);
        CHECK(TotalOf(sums, table, columns) == TotalOf(report, table, columns));
        std::set<std::vector<std::string>> seen;
        for (const auto& row : sums.*table.rows) {
          for (const auto& column : columns) {
            if (FullName(column) != field || field == "comm") continue;
            CHECK(seen.insert({RenderedCell(column.value(row))}).second);
          }
        }
        joined += (sums.*table.rows).size() < rows.size() ? 1 : 0;
        ++tables;
      }
    });
  }
  CHECK(joined > tables / 4);
}

TEST_CASE("groups: a call path's row stands below those it was called from",
          "[rmap][property]") {
  std::uint64_t deep = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(60u); ++seed) {
    CAPTURE(seed);
    Report report = Of(seed, RowsOf::kProcess, /*lossy=*/false);
    where::SumRows(seed % 2 == 0 ? "comm" : "user", ReportBy::kPath, report,
                   nullptr);
    std::vector<std::string> above;
    for (const SegmentRow& row : report.segment_paths) {
      REQUIRE_FALSE(row.path.empty());
      REQUIRE(row.path.size() <= above.size() + 1);
      above.resize(row.path.size() - 1);
      CHECK(std::equal(above.begin(), above.end(), row.path.begin()));
      above = row.path;
      deep += row.path.size() > 1 ? 1 : 0;
    }
  }
  CHECK(deep > PropertyRuns(60u));
}

TEST_CASE("groups: mean and deviation are those of all calls",
          "[rmap][property]") {
  SegmentRow a, b;
  a.segment = b.segment = "app:handle";
  a.comm = b.comm = "app";
  a.pid = 1;
  b.pid = 2;
  a.calls = 2;  // of 10 and 20 ns
  a.wall = {.incl = 30,
            .excl = 30,
            .mean = 15,
            .stddev = 5,
            .min = 10,
            .max = 20,
            .p50 = 10,
            .p90 = 20,
            .p99 = 20};
  b.calls = 1;  // of 45 ns
  b.wall = {.incl = 45,
            .excl = 45,
            .mean = 45,
            .stddev = 0,
            .min = 45,
            .max = 45,
            .p50 = 45,
            .p90 = 45,
            .p99 = 45};
  Report report;
  report.segments = {a, b};
  where::SumRows("comm", ReportBy::kSegment, report, nullptr);
  REQUIRE(report.segments.size() == 1);
  const SegmentRow& sum = report.segments[0];
  CHECK(sum.calls == 3);
  CHECK(sum.wall.incl == 75);
  CHECK(sum.wall.mean == Approx(25));
  CHECK(sum.wall.stddev == Approx(14.7196));  // of 10, 20 and 45
  CHECK(sum.wall.min == 10);
  CHECK(sum.wall.max == 45);
  CHECK(sum.pid == 0);
  CHECK(sum.grouped.rows == 2);
  for (const Column<SegmentRow>& column : SegmentColumns(report, false)) {
    const bool absent =
        std::holds_alternative<std::monostate>(column.value(sum));
    const std::string name = FullName(column);
    if (name == "pid" || name == "wall_ns.p50" || name == "wall_ns.p99") {
      CHECK(absent);
    } else if (name == "segment" || name == "comm" || name == "wall_ns.max") {
      CHECK_FALSE(absent);
    }
  }
}

TEST_CASE("groups: what cannot be is refused, and what can is named") {
  const Report report = Of(1, RowsOf::kProcess, /*lossy=*/false);
  const auto message = [&](const char* field, ReportBy table) {
    return std::string(where::CheckGroups(field, report, table).message());
  };
  CHECK_THAT(message("comm", ReportBy::kCpu),
             Catch::Contains("rows of cpus have none; --by process, thread, "
                             "segment, path, hook, waker, preemptor, fault, "
                             "file, level have"));
  CHECK_THAT(message("thread", ReportBy::kSegment),
             Catch::Contains("--by thread, waker, preemptor, level have"));
  CHECK_THAT(message("segmnt", ReportBy::kSegment),
             Catch::Contains("did you mean `segment`?"));
  CHECK_THAT(message("path", ReportBy::kDefault),
             Catch::Contains("without --by"));
  CHECK(message("comm", ReportBy::kDefault).empty());
}

}  // namespace
}  // namespace countrace::rmap
