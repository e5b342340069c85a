#include <type_traits>

#include "absl/strings/str_format.h"
#include "base/text/csv_field.h"
#include "base/text/name_escape.h"
#include "rmap/columns/report_tables.h"
#include "rmap/report/report_views.h"

namespace countrace::rmap {

namespace {

std::string ToText(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> std::string {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<Value, bool>) {
          return value ? "true" : "false";
        } else if constexpr (std::is_same_v<Value, double>) {
          return absl::StrFormat("%.3f", value);
        } else if constexpr (std::is_same_v<Value, std::string>) {
          return base::EscapeName(value);
        } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
          std::string out;
          for (const std::string& name : value) {
            if (!out.empty()) out += " > ";
            out += base::EscapeName(name);
          }
          return out;
        } else {
          return std::to_string(value);
        }
      },
      cell);
}

template <typename Row>
std::string Table(const std::vector<Column<Row>>& columns,
                  const std::vector<Row>& rows) {
  std::string out;
  for (const Column<Row>& column : columns) {
    if (&column != columns.data()) out += ',';
    out += base::CsvField(base::EscapeName(FullName(column)));
  }
  out += "\r\n";
  for (const Row& row : rows) {
    for (const Column<Row>& column : columns) {
      if (&column != columns.data()) out += ',';
      out += base::CsvField(ToText(column.value(row)));
    }
    out += "\r\n";
  }
  return out;
}

}  // namespace

std::string RenderCsv(const Report& report, ReportBy by,
                      const RowSelection* selection) {
  if (by == ReportBy::kDefault) by = ReportBy::kProcess;
  std::string out;
  VisitTables(report,
              [&](ReportBy table, const auto& columns, const auto& rows) {
                if (table != by) return;
                out = Table(columns, SelectedRows(rows, selection, table));
              });
  return out;
}

}  // namespace countrace::rmap
