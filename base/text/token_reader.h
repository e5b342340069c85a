// The part of an expression's parser that no grammar changes: one token of
// look-ahead, the first error with its place, limits on size and depth.
//
// In: text of a user. Out: tokens, then one status; derived classes are the
// grammars of `--where` and of metric rules. Thread: one.
#ifndef COUNTRACE_BASE_TEXT_TOKEN_READER_H_
#define COUNTRACE_BASE_TEXT_TOKEN_READER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/text/source_place.h"
#include "base/text/tokens.h"

namespace countrace::base {

// Longer or deeper text is an error, so that a file cannot exhaust memory or
// stack.
inline constexpr std::size_t kMaxExpressionBytes = 4096;
inline constexpr std::size_t kMaxExpressionDepth = 64;

class TokenReader {
 protected:
  // All arguments must outlive this object.
  TokenReader(std::string_view text, const SourcePlace& place,
              const TokenRules& rules)
      : text_(text), place_(place), tokens_(text, place, rules) {}

  // Reads the first token. Fails if the text is too long, or empty: then with
  // "an expression is missing" and `such_as`.
  void Begin(std::string_view such_as);
  void Advance();
  // Keeps the first error and ends parsing: every later step sees the end of
  // the text.
  void Fail(std::size_t offset, std::string_view message);

  bool ok() const { return status_.ok(); }
  bool IsSign(std::string_view sign) const {
    return token_.kind == TokenKind::kSign && token_.text == sign;
  }
  // Consumes the token if it is this sign.
  bool Accept(std::string_view sign);
  // Where the token begins, or the text ends.
  std::size_t Place() const {
    return token_.kind == TokenKind::kEnd ? text_.size() : token_.offset;
  }
  // The token's text, printable.
  std::string Shown() const;
  // Fails at `depth` levels of parentheses.
  bool TooDeep(std::size_t depth);

  const std::string_view text_;
  const SourcePlace& place_;
  Tokens tokens_;
  Token token_;
  absl::Status status_;
};

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TEXT_TOKEN_READER_H_
