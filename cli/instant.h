// An instant of a trace in the spellings of users.
#ifndef COUNTRACE_CLI_INSTANT_H_
#define COUNTRACE_CLI_INSTANT_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace countrace::cli {

// What the instant is relative to.
struct TraceExtent {
  std::uint64_t begin_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t duration_ns = 0;
};

// "1.5s", "12ms": since the beginning; "50%"; "begin", "end"; "@123.456":
// seconds on CLOCK_MONOTONIC, as `script` prints them; a bare number: ns on
// that clock. Returns: ns since the beginning, at most the duration;
// INVALID_ARGUMENT for anything else, OUT_OF_RANGE for an instant outside the
// trace.
absl::StatusOr<std::uint64_t> ParseInstant(std::string_view text,
                                           const TraceExtent& extent);

}  // namespace countrace::cli

#endif  // COUNTRACE_CLI_INSTANT_H_
