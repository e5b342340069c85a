// Dump rules as people write them, and their compiled form.
//
//   rule      = [GLOB] [ "always" | "never" | clause { clause } ]
//   clause    = "if" predicate { "and" predicate }
//             | "from" ( 0xBEGIN-0xEND | OBJECT [+0xBEGIN-0xEND] )
//             | "every" N
//             | "at most every" DURATION
//             | "every" N "ticks"
//   predicate = ( "arg0".."arg5" | "ret" | "number" )
//               ( == != < <= > >= & ) ( INTEGER | DECIMAL | "TEXT" )
//
// No GLOB means all hooks, no clause "always". Clauses stand in any order, each
// once; a record carries a dump if all of them hold. Of several rules the first
// whose glob matches a hook decides for it; hooks that no rule matches carry no
// dump. Used by the recorder and by `record --dry-run-rules`. Thread: any.
#ifndef COUNTRACE_RUNTIME_RULES_DUMP_RULE_TEXT_H_
#define COUNTRACE_RUNTIME_RULES_DUMP_RULE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/dump_rule.h"

namespace countrace::runtime {

using DumpRule = countrace_dump_rule;

// Returns: INVALID_ARGUMENT; the message quotes the rule and says the column
// (from 1), what stands there and what may.
absl::StatusOr<DumpRule> ParseDumpRule(std::string_view text);

// Returns also: INVALID_ARGUMENT more than COUNTRACE_MAX_DUMP_RULES, or a rule
// that never decides because an earlier one has the same glob or "*".
absl::StatusOr<std::vector<DumpRule>> ParseDumpRules(
    const std::vector<std::string>& texts);

// The canonical spelling: clauses in the order above, durations in the largest
// unit that holds them. ParseDumpRule() of it gives the same rule.
std::string PrintDumpRule(const DumpRule& rule);

// The first of `rules` whose glob matches `hook` ("provider:name"), or -1.
int FindDumpRule(const std::vector<DumpRule>& rules, const std::string& hook);

// Length of the kernel's tick in ns, as the coarse clocks of this machine show
// it.
std::uint64_t KernelTickNs();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RULES_DUMP_RULE_TEXT_H_
