// Aligned text columns for a terminal.
#ifndef COUNTRACE_BASE_TEXT_TEXT_TABLE_H_
#define COUNTRACE_BASE_TEXT_TEXT_TABLE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace countrace::base {

class TextTable {
 public:
  enum class Align { kLeft, kRight };

  // `indent`: blanks before each line.
  explicit TextTable(std::size_t indent = 2);

  // `optional` columns are dropped, last first, where the table is too wide.
  void AddColumn(std::string_view title, Align align, bool optional = false);
  // Cells in the order of the columns, names already escaped.
  void AddRow(std::vector<std::string> cells);
  // A separate line between rows.
  void AddHeading(std::string text);

  // Lines of at most `width` columns, unless the columns that are not optional
  // need more. A table with dropped columns ends with a line that names them,
  // the first ones of many.
  std::string Render(std::size_t width, bool color) const;

 private:
  struct Column {
    std::string title;
    Align align;
    bool optional;
  };
  struct Row {
    std::vector<std::string> cells;
    std::string heading;  // if cells is empty
  };
  std::size_t indent_;
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TEXT_TEXT_TABLE_H_
