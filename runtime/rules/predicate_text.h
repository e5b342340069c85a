// The text of comparisons with a hook's values, in dump rules and triggers.
//
//   predicates = predicate { "and" predicate }
//   predicate  = VALUE ( == != < <= > >= & ) ( INTEGER | DECIMAL | "TEXT" )
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RULES_PREDICATE_TEXT_H_
#define COUNTRACE_RUNTIME_RULES_PREDICATE_TEXT_H_

#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/text/tokens.h"
#include "logformat/rules/dump_rule.h"

namespace countrace::runtime {

// For Tokens. Also signs that only stand in errors, which can then say more.
inline constexpr std::string_view kPredicateSigns[] = {
    "==", "!=", "<=", ">=", "<", ">", "&", "=", "!", "-"};
inline constexpr base::TokenRules kPredicateTokens = {
    .word_signs = "", .signs = kPredicateSigns, .escapes = true};

// The number of a value by its token; an error whose message says which ones
// there are.
using FindValue =
    std::function<absl::StatusOr<unsigned char>(const base::Token& name)>;

// Reads predicates from `tokens`, which read `text`, and adds them to `rule`.
// Returns: INVALID_ARGUMENT as Tokens::Error().
absl::Status ParsePredicates(std::string_view text, base::Tokens& tokens,
                             const FindValue& find, countrace_dump_rule& rule);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RULES_PREDICATE_TEXT_H_
