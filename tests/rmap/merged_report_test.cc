// Reports of several hosts as one: every number of each host is there as it is
// in the host's own report, and the books are sums.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rmap/columns/report_tables.h"
#include "rmap/hosts/host_clock.h"
#include "rmap/hosts/merged_report.h"
#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"
#include "rmap/report/report_views.h"
#include "rmap/where/row_groups.h"
#include "tests/rmap/hooked_program.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::HookedProgram;
using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Simulate;
using test_support::Simulation;

// A machine with lost records, or one whose events are in sets.
Report ReportOf(std::uint32_t seed) {
  if (seed % 3 == 2) {
    auto report = Reconstruct(*HookedProgram(seed), {});
    REQUIRE(report.ok());
    return *std::move(report);
  }
  Simulation run = Simulate(RandomOptions(seed));
  if (seed % 2 == 0) {
    run.trace->Remove([seed](std::size_t i) { return i % 37 == seed % 37; },
                      /*declare=*/true);
  }
  auto report = Reconstruct(*run.trace, {.rows = {.preemptors = true}});
  REQUIRE(report.ok());
  return *std::move(report);
}

HostClock Shifted(std::int64_t offset_ns) {
  return {"test", 0, offset_ns, ClockLine{}, {ClockLine{}}};
}

bool IsInstant(const std::string& name) {
  return name == "first_seen_ns" || name == "last_seen_ns";
}

// Rows of `host` are those of its own report, in their order, number by number.
template <typename Row>
void CompareRows(const Table<Row>& table, const Report& own,
                 const std::string& host, std::uint64_t offset_ns,
                 const Report& all) {
  const auto columns = table.columns(own);
  const auto merged = table.columns(all);
  std::vector<const Row*> rows;
  for (const Row& row : all.*table.rows) {
    if (row.host.Read() == host) rows.push_back(&row);
  }
  const std::vector<Row>& expected = own.*table.rows;
  REQUIRE(rows.size() == expected.size());
  if (rows.empty()) return;  // it has columns for every errno
  for (const Column<Row>& column : columns) {
    const std::string name = FullName(column);
    const auto there = std::ranges::find_if(
        merged, [&](const auto& other) { return FullName(other) == name; });
    INFO(table.name << "." << name);
    REQUIRE((there != merged.end()));
    const auto number = NumberNamed(own.events, name);
    const auto number_there = NumberNamed(all.events, name);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Cell cell = column.value(expected[i]);
      if (IsInstant(name)) cell = std::get<std::uint64_t>(cell) + offset_ns;
      INFO(table.name << "." << name << " row " << i);
      REQUIRE((there->value(*rows[i]) == cell));
      if constexpr (requires { expected[i].bounds; }) {
        REQUIRE(number.has_value() == number_there.has_value());
        if (!number) continue;
        const auto before = expected[i].bounds.Of(*number);
        const auto after = rows[i]->bounds.Of(*number_there);
        REQUIRE(before.has_value() == after.has_value());
        if (!before) continue;
        REQUIRE(before->lo == after->lo);
        REQUIRE(before->hi == after->hi);
      }
    }
  }
}

void CompareBooks(const std::vector<Report>& own, const Report& all) {
  for (const BooksRow& sum : BooksRows(all)) {
    Books expected{};
    for (const Report& report : own) {
      for (const BooksRow& part : BooksRows(report)) {
        if (part.event != sum.event) continue;
        expected.total += part.books.total;
        expected.processes += part.books.processes;
        expected.idle += part.books.idle;
        expected.interrupts += part.books.interrupts;
        expected.outside += part.books.outside;
        expected.unattributed += part.books.unattributed;
        expected.residual += part.books.residual;
      }
    }
    CAPTURE(sum.event);
    REQUIRE(sum.books.total == expected.total);
    REQUIRE(sum.books.processes == expected.processes);
    REQUIRE(sum.books.idle == expected.idle);
    REQUIRE(sum.books.interrupts == expected.interrupts);
    REQUIRE(sum.books.outside == expected.outside);
    REQUIRE(sum.books.unattributed == expected.unattributed);
    REQUIRE(sum.books.residual == expected.residual);
  }
}

Report Merged(const std::vector<Report>& own,
              const std::vector<std::int64_t>& offsets) {
  std::vector<HostReport> parts;
  for (std::size_t i = 0; i < own.size(); ++i) {
    parts.push_back({"host" + std::to_string(i), Shifted(offsets[i]), own[i]});
  }
  return MergeReports(std::move(parts));
}

TEST_CASE("merged report: every number is the host's own, books are sums",
          "[rmap][property]") {
  const std::vector<std::int64_t> offsets = {0, 7'000'000, 5'000};
  for (std::uint32_t seed = 0; seed < PropertyRuns(60u); ++seed) {
    CAPTURE(seed);
    std::vector<Report> own;
    for (std::uint32_t host = 0; host < 3; ++host) {
      own.push_back(ReportOf(3 * seed + host));
    }
    const Report all = Merged(own, offsets);
    for (std::size_t host = 0; host < own.size(); ++host) {
      CAPTURE(host);
      ForEachTable([&](const auto& table) {
        CompareRows(table, own[host], "host" + std::to_string(host),
                    static_cast<std::uint64_t>(offsets[host]), all);
      });
    }
    CompareBooks(own, all);
    std::uint64_t lost = 0;
    for (const Report& report : own) lost += report.loss.discarded_events;
    CHECK(all.loss.discarded_events == lost);
    // The renderings take it, each host is named.
    for (const std::string& text :
         {RenderReport(all, {.max_rows = 0}),
          RenderJson(all, {.by = ReportBy::kProcess}),
          RenderCsv(all, {.by = ReportBy::kThread})}) {
      for (const char* name : {"host0", "host1", "host2"}) {
        CHECK(text.find(name) != std::string::npos);
      }
    }
  }
}

TEST_CASE("merged report: --by host adds up what each host's processes have",
          "[rmap]") {
  std::vector<Report> own;
  for (const std::uint32_t seed : {3u, 4u, 10u}) own.push_back(ReportOf(seed));
  Report all = Merged(own, {0, 0, 0});
  where::SumRows("host", ReportBy::kProcess, all, nullptr);
  REQUIRE(all.processes.size() == own.size());
  for (const ProcessRow& row : all.processes) {
    const std::string& host = row.host.Read();
    REQUIRE(host.size() == 5);
    const Report& report = own.at(static_cast<std::size_t>(host[4] - '0'));
    std::uint64_t on_cpu = 0, dispatches = 0;
    for (const ProcessRow& process : report.processes) {
      on_cpu += process.on_cpu_ns.value_or(0);
      dispatches += process.dispatches;
    }
    CHECK(row.on_cpu_ns == on_cpu);
    CHECK(row.dispatches == dispatches);
    CHECK(row.processes == report.processes.size());
  }
}

TEST_CASE("merged report: one name on two hosts is one sum without a host",
          "[rmap]") {
  const Report one = ReportOf(4);
  Report all = Merged({one, one}, {0, 0});
  where::SumRows("comm", ReportBy::kProcess, all, nullptr);
  Report alone = one;
  where::SumRows("comm", ReportBy::kProcess, alone, nullptr);
  REQUIRE(all.processes.size() == alone.processes.size());
  for (std::size_t i = 0; i < alone.processes.size(); ++i) {
    CHECK(all.processes[i].comm == alone.processes[i].comm);
    CHECK(all.processes[i].host.Read().empty());
    CHECK(all.processes[i].dispatches == 2 * alone.processes[i].dispatches);
  }
}

}  // namespace
}  // namespace countrace::rmap
