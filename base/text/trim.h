// Removes the white space around a text.
#ifndef COUNTRACE_BASE_TEXT_TRIM_H_
#define COUNTRACE_BASE_TEXT_TRIM_H_

#include <string_view>

namespace countrace::base {

// `text` without white space at both ends.
inline std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TEXT_TRIM_H_
