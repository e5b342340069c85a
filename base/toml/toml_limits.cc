#include "base/toml/toml_limits.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "base/text/source_place.h"

namespace countrace::base {

absl::Status CheckTomlLimits(std::string_view text, const std::string& file,
                             const TomlLimits& limits) {
  if (text.size() > limits.bytes) {
    return ErrorAt({file}, absl::StrFormat("%d bytes; at most %d are read",
                                           text.size(), limits.bytes));
  }
  std::size_t line = 1;
  for (std::string_view rest = text; !rest.empty(); ++line) {
    const std::string_view one = rest.substr(0, rest.find('\n'));
    const auto dots = std::count(one.begin(), one.end(), '.');
    if (dots > limits.dots_in_line) {
      return ErrorAt({file, line},
                     absl::StrFormat("%d dots in one line, at most %d", dots,
                                     limits.dots_in_line));
    }
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
  return absl::OkStatus();
}

}  // namespace countrace::base
