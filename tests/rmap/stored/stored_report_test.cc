// A report that is read back from the tables that were made of it is the
// report: every rendering of it is the same, byte for byte.
//
// The traces: those of all cases and of all kinds of machines, with losses,
// parts, marks, event sets, hooks. Besides, rows that none of them has.
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "rmap/columns/list_text.h"
#include "rmap/columns/report_tables.h"
#include "rmap/report/report_views.h"
#include "rmap/samples/names/blocked_places.h"
#include "rmap/stored/stored_report.h"
#include "tests/rmap/case_trace.h"
#include "tests/rmap/machine_families.h"
#include "tests/rmap/memory_trace.h"
#include "tests/rmap/stored/report_database.h"

namespace countrace::rmap {
namespace {

using test_support::Build;
using test_support::MemoryTrace;
using test_support::ReportDatabase;

std::vector<ReportBy> Tables() {
  std::vector<ReportBy> tables = {ReportBy::kDefault};
  ForEachTable([&](const auto& table) { tables.push_back(table.by); });
  return tables;
}

// All that can be shown of it.
std::vector<std::string> Shown(const Report& report) {
  std::vector<std::string> shown;
  for (const ReportBy by : Tables()) {
    const RenderOptions options{.by = by, .max_rows = 0, .bounds = true};
    shown.push_back(RenderText(report, options));
    shown.push_back(RenderCsv(report, options));
  }
  shown.push_back(RenderJson(report, {}));
  return shown;
}

// The texts may have a hundred thousand lines: names the first that differs.
void CheckSame(const std::string& expected, const std::string& found) {
  if (expected == found) return;
  std::size_t at = 0;
  while (expected[at] == found[at]) ++at;
  const std::size_t from = expected.rfind('\n', at) + 1;
  CHECK(expected.substr(from, 400) == found.substr(from, 400));
}

// What `report` makes of the trace and of the database.
void CheckStored(MemoryTrace& trace, const TableRange& range = {}) {
  const ReportDatabase database;
  const absl::Status written = database.Write(trace, range);
  CAPTURE(written.message());
  REQUIRE(written.ok());
  for (const bool all : {true, false}) {
    const WantedRows wanted{.preemptors = all, .samples = all};
    auto direct = Reconstruct(trace, {.rows = wanted, .range = range});
    REQUIRE(direct.ok());
    NameBlockedPlaces(*direct);
    auto stored = ReadStoredReport(database.path(), {});
    CAPTURE(stored.status().message());
    REQUIRE(stored.ok());
    REQUIRE(KeepWanted(wanted, stored->report).ok());
    const auto expected = Shown(*direct), found = Shown(stored->report);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CheckSame(expected[i], found[i]);
    }
  }
}

TEST_CASE("stored: reports of all cases are the same", "[rmap][stored]") {
  for (const std::filesystem::path& path : test_support::Cases()) {
    CAPTURE(path.filename().string());
    MemoryTrace trace;
    Build(test_support::ReadCase(path).events, trace);
    CheckStored(trace);
  }
}

TEST_CASE("stored: reports of all kinds of machines are the same",
          "[rmap][stored]") {
  constexpr std::uint32_t kFirst = 2, kOneIn = 50;
  for (const auto& family : test_support::MachineFamilies()) {
    for (std::uint32_t seed = 0; seed < family.machines; ++seed) {
      if (seed >= kFirst && seed % kOneIn != 0) continue;
      CAPTURE(family.name, seed);
      test_support::Machine machine = family.make(seed);
      logformat::TraceInfo& info = machine.run.trace->mutable_info();
      // What is chosen when it is reported is recorded here.
      const GatingRequest& gating = machine.options.gating;
      if (gating.count) info.gating = gating.count;
      for (const auto& mark : gating.marks) {
        info.marks.push_back(logformat::MarkText(mark));
      }
      info.own_bpf_ns = 7'000'003;
      info.own_bpf_sampled_ns = 1;
      info.own_hook_cpu_ps = 90'000;
      info.own_hook_ps = 40'000;
      info.own_hook_dump_ps = 70'000;
      info.triggers = {{5, "a", "b > c"}, {6, "", "d"}};
      CheckStored(*machine.run.trace, machine.options.range);
    }
  }
}

TEST_CASE("stored: lists keep names that look like several", "[rmap][stored]") {
  const std::string names[] = {"a",   "a > b", "> a", "a >",     "\\",
                               "\\>", " ",     "T>",  "\\ > \\", "a \\"};
  for (const std::string& first : names) {
    for (const std::string& second : names) {
      const std::vector<std::string> list = {first, second, first};
      CAPTURE(ListText(list));
      CHECK(ListOf(ListText(list)) == list);
    }
  }
  CHECK(ListText({"a", "b::c<d>"}) == "a > b::c<d>");
  CHECK(ListOf(ListText({})).empty());
}

}  // namespace
}  // namespace countrace::rmap
