// Fields of a line of text, with a tab between them.
#ifndef COUNTRACE_LOGFORMAT_DESCRIPTION_TEXT_FIELDS_H_
#define COUNTRACE_LOGFORMAT_DESCRIPTION_TEXT_FIELDS_H_

#include <string_view>

namespace countrace::logformat {

// Removes the text before the next tab from `rest`, and returns it.
inline std::string_view NextField(std::string_view& rest) {
  const std::size_t tab = rest.find('\t');
  const std::string_view field = rest.substr(0, tab);
  rest =
      tab == std::string_view::npos ? std::string_view() : rest.substr(tab + 1);
  return field;
}

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_DESCRIPTION_TEXT_FIELDS_H_
