// The text of dump rules, and their compiled form.
//
//   rule      = [GLOB] [ "always" | "never" | clause { clause } ]
//   clause    = "if" predicate { "and" predicate }
//             | "from" ( 0xBEGIN-0xEND | OBJECT [+0xBEGIN-0xEND] )
//             | "every" N
//             | "at most every" DURATION
//             | "every" N "ticks"
//   predicate = ( "arg0".."arg5" | "ret" | "number" | NAME )
//               ( == != < <= > >= & ) ( INTEGER | DECIMAL | "TEXT" )
//
// No GLOB means all hooks, no clause means "always". Clauses come in any order,
// each at most once; a record carries a dump if all of them hold. The first
// rule whose glob matches a hook decides for it. Hooks that no rule matches
// carry no dump. Used by the recorder and by `record --dry-run-rules`. Thread:
// any.
#ifndef COUNTRACE_RUNTIME_RULES_DUMP_RULE_TEXT_H_
#define COUNTRACE_RUNTIME_RULES_DUMP_RULE_TEXT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/rules/dump_rule.h"

namespace countrace::runtime {

using DumpRule = countrace_dump_rule;

// The number of the argument that is called `name` in the hooks that `glob`
// matches. Returns an error whose message says why there is none.
using FindArgument = std::function<absl::StatusOr<unsigned char>(
    std::string_view glob, std::string_view name)>;

// `find`: null: arguments have no names. Returns: INVALID_ARGUMENT as
// base::ErrorAt(), with the place "--dump"; the message says which text is
// expected.
absl::StatusOr<DumpRule> ParseDumpRule(std::string_view text,
                                       const FindArgument& find = nullptr);

// Returns also: INVALID_ARGUMENT more than COUNTRACE_MAX_DUMP_RULES, or a rule
// that never applies because an earlier one has the same glob or "*".
absl::StatusOr<std::vector<DumpRule>> ParseDumpRules(
    const std::vector<std::string>& texts, const FindArgument& find = nullptr);
// The same before it is known which arguments the hooks have.
absl::StatusOr<std::vector<DumpRule>> ParseUnboundDumpRules(
    const std::vector<std::string>& texts);

// The canonical spelling: arguments by number, clauses in the order above,
// durations in the largest unit that divides them. ParseDumpRule() reads it
// back as the same rule.
std::string PrintDumpRule(const DumpRule& rule);

// The first of `rules` whose glob matches `hook` ("provider:name"), or -1.
int FindDumpRule(const std::vector<DumpRule>& rules, const std::string& hook);

// Length of the kernel's tick in ns, measured by this machine's coarse clocks.
std::uint64_t KernelTickNs();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RULES_DUMP_RULE_TEXT_H_
