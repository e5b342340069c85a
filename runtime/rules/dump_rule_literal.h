// Constants, comparisons and address ranges of dump rules, both ways.
#ifndef COUNTRACE_RUNTIME_RULES_DUMP_RULE_LITERAL_H_
#define COUNTRACE_RUNTIME_RULES_DUMP_RULE_LITERAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/tokens.h"
#include "logformat/rules/dump_rule.h"

namespace countrace::runtime {

// Largest N of `every N` and `every N ticks`; ticks in ns fit 64 bits.
inline constexpr std::uint64_t kMaxRuleCount = 1'000'000'000;

// "==", "<=", ...: all of `text`.
std::optional<countrace_comparison> FindComparison(std::string_view text);

// All of `text` is the name of a value: "arg0" to "arg5", "ret", "number".
std::optional<unsigned char> ParseArgument(std::string_view text);
std::string ArgumentName(unsigned argument);

// All of `text` is an integer (decimal or 0x...) or a finite decimal number,
// without a sign; `negative`: there is a minus before it.
bool ParseNumber(std::string_view text, bool negative,
                 countrace_predicate& predicate);

// `text`, between quotation marks, is short enough, and each backslash in it
// stands before a backslash or a quotation mark.
bool ParseTextConstant(const base::Token& text, countrace_predicate& predicate);

// "arg0 >= 4096"
std::string PrintPredicate(const countrace_predicate& predicate);

// All of `text` is an integer from 1 to kMaxRuleCount.
std::optional<std::uint64_t> ParseCount(std::string_view text);

struct AddressRange {
  std::uint64_t begin, end;
};
// All of `text` is "0xBEGIN-0xEND".
std::optional<AddressRange> ParseAddressRange(std::string_view text);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RULES_DUMP_RULE_LITERAL_H_
