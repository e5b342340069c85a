// A small table that a verb prints as text, JSON, JSON lines or CSV.
//
// For lists of names and states; reports have their own renderer in rmap/.
#ifndef COUNTRACE_CLI_PROGRAM_ROW_TABLE_H_
#define COUNTRACE_CLI_PROGRAM_ROW_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace countrace::cli {

// Text is untrusted and escaped for each output. std::monostate: not known;
// "-", null, or empty in CSV.
using Cell =
    std::variant<std::string, std::uint64_t, bool, double, std::monostate>;

class RowTable final {
 public:
  // `schema` names the JSON document ("countrace.events/1"); `rows_name` its
  // array; `columns` the members of each row and the heads of the text table.
  RowTable(std::string schema, std::string rows_name,
           std::vector<std::string> columns);

  // Requires: one cell for each column.
  void Add(std::vector<Cell> row);
  std::size_t size() const { return rows_.size(); }

  // `format` is a value of --format: text, json, jsonl, csv.
  std::string Render(std::string_view format) const;

 private:
  std::string Text() const;
  std::string Csv() const;

  const std::string schema_, rows_name_;
  const std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_PROGRAM_ROW_TABLE_H_
