// Lists of names in a cell of a table outside of the program: "a > b > c".
#ifndef COUNTRACE_RMAP_COLUMNS_LIST_TEXT_H_
#define COUNTRACE_RMAP_COLUMNS_LIST_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

namespace countrace::rmap {

// In a name, a `>` that a space or nothing precedes is `\>`, and a backslash
// two, so that every other " > " separates. Names are not empty.
std::string ListText(const std::vector<std::string>& names);
// Inverse.
std::vector<std::string> ListOf(std::string_view text);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_LIST_TEXT_H_
