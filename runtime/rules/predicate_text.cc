#include "runtime/rules/predicate_text.h"

#include <optional>
#include <string>

#include "absl/strings/str_format.h"
#include "runtime/rules/dump_rule_literal.h"

namespace countrace::runtime {
namespace {

absl::Status ParseComparison(base::Tokens& tokens,
                             countrace_predicate& predicate) {
  const std::size_t at = tokens.Begin();
  const auto sign = tokens.Next();
  const auto comparison = sign.ok() ? FindComparison(sign->text) : std::nullopt;
  if (!comparison) {
    return tokens.Error(at, "expected one of == != < <= > >= & and a constant");
  }
  predicate.comparison = static_cast<unsigned char>(*comparison);
  return absl::OkStatus();
}

absl::Status ParseConstant(std::string_view text, base::Tokens& tokens,
                           countrace_predicate& predicate) {
  const std::size_t at = tokens.Begin();
  auto token = tokens.Next();
  const bool negative = token.ok() && token->text == "-";
  if (negative && tokens.Begin() == at + 1) token = tokens.Next();
  const bool is_text = at < text.size() && text[at] == '"';
  if (is_text && (!token.ok() || !ParseTextConstant(*token, predicate))) {
    return tokens.Error(
        at,
        absl::StrFormat("expected a text of at most %d bytes of ASCII that "
                        "ends with a quotation mark; \\\" and \\\\ stand for "
                        "themselves",
                        COUNTRACE_PREDICATE_TEXT_BYTES));
  }
  if (!is_text && (!token.ok() || token->kind != base::TokenKind::kNumber ||
                   !ParseNumber(token->text, negative, predicate))) {
    return tokens.Error(at,
                        "expected a constant: 4096, -1, 0xff, 2.5 or \"text\", "
                        "integers of 64 bits");
  }
  const bool orders = predicate.comparison != COUNTRACE_EQUAL &&
                      predicate.comparison != COUNTRACE_NOT_EQUAL;
  if (is_text && orders) {
    return tokens.Error(at, "text is compared with == or != only");
  }
  if (predicate.constant == COUNTRACE_CONSTANT_DOUBLE &&
      predicate.comparison == COUNTRACE_HAS_BITS) {
    return tokens.Error(at, "& tests the bits of an integer");
  }
  const std::size_t end = tokens.position();
  if (end != text.size() && tokens.Begin() == end) {
    return tokens.Error(end, "expected a blank after the constant");
  }
  return absl::OkStatus();
}

absl::Status ParsePredicate(std::string_view text, base::Tokens& tokens,
                            const FindValue& find, countrace_dump_rule& rule) {
  const std::size_t at = tokens.Begin();
  const auto name = tokens.Next();
  const auto argument = find(name.ok() ? *name : base::Token());
  if (!argument.ok()) {
    return tokens.Error(at, std::string(argument.status().message()));
  }
  if (rule.predicate_count == COUNTRACE_MAX_PREDICATES) {
    return tokens.Error(at,
                        absl::StrFormat("more than %d comparisons in one rule",
                                        COUNTRACE_MAX_PREDICATES));
  }
  countrace_predicate predicate{};
  predicate.argument = *argument;
  absl::Status status = ParseComparison(tokens, predicate);
  if (status.ok()) status = ParseConstant(text, tokens, predicate);
  if (!status.ok()) return status;
  rule.predicates[rule.predicate_count++] = predicate;
  return absl::OkStatus();
}

}  // namespace

absl::Status ParsePredicates(std::string_view text, base::Tokens& tokens,
                             const FindValue& find, countrace_dump_rule& rule) {
  do {
    absl::Status status = ParsePredicate(text, tokens, find, rule);
    if (!status.ok()) return status;
  } while (tokens.TakeChunk("and"));
  return absl::OkStatus();
}

}  // namespace countrace::runtime
