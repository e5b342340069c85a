#include "rmap/report/bounds_text.h"

#include <algorithm>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "base/text/text_table.h"
#include "rmap/columns/report_tables.h"
#include "rmap/report/text_tables.h"

namespace countrace::rmap {
namespace {

using Align = base::TextTable::Align;

// What a row is for: its cells before the first number.
template <typename Row>
std::string RowName(const std::vector<Column<Row>>& columns, const Row& row) {
  std::string name;
  for (const Column<Row>& column : columns) {
    if (column.unit != Unit::kNone && column.unit != Unit::kId) break;
    const Cell cell = column.value(row);
    if (std::holds_alternative<std::monostate>(cell)) continue;
    const std::string text = FormatCell(cell, column.unit);
    if (text.empty()) continue;
    if (!name.empty()) name += ' ';
    if (column.unit == Unit::kId) name += column.name.back() + ' ';
    name += text;
  }
  return name;
}

std::string Quantity(std::uint64_t value, Unit unit) {
  if (value == Bounds::kNone) return "none";
  return unit == Unit::kNanoseconds
             ? base::FormatNanoseconds(static_cast<double>(value))
             : base::FormatCount(value);
}

std::string Value(const Cell& cell, Unit unit) {
  const auto* value = std::get_if<std::uint64_t>(&cell);
  return value == nullptr ? "-" : Quantity(*value, unit);
}

template <typename Row>
std::string BoundsTable(const Report& report, const char* name_of_table,
                        const std::vector<Column<Row>>& columns,
                        const std::vector<Row>& rows,
                        const RenderOptions& options) {
  base::TextTable table;
  table.AddColumn("number", Align::kLeft);
  for (const char* title : {"shown", "at least", "at most"}) {
    table.AddColumn(title, Align::kRight);
  }
  std::size_t shown = 0;
  bool any = false;
  for (const Row& row : rows) {
    if (options.max_rows != 0 && shown++ == options.max_rows) break;
    if (row.bounds.empty()) continue;
    any = true;
    table.AddHeading(RowName(columns, row));
    for (const auto& [number, bounds] : row.bounds.entries()) {
      const std::string name = NumberName(report.events, number);
      const auto column =
          std::find_if(columns.begin(), columns.end(),
                       [&](const auto& c) { return FullName(c) == name; });
      if (column == columns.end()) continue;
      table.AddRow({base::EscapeName(name),
                    Value(column->value(row), column->unit),
                    Quantity(bounds.lo, column->unit),
                    Quantity(bounds.hi, column->unit)});
    }
  }
  if (!any) return "";
  return absl::StrFormat("\nBOUNDS of %s\n%s", name_of_table,
                         table.Render(options.width, options.color));
}

}  // namespace

std::string BoundsText(const Report& report,
                       const std::vector<ReportBy>& tables,
                       const RenderOptions& options) {
  std::string out;
  VisitTables(report, [&](const auto& table, const auto& columns,
                          const auto& rows) {
    if constexpr (requires { rows.front().bounds; }) {
      if (std::find(tables.begin(), tables.end(), table.by) == tables.end()) {
        return;
      }
      out +=
          BoundsTable(report, table.name, columns,
                      SelectedRows(rows, options.selection, table.by), options);
    }
  });
  return out;
}

}  // namespace countrace::rmap
