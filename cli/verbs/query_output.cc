#include "cli/verbs/query_output.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/text/name_escape.h"
#include "cli/program/exit_status.h"
#include "cli/program/verb.h"
#include "rmap/export/text_writer.h"

namespace countrace::cli {
namespace {

// Rows of text that are aligned together: memory stays bounded.
constexpr std::size_t kTableRows = 10'000;
constexpr std::size_t kWriteBytes = 64 << 10;

bool IsText(const rmap::Value& value) {
  return std::holds_alternative<std::string_view>(value);
}

std::string TextOf(const rmap::Value& value) {
  if (value.index() == 0) return "-";
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    return base::EscapeName(*text);
  }
  std::string number;
  rmap::AppendJson(value, number);
  return number;
}

}  // namespace

void QueryOutput::Columns(const std::vector<std::string>& names) {
  columns_ = names;
  for (const std::string& name : names) {
    std::string& before = names_.emplace_back(names_.empty() ? "{" : ",");
    rmap::AppendJson(std::string_view(name), before);
    before += ':';
  }
  if (format_ == "json") {
    text_ = "{\"schema\":\"countrace.query/1\",\"rows\":[";
  } else if (format_ == "csv") {
    for (const std::string& name : names) {
      rmap::AppendCsv(std::string_view(name), text_);
      text_ += &name == &names.back() ? "\r\n" : ",";
    }
  }
}

void QueryOutput::TextRow(std::span<const rmap::Value> row) {
  using Align = base::TextTable::Align;
  if (!table_) {
    table_.emplace(/*indent=*/0);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      table_->AddColumn(base::EscapeName(columns_[i]),
                        IsText(row[i]) ? Align::kLeft : Align::kRight);
    }
  }
  std::vector<std::string> cells;
  for (const rmap::Value& value : row) cells.push_back(TextOf(value));
  table_->AddRow(std::move(cells));
  if (++in_table_ == kTableRows) PrintTable();
}

void QueryOutput::PrintTable() {
  if (table_) text_ += table_->Render(width_, /*color=*/false);
  table_.reset();
  in_table_ = 0;
  Flush();
}

void QueryOutput::Row(std::span<const rmap::Value> row) {
  ++rows_;
  if (format_ == "text") {
    TextRow(row);
    return;
  }
  if (format_ == "csv") {
    for (std::size_t i = 0; i < row.size(); ++i) {
      rmap::AppendCsv(row[i], text_);
      text_ += i + 1 == row.size() ? "\r\n" : ",";
    }
  } else {
    if (format_ == "json") text_ += rows_ == 1 ? "\n" : ",\n";
    for (std::size_t i = 0; i < row.size(); ++i) {
      text_ += names_[i];
      rmap::AppendJson(row[i], text_);
    }
    text_ += '}';
    if (format_ == "jsonl") text_ += '\n';
  }
  if (rows_ == 1 || text_.size() >= kWriteBytes) Flush();
}

void QueryOutput::Finish() {
  if (format_ == "text") PrintTable();
  if (format_ == "json") text_ += "\n]}\n";
  Flush();
}

void QueryOutput::Flush() {
  if (ok_) ok_ = PrintData(kQueryVerb.name, text_) == kExitOk;
  text_.clear();
}

}  // namespace countrace::cli
