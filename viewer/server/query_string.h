// The part of a target after '?', with strict numbers: text that is not exactly
// a number is an error, never 0.
#ifndef COUNTRACE_VIEWER_SERVER_QUERY_STRING_H_
#define COUNTRACE_VIEWER_SERVER_QUERY_STRING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace countrace::viewer {

// Decimal digits only, no sign, no space, no overflow.
std::optional<std::uint64_t> ParseNumber(std::string_view text);

// Path and parameters of a request target. Values are not percent-decoded: our
// parameters are numbers and plain words.
struct Target {
  std::string_view path;
  std::map<std::string, std::string, std::less<>> parameters;
};
Target ParseTarget(std::string_view target);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_QUERY_STRING_H_
