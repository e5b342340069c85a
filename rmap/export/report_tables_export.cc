#include "rmap/export/report_tables_export.h"

#include <deque>
#include <type_traits>

#include "rmap/columns/list_text.h"
#include "rmap/export/report_table.h"

namespace countrace::rmap {
namespace {

// A cell as a value; `texts` keeps what it points to.
Value ValueOf(const Cell& cell, std::deque<std::string>& texts) {
  return std::visit(
      [&](const auto& value) -> Value {
        using Type = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Type, std::monostate>) {
          return {};
        } else if constexpr (std::is_same_v<Type, bool>) {
          return std::int64_t{value};
        } else if constexpr (std::is_same_v<Type, std::uint64_t>) {
          return Integer(value);
        } else if constexpr (std::is_same_v<Type, std::string>) {
          return std::string_view(texts.emplace_back(value));
        } else if constexpr (std::is_same_v<Type, std::vector<std::string>>) {
          return std::string_view(texts.emplace_back(ListText(value)));
        } else {
          return value;
        }
      },
      cell);
}

template <typename Row>
void WriteRows(const ReportTable<Row>& table, const std::vector<Row>& rows,
               TableWriter& writer) {
  RowWriter& to = *writer.Begin(table.schema());
  std::vector<Value> values;
  std::deque<std::string> texts;
  for (const Row& row : rows) {
    values.clear();
    texts.clear();
    for (const TableField<Row>& field : table.fields()) {
      values.push_back(ValueOf(field.column.value(row), texts));
    }
    to.Write(values);
  }
}

}  // namespace

std::vector<TableSchema> ReportTablesOf(const Report& report, bool recorded) {
  std::vector<TableSchema> schemas;
  VisitReportTables(report, recorded,
                    [&](const auto& table, const auto&, ReportBy) {
                      schemas.push_back(table.schema());
                    });
  schemas.push_back(BooksTable(report).schema());
  schemas.push_back(EventsTable(report).schema());
  return schemas;
}

void WriteReportTables(const Report& report, const RowSelection* selection,
                       TableWriter& writer) {
  const auto takes = [&](const auto& table) {
    return writer.Takes(table.schema().name);
  };
  VisitReportTables(report, /*recorded=*/true,
                    [&](const auto& table, const auto& rows, ReportBy by) {
                      if (!takes(table)) return;
                      std::decay_t<decltype(rows)> kept;
                      WriteRows(table, SelectedRows(rows, selection, by, kept),
                                writer);
                    });
  if (const auto books = BooksTable(report); takes(books)) {
    WriteRows(books, BooksRows(report), writer);
  }
  if (const auto events = EventsTable(report); takes(events)) {
    WriteRows(events, EventRows(report), writer);
  }
}

}  // namespace countrace::rmap
