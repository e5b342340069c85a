// What of a user's TOML is read at all, before toml++ sees it.
#ifndef COUNTRACE_BASE_TOML_TOML_LIMITS_H_
#define COUNTRACE_BASE_TOML_TOML_LIMITS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace countrace::base {

struct TomlLimits {
  std::size_t bytes;
  std::ptrdiff_t dots_in_line = 64;  // toml++ nests a table at each dot
};

// Returns: kInvalidArgument with the file, the line and both numbers, where
// `text` is beyond a limit.
absl::Status CheckTomlLimits(std::string_view text, const std::string& file,
                             const TomlLimits& limits);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TOML_TOML_LIMITS_H_
