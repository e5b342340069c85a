// The place of a rule's text, and error messages that show it.
#ifndef COUNTRACE_BASE_TEXT_SOURCE_PLACE_H_
#define COUNTRACE_BASE_TEXT_SOURCE_PLACE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace countrace::base {

// The first character of a text; line and column count from 1.
struct SourcePlace {
  std::string file;  // or "--metric"
  std::size_t line = 1, column = 1;
};

// kInvalidArgument, "FILE:LINE:COLUMN: message", the line of `text` that holds
// `offset`, and a caret below it.
absl::Status ErrorAt(const SourcePlace& place, std::string_view text,
                     std::size_t offset, std::string_view message);
// The same without a text to show.
absl::Status ErrorAt(const SourcePlace& place, std::string_view message);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TEXT_SOURCE_PLACE_H_
