#include <array>
#include <charconv>
#include <optional>
#include <type_traits>

#include "absl/strings/str_format.h"
#include "base/text/csv_field.h"
#include "base/text/name_escape.h"
#include "rmap/columns/chosen_columns.h"
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
          // As many digits as it takes to read the same number, like JSON.
          std::array<char, 400> text{};
          return {text.data(),
                  std::to_chars(text.data(), text.data() + text.size(), value,
                                std::chars_format::fixed)
                      .ptr};
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

// The interval of a number; one that is exact has itself as both limits.
std::string LimitsText(const Cell& cell, const std::optional<Bounds>& bounds) {
  if (!bounds) {
    const std::string value = ToText(cell);
    return "," + value + "," + value;
  }
  return absl::StrFormat(
      ",%d,%s", bounds->lo,
      bounds->hi == Bounds::kNone ? "" : std::to_string(bounds->hi));
}

template <typename Row>
std::string CsvTable(const Report& report,
                     const std::vector<Column<Row>>& columns,
                     const std::vector<Row>& rows, bool with_bounds) {
  std::vector<std::optional<Number>> numbers(columns.size());
  std::string out;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string name = FullName(columns[i]);
    if constexpr (requires(const Row& row) { row.bounds; }) {
      if (with_bounds) numbers[i] = NumberNamed(report.events, name);
    }
    if (i != 0) out += ',';
    out += base::CsvField(base::EscapeName(name));
    if (!numbers[i]) continue;
    for (const char* limit : {".lo", ".hi"}) {
      out += "," + base::CsvField(base::EscapeName(name + limit));
    }
  }
  out += "\r\n";
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Cell cell = columns[i].value(row);
      if (i != 0) out += ',';
      out += base::CsvField(ToText(cell));
      if constexpr (requires { row.bounds; }) {
        if (numbers[i]) out += LimitsText(cell, row.bounds.Of(*numbers[i]));
      }
    }
    out += "\r\n";
  }
  return out;
}

}  // namespace

std::string RenderCsv(const Report& report, const RenderOptions& options) {
  const ReportBy by =
      options.by == ReportBy::kDefault ? ReportBy::kProcess : options.by;
  std::string out;
  VisitTables(report,
              [&](const auto& table, const auto& columns, const auto& rows) {
                if (table.by != by) return;
                std::decay_t<decltype(rows)> kept;
                out = CsvTable(report, ChosenColumns(columns, options.columns),
                               SelectedRows(rows, options.selection, by, kept),
                               options.bounds);
              });
  return out;
}

}  // namespace countrace::rmap
