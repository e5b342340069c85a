// docs/tables.md: every table and column, as they are declared.
// COUNTRACE_UPDATE_GOLDEN=1 rewrites what is below the mark.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_format.h"
#include "rmap/columns/report_tables.h"

namespace countrace::rmap {
namespace {

constexpr char kMark[] = "<!-- printed by rmap_tables_document_test -->\n";

const char* UnitName(Unit unit) {
  switch (unit) {
    case Unit::kNone:
      return "text";
    case Unit::kId:
      return "id";
    case Unit::kCount:
      return "count";
    case Unit::kNanoseconds:
      return "ns";
    case Unit::kQuality:
      return "quality";
  }
  return "";
}

// A report of a trace that has everything, with rows added up.
Report Everything() {
  Report report;
  report.events.push_back({.name = "EVENT", .scaled = true});
  report.wakeups = report.system_calls = report.block_points = true;
  report.interrupts = report.owners = true;
  report.wanted = {.preemptors = true,
                   .wakers_of = RowsOf::kThread,
                   .preemptors_of = RowsOf::kThread,
                   .samples = true};
  report.rows_by = "comm";
  SegmentRow segment;
  segment.errors.emplace()[2] = 1;  // one column stands for those of all errnos
  report.segments.push_back(segment);
  SystemCallRow call;
  call.errors[2] = 1;
  report.system_call_rows.push_back(call);
  return report;
}

std::string Tables() {
  std::string out;
  const Report report = Everything();
  VisitTables(report, [&](const auto& table, const auto& columns, const auto&) {
    absl::StrAppendFormat(
        &out,
        "\n## %s\n\n`--by %s`: %s\n\n| column | unit | in text | meaning |\n"
        "|---|---|---|---|\n",
        table.name, table.option, table.meaning);
    for (const auto& column : columns) {
      INFO(table.name << ": " << FullName(column));
      CHECK_FALSE(column.meaning.empty());
      absl::StrAppendFormat(&out, "| `%s` | %s | %s | %s |\n", FullName(column),
                            UnitName(column.unit), column.title,
                            column.meaning);
    }
  });
  return out;
}

TEST_CASE("tables: the document lists every table and column", "[rmap]") {
  std::stringstream text;
  text << std::ifstream(COUNTRACE_TABLES_DOCUMENT).rdbuf();
  const std::size_t mark = text.str().find(kMark);
  REQUIRE(mark != std::string::npos);
  const std::string head = text.str().substr(0, mark) + kMark;
  const std::string expected = head + Tables();
  if (std::getenv("COUNTRACE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(COUNTRACE_TABLES_DOCUMENT) << expected;
  } else {
    CHECK(text.str() == expected);
  }
}

}  // namespace
}  // namespace countrace::rmap
