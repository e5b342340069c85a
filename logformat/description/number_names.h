// The names of a value's numbers: an enumeration, or flags. Those of system
// calls' arguments are in read/call_flags.cc, those of a kernel hook's values
// in the trace (FORMAT.md, number_names_i).
#ifndef COUNTRACE_LOGFORMAT_DESCRIPTION_NUMBER_NAMES_H_
#define COUNTRACE_LOGFORMAT_DESCRIPTION_NUMBER_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace countrace::logformat {

struct NumberName {
  std::uint64_t value;
  std::string_view text;
};

// Bits in `chosen` are one number, of which the first name that is the same
// counts; the others are flags. A flag of several bits stands before those that
// it has. Names are about the bits of `mask`: 0 is named if none of these is
// set. Without names: an octal number, or an error (read/call_flags.cc).
struct NumberNames {
  std::uint64_t chosen;
  std::span<const NumberName> names;
  std::uint64_t mask = ~std::uint64_t{0};
};

// The values of one name in the hooks of a trace.
struct NamedValues {
  bool integers = true;  // wherever they are: integers without names
  // By the full names of hooks: those whose numbers have names.
  std::map<std::string, std::shared_ptr<const NumberNames>> numbers = {};
};

// A negative `int` in 64 bits has the number of its 32.
inline std::uint64_t NamedNumber(std::uint64_t value) {
  constexpr std::uint64_t kNegative = ~std::uint64_t{0} >> 31;
  return value >> 31 == kNegative ? value & 0xffffffff : value;
}

// "CHOSEN MASK\tVALUE=NAME\tVALUE=NAME", numbers in base 16.
std::string NumberNamesText(const NumberNames& names);
// Inverse; null if `text` is no such text, or has more than so many names, or
// one that is longer or not of printable ASCII.
inline constexpr std::size_t kMaxNumberNames = 256;
inline constexpr std::size_t kMaxNumberName = 64;
std::shared_ptr<const NumberNames> ParseNumberNames(std::string_view text);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_DESCRIPTION_NUMBER_NAMES_H_
