// One table of a report as it is outside of the program: the columns of
// rmap/columns/, with the limits of each number, and keys.
#ifndef COUNTRACE_RMAP_EXPORT_REPORT_TABLE_H_
#define COUNTRACE_RMAP_EXPORT_REPORT_TABLE_H_

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "rmap/columns/report_tables.h"
#include "rmap/columns/stored_columns.h"
#include "rmap/export/table_schema.h"

namespace countrace::rmap {

inline constexpr char kBooksTable[] = "books", kEventsTable[] = "events";

inline ValueType TypeOf(Unit unit, bool is_real) {
  if (unit == Unit::kNone || unit == Unit::kQuality) return ValueType::kText;
  return is_real ? ValueType::kReal : ValueType::kInteger;
}

template <typename Row>
struct TableField {
  Column<Row> column;
  bool of_report = true;  // see TableColumn
  // The next two fields are the limits of this number.
  std::optional<Number> limits = std::nullopt;
};

template <typename Row>
class ReportTable {
 public:
  ReportTable(std::string name, std::string meaning, const Report& report,
              const std::vector<Column<Row>>& columns) {
    schema_.name = std::move(name);
    schema_.meaning = std::move(meaning);
    AddKeys();
    for (const Column<Row>& column : columns) {
      Add(column, /*of_report=*/true);
      if constexpr (requires(const Row& row) { row.bounds; }) {
        AddLimits(column, NumberNamed(report.events, FullName(column)));
      }
    }
    if constexpr (requires(const Row& row) { row.qualities; }) AddQualities();
    for (const auto& column :
         StoredColumns(report, static_cast<const Row*>(nullptr))) {
      Add(column, /*of_report=*/false);
    }
  }

  const TableSchema& schema() const { return schema_; }
  // One for each column of the schema.
  const std::vector<TableField<Row>>& fields() const { return fields_; }

 private:
  void Add(const Column<Row>& column, bool of_report) {
    schema_.columns.push_back({FullName(column),
                               TypeOf(column.unit, column.is_real), column.unit,
                               column.meaning, of_report});
    const std::string& name = schema_.columns.back().name;
    schema_.columns.back().is_instant =
        name == "first_seen_ns" || name == "last_seen_ns";
    fields_.push_back({column, of_report});
  }
  void AddKey(const char* name, const char* meaning,
              const CellAccess<Row>& value) {
    Add({{name}, "", Unit::kId, meaning, value}, /*of_report=*/false);
    schema_.indexes.push_back({name});
  }
  // True of threads and processes: what other rows mean by `thread`, `process`.
  void AddKeys() {
    if constexpr (std::is_same_v<Row, ThreadRow>) {
      AddKey("thread", "What other tables mean by it: tids are used again.",
             Field(&Row::index));
    }
    if constexpr (requires(const Row& row) { row.process; }) {
      AddKey("process", "Its row in processes (pids are used again).",
             Field(&Row::process));
    } else if constexpr (requires(const Row& row) { row.index; }) {
      AddKey("process", "What other tables mean by it: pids are used again.",
             Field(&Row::index));
    }
  }
  // Those of `of`, which was just added; an exact number is both.
  void AddLimits(const Column<Row>& of, std::optional<Number> number) {
    if (!number) return;
    fields_.back().limits = number;
    const auto add = [&](const char* name, const char* meaning,
                         std::uint64_t Bounds::*limit) {
      Column<Row> column = of;
      column.name.emplace_back(name);
      column.meaning = meaning;
      column.value = [value = of.value, number, limit](const Row& row) {
        const auto bounds = row.bounds.Of(*number);
        if (!bounds) return value(row);
        const std::uint64_t at = (*bounds).*limit;
        return at == Bounds::kNone ? Cell() : Cell(at);
      };
      Add(column, /*of_report=*/false);
    };
    add("lo", "Lower limit of that.", &Bounds::lo);
    add("hi", "Upper limit; absent: there is none.", &Bounds::hi);
  }
  void AddQualities() {
    const auto set = [](Row& row, const Cell& cell) {
      const auto* names = std::get_if<std::string>(&cell);
      if (names == nullptr) return IsAbsent(cell);
      for (const auto name : absl::StrSplit(*names, ',')) {
        const auto quality = QualityNamed({name.data(), name.size()});
        if (!quality) return false;
        row.qualities.Add(*quality);
      }
      return true;
    };
    Add({{"qualities"},
         "",
         Unit::kQuality,
         "Why numbers are not exact, all reasons; absent: they are.",
         CellPair{[](const Row& row) {
                    return NameOrAbsent(
                        absl::StrJoin(row.qualities.Names(), ","));
                  },
                  set}},
        /*of_report=*/false);
  }

  TableSchema schema_;
  std::vector<TableField<Row>> fields_;
};

// Calls visit(table, rows, by) for each table; `recorded`: of which there were
// records.
template <typename AnyReport, typename Visit>
void VisitReportTables(AnyReport& report, bool recorded, const Visit& visit) {
  VisitTables(report, [&](const auto& table, const auto& columns, auto& rows) {
    using Row = typename std::decay_t<decltype(table)>::Row;
    if (recorded && !IsRecorded(table, report)) return;
    visit(ReportTable<Row>(table.name, table.meaning, report, columns), rows,
          table.by);
  });
}

inline ReportTable<BooksRow> BooksTable(const Report& report) {
  return {kBooksTable, "Where the counts of each event went.", report,
          BooksColumns()};
}
inline ReportTable<EventRow> EventsTable(const Report& report) {
  return {kEventsTable, "The events, in the order of their columns.", report,
          EventTableColumns()};
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_REPORT_TABLE_H_
