#include "cli/program/row_table.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/csv_field.h"
#include "base/text/name_escape.h"
#include "base/text/text_table.h"

namespace countrace::cli {
namespace {

using Json = nlohmann::ordered_json;

// What stands for what is not known, and for true and false.
struct Words {
  const char *unknown, *yes, *no;
};
constexpr Words kForReaders = {"-", "yes", "no"};
constexpr Words kForPrograms = {"", "true", "false"};  // as in JSON

std::string PlainText(const Cell& cell, const Words& words) {
  if (std::holds_alternative<std::monostate>(cell)) return words.unknown;
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return base::EscapeName(*text);
  }
  if (const auto* number = std::get_if<std::uint64_t>(&cell)) {
    return std::to_string(*number);
  }
  if (const auto* amount = std::get_if<double>(&cell)) {
    return absl::StrFormat("%.17g", *amount);
  }
  return std::get<bool>(cell) ? words.yes : words.no;
}

Json JsonRow(const std::vector<std::string>& columns,
             const std::vector<Cell>& row) {
  Json json = Json::object();
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>,
                                       std::monostate>) {
            json[columns[i]] = nullptr;
          } else {
            json[columns[i]] = value;
          }
        },
        row[i]);
  }
  return json;
}

// ASCII only, so that no name can act on a terminal. Bytes that are not UTF-8
// become U+FFFD, because JSON cannot represent them.
std::string Dump(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/true,
                   Json::error_handler_t::replace) +
         "\n";
}

}  // namespace

RowTable::RowTable(std::string schema, std::string rows_name,
                   std::vector<std::string> columns)
    : schema_(std::move(schema)),
      rows_name_(std::move(rows_name)),
      columns_(std::move(columns)) {}

void RowTable::Add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

std::string RowTable::Text() const {
  base::TextTable table(/*indent=*/0);
  for (const std::string& column : columns_) {
    table.AddColumn(column, base::TextTable::Align::kLeft);
  }
  for (const auto& row : rows_) {
    std::vector<std::string> cells;
    for (const Cell& cell : row) cells.push_back(PlainText(cell, kForReaders));
    table.AddRow(std::move(cells));
  }
  return table.Render(std::numeric_limits<std::size_t>::max(),
                      /*color=*/false);
}

std::string RowTable::Csv() const {
  std::string out;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    out += (i == 0 ? "" : ",") + base::CsvField(columns_[i]);
  }
  out += "\n";
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out +=
          (i == 0 ? "" : ",") + base::CsvField(PlainText(row[i], kForPrograms));
    }
    out += "\n";
  }
  return out;
}

std::string RowTable::Render(std::string_view format) const {
  if (format == "text") return Text();
  if (format == "csv") return Csv();
  if (format == "jsonl") {
    std::string out;
    for (const auto& row : rows_) out += Dump(JsonRow(columns_, row), -1);
    return out;
  }
  Json root = {{"schema", schema_}};
  Json& rows = root[rows_name_] = Json::array();
  for (const auto& row : rows_) rows.push_back(JsonRow(columns_, row));
  return Dump(root, 1);
}

}  // namespace countrace::cli
