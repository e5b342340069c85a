// docs/tables.md: every table and column, as they are declared.
// COUNTRACE_UPDATE_GOLDEN=1 rewrites what is below the mark.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>

#include "absl/strings/str_format.h"
#include "rmap/columns/report_tables.h"
#include "rmap/export/report_table.h"
#include "rmap/export/streamed_tables.h"
#include "rmap/result/samples.h"

namespace countrace::rmap {
namespace {

constexpr char kMark[] = "<!-- printed by rmap_tables_document_test -->\n";

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

std::string Heading(const char* name, const char* options,
                    const char* meaning) {
  return absl::StrFormat(
      "\n## %s\n\n%s: %s\n\n| column | unit | in text | meaning |\n"
      "|---|---|---|---|\n",
      name, options, meaning);
}

template <typename Row>
std::string Line(const Column<Row>& column) {
  INFO(FullName(column));
  CHECK_FALSE(column.meaning.empty());
  return absl::StrFormat("| `%s` | %s | %s | %s |\n", FullName(column),
                         UnitName(column.unit), column.title, column.meaning);
}

// The columns that any table of samples from `first` to `last` has.
std::string OfSamples(SampleBy first, SampleBy last) {
  Report report;
  Samples samples;
  samples.events.resize(2);  // they have a column
  report.samples = std::make_shared<const Samples>(samples);
  std::set<std::string> names;
  std::string out;
  for (auto by = first; by <= last;
       by = static_cast<SampleBy>(static_cast<int>(by) + 1)) {
    SampleRow row;
    row.in = "segment";
    row.weights = 1;
    report.sample_table = std::make_shared<SampleTable>(
        SampleTable{.by = by, .group_by = "thread", .rows = {row}});
    for (const auto& column : SampleColumns(report)) {
      if (names.insert(FullName(column)).second) out += Line(column);
    }
  }
  return out;
}

std::string Exported(const TableSchema& table) {
  std::string out =
      Heading(table.name.c_str(), "`export`, `query`", table.meaning.c_str());
  for (const TableColumn& column : table.columns) {
    CHECK_FALSE(column.meaning.empty());
    out += absl::StrFormat("| `%s` | %s | | %s |\n", column.name,
                           UnitName(column.unit), column.meaning);
  }
  return out;
}

// What `export` and `query` have besides: columns, and tables.
std::string OnlyExported(const Report& report) {
  std::string out =
      Heading("more columns", "`export`, `query`",
              "of tables above; with them `report` can be made of a database.");
  VisitTables(report, [&](const auto& table, const auto&, const auto&) {
    using Row = typename std::decay_t<decltype(table)>::Row;
    for (auto& column :
         StoredColumns(report, static_cast<const Row*>(nullptr))) {
      column.name.insert(column.name.begin(), table.name);
      out += Line(column);
    }
  });
  out += Exported(BooksTable(report).schema());
  out += Exported(EventsTable(report).schema());
  for (const TableSchema& table : StreamedTables()) out += Exported(table);
  return out;
}

std::string Tables() {
  std::string out;
  const Report report = Everything();
  VisitTables(report, [&](const auto& table, const auto& columns, const auto&) {
    out +=
        Heading(table.name, absl::StrFormat("`--by %s`", table.option).c_str(),
                table.meaning);
    for (const auto& column : columns) out += Line(column);
  });
  out += Heading("samples of code",
                 "`--by function`, `dso`, `address`, `line`, `source`, "
                 "`instruction`, `instruction-class`, `function,instruction`, "
                 "`calltree`, `callees`, `callers`",
                 "each has some of these; amounts are ns if all sampled events "
                 "are clocks.");
  out += OfSamples(SampleBy::kFunction, SampleBy::kCallers);
  out += Heading("samples of data",
                 "`--by data`, `data-page`, `data-address`, `data-source`",
                 "likewise.");
  out += OfSamples(SampleBy::kData, SampleBy::kDataSource);
  out += Heading("tree", "`report --tree`, `diff --tree`",
                 "counts as parts of parts, by rules that nest; a row for each "
                 "node, of each owner.");
  Report tree;
  tree.tree_table = std::make_shared<TreeTable>();
  for (const auto& column : TreeColumns(tree)) out += Line(column);
  return out + OnlyExported(report);
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
