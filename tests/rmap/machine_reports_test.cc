// The reports of some hundred simulated machines, all numbers and limits, and
// what an observer sees, are those of machine_reports.golden.
//
// The property tests check that numbers of such machines are true and that
// their limits hold the truth; this one notices that a number, a mark or the
// width of a limit changes. A line has ten machines, with a checksum of each
// table. If a change is intended: COUNTRACE_MACHINE_REPORTS=DIR writes the
// reports as text, before it and after it; review their difference, then
// rewrite the checksums with COUNTRACE_UPDATE_GOLDEN=1.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "rmap/pipeline.h"
#include "tests/rmap/machine_families.h"
#include "tests/rmap/report_lines.h"
#include "tests/rmap/timeline_lines.h"

namespace countrace::rmap {
namespace {

using test_support::Checksum;
using test_support::Machine;
using test_support::MachineFamily;
using test_support::ShowTables;
using test_support::TableLines;
using test_support::TimelineLines;

// What report_lines.h leaves out: statistics of calls, and what estimates rest
// on.
template <typename Rows>
void AppendScaled(const char* table, const Rows& rows, std::ostream& out) {
  for (const auto& row : rows) {
    for (const auto& count : row.scaled) {
      if (!count) continue;
      out << absl::StrFormat("%s %d +-%.6g %d %d %d %d\n", table, count->value,
                             count->standard_error.value_or(-1), count->counted,
                             count->running, count->enabled, count->slices);
    }
  }
}
std::string Details(const Report& report) {
  std::ostringstream out;
  for (const std::string& mark : report.marks) out << mark << "\n";
  AppendScaled("process", report.processes, out);
  AppendScaled("thread", report.threads, out);
  AppendScaled("cpu", report.cpu_rows, out);
  for (const CpuRow& row : report.cpu_rows) {
    out << "cpu";
    for (const auto& count : row.counts) {
      out << " " << (count ? std::to_string(*count) : "?");
    }
    out << "\n";
  }
  for (const auto* rows : {&report.segments, &report.segment_paths}) {
    for (const SegmentRow& row : *rows) {
      out << absl::StrFormat("segment %.6g %.6g %d %d %d %d %d", row.wall.mean,
                             row.wall.stddev, row.wall.min, row.wall.max,
                             row.wall.p50, row.wall.p90, row.wall.p99);
      for (const auto& count : row.counts) {
        if (!count || !count->estimate) continue;
        const SegmentEstimate& estimate = *count->estimate;
        out << absl::StrFormat(" %d +-%.6g %.6g %d", estimate.counted,
                               estimate.standard_error.value_or(-1),
                               estimate.excl_standard_error.value_or(-1),
                               estimate.slices);
      }
      out << "\n";
    }
  }
  for (const Books& books : report.books) {
    out << "books " << books.known << " " << books.doubt.wrapped_intervals
        << " " << books.doubt.wrapped_ns << " "
        << books.doubt.went_back_intervals << " " << books.doubt.went_back_ns
        << " " << books.doubt.other_mmcr_intervals << " "
        << books.doubt.other_mmcr_ns << "\n";
    if (!books.scaled) continue;
    const ScaledBooks& scaled = *books.scaled;
    for (const auto& account :
         {scaled.processes, scaled.idle, scaled.interrupts, scaled.outside,
          scaled.unattributed}) {
      out << " " << (account ? std::to_string(*account) : "?");
    }
    out << absl::StrFormat(" %d +-%.6g %.6g %d %d\n", scaled.total,
                           scaled.standard_error.value_or(-1), scaled.freedom,
                           scaled.running_ns, scaled.enabled_ns);
  }
  return out.str();
}

std::vector<TableLines> TablesOf(const MachineFamily& family,
                                 std::uint32_t seed) {
  Machine machine = family.make(seed);
  logformat::TraceInfo& info = machine.run.trace->mutable_info();
  info.own_bpf_ns = 7'000'003;
  info.own_bpf_sampled_ns = 1;
  info.own_hook_cpu_ps = 90'000;
  info.own_hook_ps = 40'000;
  info.own_hook_dump_ps = 70'000;
  const auto alone = Reconstruct(*machine.run.trace, machine.options);
  REQUIRE(alone.ok());
  TimelineLines timeline(/*call_counts=*/seed % 3 != 0);
  machine.options.observer = &timeline;
  machine.run.trace->set_keeps_records(seed % 2 == 0);
  const auto report = Reconstruct(*machine.run.trace, machine.options);
  REQUIRE(report.ok());
  // Without an observer threads may be read in runs; dumps at hooks are copied
  // if records do not stay in memory.
  CHECK(test_support::Show(*alone) == test_support::Show(*report));
  for (const Books& books : report->books) CHECK(books.residual == 0);
  std::vector<TableLines> tables = ShowTables(*report);
  tables.push_back({"details", Details(*report)});
  tables.push_back({"timeline", timeline.lines()});
  return tables;
}

// A line for ten machines each.
std::vector<std::string> Lines(const char* directory) {
  constexpr std::uint32_t kMachines = 10;
  std::vector<std::string> lines;
  for (const MachineFamily& family : test_support::MachineFamilies()) {
    for (std::uint32_t first = 0; first < family.machines; first += kMachines) {
      std::vector<std::pair<std::string, std::uint32_t>> sums;
      for (std::uint32_t seed = first; seed < first + kMachines; ++seed) {
        CAPTURE(family.name, seed);
        std::string text;
        const std::vector<TableLines> tables = TablesOf(family, seed);
        sums.resize(tables.size(), {"", test_support::kChecksumOfNothing});
        for (std::size_t i = 0; i < tables.size(); ++i) {
          sums[i].first = tables[i].table;
          sums[i].second = Checksum(sums[i].second, tables[i].lines);
          text += "== " + tables[i].table + "\n" + tables[i].lines;
        }
        if (directory == nullptr) continue;
        std::ofstream(
            absl::StrFormat("%s/%s-%03d", directory, family.name, seed))
            << text;
      }
      std::string line = absl::StrFormat("%s %d..%d", family.name, first,
                                         first + kMachines - 1);
      for (const auto& [table, sum] : sums) {
        line += absl::StrFormat(" %s %08x", table, sum);
      }
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

TEST_CASE("machines: every number, mark and limit is the one of before",
          "[rmap][property]") {
  const std::vector<std::string> lines =
      Lines(std::getenv("COUNTRACE_MACHINE_REPORTS"));
  if (std::getenv("COUNTRACE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream out(COUNTRACE_MACHINE_REPORTS);
    for (const std::string& line : lines) out << line << "\n";
  }
  std::ifstream in(COUNTRACE_MACHINE_REPORTS);
  std::vector<std::string> expected;
  for (std::string line; std::getline(in, line);) expected.push_back(line);
  REQUIRE(expected.size() == lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK(lines[i] == expected[i]);
}

}  // namespace
}  // namespace countrace::rmap
