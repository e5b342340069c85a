// Numbers, durations and sizes as users write them, read exactly: 1.1us is 1100
// ns, not slightly more, and large counts keep their last digit.
//
// In: text of a user. Out: fractions, nanoseconds, bytes. Thread: any.
#ifndef COUNTRACE_BASE_TEXT_QUANTITY_PARSE_H_
#define COUNTRACE_BASE_TEXT_QUANTITY_PARSE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace countrace::base {

struct TimeUnit {
  std::string_view name;
  std::uint64_t ns;
};
// Largest first. "min" is a second spelling of "m".
inline constexpr TimeUnit kTimeUnits[] = {{"h", 3'600'000'000'000},
                                          {"m", 60'000'000'000},
                                          {"min", 60'000'000'000},
                                          {"s", 1'000'000'000},
                                          {"ms", 1'000'000},
                                          {"us", 1'000},
                                          {"ns", 1}};

__extension__ typedef __int128 Wide;

struct ExactNumber {
  // Below 10^19 * 10^13, so that products with 64-bit numbers and with the
  // denominator fit.
  Wide numerator = 0;
  std::uint64_t denominator = 1;  // a power of ten, at most 10^18
  bool is_time = false;           // its unit was one of time; numerator in ns
};

// `digits` as "12", "1.5", ".5" or "2e6"; `suffix` is a unit of time, a power
// of 1000 (k, M, G, T) or of 1024 (Ki, Mi, Gi, Ti), or empty. Errors:
// kInvalidArgument with the reason, without a place.
absl::StatusOr<ExactNumber> ParseExactNumber(std::string_view digits,
                                             std::string_view suffix);

// Requires that all of `text` is an integer in `base`, without a sign.
std::optional<std::uint64_t> ParseInteger(std::string_view text, int base = 10);

// Requires that all of `text` is a decimal number and a unit of time;
// `bare_unit`, if given, is the unit of a number without one. Returns ns,
// rounded to the nearest, from 1 to below 2^63; nullopt for anything else.
std::optional<std::uint64_t> ParseDurationNs(std::string_view text,
                                             std::string_view bare_unit = {});
// "10ms": in the largest unit that represents it; ParseDurationNs() reads it
// back.
std::string PrintDurationNs(std::uint64_t ns);

// "4096", "64K", "64M", "2G", "1T" (powers of 1024; "KiB" and "KB" mean the
// same). Returns nullopt for anything else, including fractions and overflow.
std::optional<std::uint64_t> ParseBytes(std::string_view text);

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TEXT_QUANTITY_PARSE_H_
