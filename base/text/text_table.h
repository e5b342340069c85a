// Aligned text columns for a terminal.
#ifndef COUNTRACE_BASE_TEXT_TEXT_TABLE_H_
#define COUNTRACE_BASE_TEXT_TEXT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace countrace::base {

// 1234567 -> "1,234,567".
std::string FormatCount(std::uint64_t value);
// Three significant digits and the unit that suits: "0", "431 ns", "12.3 us",
// "4.56 ms", "78.9 s".
std::string FormatNanoseconds(double ns);
// Share of `whole` in percent: "12.3 %", "-" if there is no whole.
std::string FormatShare(std::uint64_t part, std::uint64_t whole);

class TextTable {
 public:
  enum class Align { kLeft, kRight };

  // `optional` columns are dropped, last first, where the table is too wide.
  void AddColumn(std::string_view title, Align align, bool optional = false);
  // Cells in the order of the columns, names already escaped.
  void AddRow(std::vector<std::string> cells);
  // A line of its own between rows.
  void AddHeading(std::string text);

  // Lines of at most `width` columns, unless the columns that must stay need
  // more. A table with dropped columns ends with a line that names them.
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
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TEXT_TEXT_TABLE_H_
