#include "cli/row_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "cli/escape_text.h"

namespace countrace::cli {
namespace {

std::string PlainText(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return EscapeText(*text);
  }
  if (const auto* number = std::get_if<std::uint64_t>(&cell)) {
    return std::to_string(*number);
  }
  return std::get<bool>(cell) ? "yes" : "no";
}

std::string JsonValue(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return JsonString(*text);
  }
  if (const auto* number = std::get_if<std::uint64_t>(&cell)) {
    return std::to_string(*number);
  }
  return std::get<bool>(cell) ? "true" : "false";
}

}  // namespace

RowTable::RowTable(std::string schema, std::string rows_name,
                   std::vector<std::string> columns)
    : schema_(std::move(schema)),
      rows_name_(std::move(rows_name)),
      columns_(std::move(columns)) {}

void RowTable::Add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

std::string RowTable::Text() const {
  std::vector<std::vector<std::string>> lines = {columns_};
  for (const auto& row : rows_) {
    std::vector<std::string> line;
    for (const Cell& cell : row) line.push_back(PlainText(cell));
    lines.push_back(std::move(line));
  }
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string out;
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
      text += line[i];
      text.append(widths[i] - line[i].size() + 2, ' ');
    }
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string RowTable::Csv() const {
  std::string out;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    out += (i == 0 ? "" : ",") + CsvField(columns_[i]);
  }
  out += "\n";
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += (i == 0 ? "" : ",") + CsvField(PlainText(row[i]));
    }
    out += "\n";
  }
  return out;
}

std::string RowTable::JsonRow(const std::vector<Cell>& row) const {
  std::string out = "{";
  for (std::size_t i = 0; i < row.size(); ++i) {
    out += absl::StrFormat("%s%s: %s", i == 0 ? "" : ", ",
                           JsonString(columns_[i]), JsonValue(row[i]));
  }
  return out + "}";
}

std::string RowTable::Render(std::string_view format) const {
  if (format == "text") return Text();
  if (format == "csv") return Csv();
  std::string out;
  if (format == "jsonl") {
    for (const auto& row : rows_) out += JsonRow(row) + "\n";
    return out;
  }
  out = absl::StrFormat("{\"schema\": %s, %s: [", JsonString(schema_),
                        JsonString(rows_name_));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    out += (i == 0 ? "\n  " : ",\n  ") + JsonRow(rows_[i]);
  }
  return out + (rows_.empty() ? "]}\n" : "\n]}\n");
}

}  // namespace countrace::cli
