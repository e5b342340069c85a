// Numbers of `--where`, as fractions: 1.1us is 1100 ns and not a little more,
// and the largest count is told from the one below it.
//
// Thread: any; no state.
#ifndef COUNTRACE_RMAP_WHERE_EXACT_NUMBER_H_
#define COUNTRACE_RMAP_WHERE_EXACT_NUMBER_H_

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"

namespace countrace::rmap::where {

__extension__ typedef __int128 Wide;

struct ExactNumber {
  // Below 10^18 * 10^13, so that products with 64-bit numbers and with the
  // denominator fit.
  Wide numerator = 0;
  std::uint64_t denominator = 1;  // a power of ten, at most 10^18
  bool is_time = false;           // its unit was one of time; then in ns
};

// `digits` as "12", "1.5", ".5" or "2e6"; `suffix` is a unit of time (ns, us,
// ms, s, min, h), a power of 1000 (k, M, G, T) or of 1024 (Ki, Mi, Gi, Ti), or
// nothing.
// Errors: kInvalidArgument says what is wrong, without a place.
absl::StatusOr<ExactNumber> ParseExactNumber(std::string_view digits,
                                             std::string_view suffix);

// What a row's cell holds.
using NumberCell = std::variant<std::uint64_t, std::int64_t, double>;

// unordered for a cell that is no number (NaN).
std::partial_ordering Compare(const NumberCell& cell,
                              const ExactNumber& number);
std::partial_ordering Compare(const NumberCell& a, const NumberCell& b);

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_EXACT_NUMBER_H_
