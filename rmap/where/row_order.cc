#include "rmap/where/row_order.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "rmap/columns/report_tables.h"
#include "rmap/where/number_cell.h"
#include "rmap/where/row_fields.h"

namespace countrace::rmap::where {
namespace {

std::optional<NumberCell> NumberOf(const Cell& cell) {
  if (const auto* value = std::get_if<bool>(&cell)) {
    return NumberCell(std::uint64_t{*value});
  }
  if (const auto* value = std::get_if<std::uint64_t>(&cell)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&cell)) return *value;
  if (const auto* value = std::get_if<double>(&cell)) return *value;
  return std::nullopt;
}

bool IsBefore(const Cell& a, const Cell& b) {
  const auto number_a = NumberOf(a), number_b = NumberOf(b);
  if (number_a && number_b) return Compare(*number_a, *number_b) > 0;
  const bool absent_a = std::holds_alternative<std::monostate>(a);
  const bool absent_b = std::holds_alternative<std::monostate>(b);
  if (absent_a || absent_b) return !absent_a && absent_b;
  return a < b;
}

template <typename Row>
void Sort(const TableFields& fields, std::string_view field,
          const std::vector<Column<Row>>& columns, std::vector<Row>& rows) {
  const auto index = FindField(fields, field);
  if (!index) return;
  std::vector<std::pair<Cell, std::size_t>> order;
  order.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    order.emplace_back(columns[*index].value(rows[i]), i);
  }
  std::stable_sort(
      order.begin(), order.end(),
      [](const auto& a, const auto& b) { return IsBefore(a.first, b.first); });
  std::vector<Row> sorted;
  sorted.reserve(rows.size());
  for (const auto& [cell, from] : order) {
    static_cast<void>(cell);
    sorted.push_back(std::move(rows[from]));
  }
  rows = std::move(sorted);
}

}  // namespace

absl::Status CheckOrder(std::string_view field, const Report& report,
                        ReportBy table) {
  if (table == ReportBy::kPath) {
    return absl::InvalidArgumentError(
        "--sort: call paths keep the order of their tree; use --by segment");
  }
  std::vector<TableFields> tables;
  for (TableFields& fields : FieldsOf(report)) {
    if (fields.table == ReportBy::kPath) continue;
    if (table == ReportBy::kDefault || fields.table == table) {
      tables.push_back(std::move(fields));
    }
  }
  if (std::any_of(tables.begin(), tables.end(), [field](const auto& fields) {
        return FindField(fields, field).has_value();
      })) {
    return absl::OkStatus();
  }
  std::string message =
      absl::StrFormat("--sort: unknown field `%s`", base::EscapeName(field));
  const std::string nearest = NearestField(tables, field);
  if (!nearest.empty()) {
    message +=
        absl::StrFormat("; did you mean `%s`?", base::EscapeName(nearest));
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("%s\n%s", message, ListFields(tables)));
}

void SortRows(std::string_view field, Report& report) {
  const std::vector<TableFields> tables = FieldsOf(report);
  auto fields = tables.begin();  // in the order of VisitTables()
  VisitTables(report, [&](const auto& table, const auto& columns, auto& rows) {
    if (table.by != ReportBy::kPath) Sort(*fields, field, columns, rows);
    ++fields;
  });
}

}  // namespace countrace::rmap::where
