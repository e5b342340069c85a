// Parses and prints the numbers, texts, durations and address ranges of dump
// rules.
#ifndef COUNTRACE_RUNTIME_RULES_DUMP_RULE_LITERAL_H_
#define COUNTRACE_RUNTIME_RULES_DUMP_RULE_LITERAL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "logformat/dump_rule.h"

namespace countrace::runtime {

// Largest N of `every N` and `every N ticks`; ticks in ns fit 64 bits.
inline constexpr std::uint64_t kMaxRuleCount = 1'000'000'000;

// "==", "<=", ...: all of `text`.
std::optional<countrace_comparison> FindComparison(std::string_view text);

// Reads the name of a value at the beginning of `text`: "arg0" to "arg5",
// "ret", "number". `bytes`: length of the name.
std::optional<unsigned char> ParseArgument(std::string_view text,
                                           std::size_t& bytes);
std::string ArgumentName(unsigned argument);

// Reads an integer (decimal or 0x...) or a finite decimal number at the
// beginning of `text`. Returns the bytes used, up to a blank or the end; 0 if
// there is none.
std::size_t ParseNumber(std::string_view text, countrace_predicate& predicate);

// The same for a text between quotation marks.
std::size_t ParseTextConstant(std::string_view text,
                              countrace_predicate& predicate);

// "arg0 >= 4096"
std::string PrintPredicate(const countrace_predicate& predicate);

// All of `text` is an integer from 1 to kMaxRuleCount.
std::optional<std::uint64_t> ParseCount(std::string_view text);

// All of `text` is a whole number, not 0, and a unit: ns, us, ms, s, m, h.
// Returns ns below 2^63.
std::optional<std::uint64_t> ParseDurationNs(std::string_view text);
std::string PrintDurationNs(std::uint64_t ns);

struct AddressRange {
  std::uint64_t begin, end;
};
// All of `text` is "0xBEGIN-0xEND".
std::optional<AddressRange> ParseAddressRange(std::string_view text);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RULES_DUMP_RULE_LITERAL_H_
