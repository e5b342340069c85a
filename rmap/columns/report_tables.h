// The tables of rows of a Report, each declared once, in one list: text, JSON,
// CSV, --where, --sort, --columns and --group-by iterate over it.
#ifndef COUNTRACE_RMAP_COLUMNS_REPORT_TABLES_H_
#define COUNTRACE_RMAP_COLUMNS_REPORT_TABLES_H_

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "logformat/description/number_names.h"
#include "rmap/columns/column_cells.h"
#include "rmap/columns/report_by.h"
#include "rmap/columns/report_columns.h"
#include "rmap/result/sample_table.h"
#include "rmap/result/tables.h"
#include "rmap/result/tree_table.h"

namespace countrace::rmap {

template <typename RowType>
struct Table {
  using Row = RowType;

  ReportBy by{};
  const char* option = "";  // of --by: "process"
  const char* name = "";    // in `countrace.report/1`: "processes"
  const char* title = "";   // in text
  const char* meaning = "";
  std::vector<Row> Report::*rows = nullptr;
  std::vector<Column<Row>> (*columns)(const Report&) = nullptr;
  // Columns by their full names. `sum`: adds up over rows, counting nothing
  // twice; `or_sum`: in its place where it is absent.
  const char* sum = "";
  const char* or_sum = "";
  // What differs between rows of one owner; rows are in this order, the largest
  // first.
  std::vector<const char*> keys{}, order{};
  bool (*recorded)(const Report&) = nullptr;  // null: always
  const char* not_recorded = "";              // the message, with the remedy
};

// In the schema's order. A new table is one more.
using TableList =
    std::tuple<Table<ProcessRow>, Table<ThreadRow>, Table<SegmentRow>,
               Table<SegmentRow>, Table<HookRow>, Table<WakerRow>,
               Table<PreemptorRow>, Table<SystemCallRow>, Table<CpuRow>,
               Table<FaultRow>, Table<FileRow>, Table<LevelRow>>;
const TableList& AllTables();

Table<FaultRow> FaultTable();  // fault_columns.cc
Table<FileRow> FileTable();    // file_columns.cc
Table<LevelRow> LevelTable();  // level_columns.cc
// The only one of a report with a Report::sample_table.
const Table<SampleRow>& SamplesTable();
// The only one of a report with a Report::tree_table.
const Table<TreeRow>& TreesTable();

template <typename Visit>
void ForEachTable(const Visit& visit) {
  std::apply([&](const auto&... table) { (visit(table), ...); }, AllTables());
}

// A value of `hook` as it is shown: "O_RDONLY|O_CLOEXEC". Those without names
// are as they are.
std::string ValueText(const logformat::NamedValues& of, const std::string& hook,
                      const std::string& text);

// A value of hooks that rows are by, as a column.
template <typename Row>
Column<Row> ValueColumn(const Report& report) {
  const std::string& name = report.wanted.value;
  const auto found = report.value_names.find(name);
  logformat::NamedValues of = {.integers = false};
  if (found != report.value_names.end()) of = found->second;
  const auto hook = [](const Row& row) -> const std::string& {
    if constexpr (std::is_same_v<Row, HookRow>) {
      return row.hook;
    } else {
      return row.segment;
    }
  };
  return {{name},
          name,
          of.integers ? Unit::kId : Unit::kNone,
          "A value of its hook; absent: it has none, or it is not known.",
          [=](const Row& row) -> Cell {
            if (!row.grouped.argument) return std::monostate();
            const std::string& text = *row.grouped.argument;
            if (of.integers) return IntegerCell(text);
            return ValueText(of, hook(row), text);
          }};
}

// The columns of `table`. Those of rows that --group-by added up begin with
// what the rows are for, and end with how many there are.
template <typename Row>
std::vector<Column<Row>> ColumnsOf(const Table<Row>& table,
                                   const Report& report) {
  std::vector<Column<Row>> columns = table.columns(report);
  const std::string& by = report.rows_by;
  if constexpr (requires(const Row& row) { row.host; }) {
    if (!report.hosts.empty() || by == "host") {
      columns.insert(columns.begin(), {{"host"},
                                       "host",
                                       Unit::kNone,
                                       "The host that it is of.",
                                       [](const Row& row) {
                                         return NameOrAbsent(row.host.Read());
                                       }});
    }
  }
  if constexpr (requires(const Row& row) { row.grouped; }) {
    if constexpr (std::is_same_v<Row, SegmentRow> ||
                  std::is_same_v<Row, HookRow>) {
      if (!report.wanted.value.empty()) {
        columns.insert(columns.begin(), ValueColumn<Row>(report));
      }
    }
    if (by.empty()) return columns;
    if (by == "user" || by == "cgroup") {
      columns.insert(
          columns.begin(),
          {{by}, by, Unit::kNone, "That of its processes.", [](const Row& row) {
             return NameOrAbsent(row.grouped.value.Read());
           }});
    }
    columns.push_back({{"rows"},
                       "rows",
                       Unit::kCount,
                       "Rows of the table that are added up in it.",
                       Field(&Row::grouped, &Grouped::rows)});
  }
  return columns;
}

// Calls visit(table, columns, rows) for each table.
template <typename AnyReport, typename Visit>
void VisitTables(AnyReport& report, const Visit& visit) {
  if (report.sample_table) {
    visit(SamplesTable(), SampleColumns(report), report.sample_table->rows);
    return;
  }
  if (report.tree_table) {
    visit(TreesTable(), TreeColumns(report), report.tree_table->rows);
    return;
  }
  ForEachTable([&](const auto& table) {
    visit(table, ColumnsOf(table, report), report.*table.rows);
  });
}

template <typename Row>
bool IsRecorded(const Table<Row>& table, const Report& report) {
  return table.recorded == nullptr || table.recorded(report);
}

// The name in `countrace.report/1`; "" for kDefault.
const char* TableName(ReportBy by);
// Why it has no rows in `report`, and the remedy; "": it was recorded.
const char* NotRecorded(ReportBy by, const Report& report);

// "text", "id", "count", "ns", "quality".
const char* UnitName(Unit unit);

// The name in CSV: "wall_ns.incl".
template <typename Row>
std::string FullName(const Column<Row>& column) {
  std::string name;
  for (const std::string& part : column.name) {
    if (!name.empty()) name += '.';
    name += part;
  }
  return name;
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_REPORT_TABLES_H_
