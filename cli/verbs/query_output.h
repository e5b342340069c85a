// The rows of a query as text, CSV, JSON or JSON lines, as they come.
#ifndef COUNTRACE_CLI_VERBS_QUERY_OUTPUT_H_
#define COUNTRACE_CLI_VERBS_QUERY_OUTPUT_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/text/text_table.h"
#include "rmap/export/table_schema.h"

namespace countrace::cli {

class QueryOutput {
 public:
  // `format`: text, csv, json, jsonl. `width`: of text, in columns.
  QueryOutput(std::string format, std::size_t width)
      : format_(std::move(format)), width_(width) {}

  void Columns(const std::vector<std::string>& names);
  void Row(std::span<const rmap::Value> row);
  void Finish();
  // False: the output is closed, or full.
  bool ok() const { return ok_; }

 private:
  void TextRow(std::span<const rmap::Value> row);
  void PrintTable();
  void Flush();

  const std::string format_;
  const std::size_t width_;
  std::vector<std::string> columns_;
  std::vector<std::string> names_;  // of JSON: with all that is before a value
  std::optional<base::TextTable> table_;
  std::size_t rows_ = 0, in_table_ = 0;
  std::string text_;
  bool ok_ = true;
};

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_VERBS_QUERY_OUTPUT_H_
