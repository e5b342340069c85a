// Words, numbers, quoted texts and signs in text of a user: in `--where`, rules
// of metrics, dump rules and triggers.
//
// In: text of a user. Out: one token at a time; the first wrong one is an error
// with its place. Thread: one.
#ifndef COUNTRACE_BASE_TEXT_TOKENS_H_
#define COUNTRACE_BASE_TEXT_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/text/source_place.h"

namespace countrace::base {

enum class TokenKind : std::uint8_t { kEnd, kNumber, kWord, kQuoted, kSign };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;    // as spelled; for kQuoted, between the quotes
  std::size_t offset = 0;   // of its first character, quote included
  std::string_view suffix;  // kNumber: the letters at its end, "ms"
  char quote = 0;           // kQuoted: ` ' or "

  // kNumber: without the suffix.
  std::string_view digits() const {
    return text.substr(0, text.size() - suffix.size());
  }
  // kQuoted: a backslash before a backslash or the quote is removed; any other
  // backslash stays.
  std::string Unescaped() const;
};

struct TokenRules {
  // Signs allowed within a word, but not first, besides letters, digits and
  // '_'.
  std::string_view word_signs;
  std::span<const std::string_view> signs;  // the longer one first
  // In a quoted text, a backslash escapes the next character.
  bool escapes = false;
};

// True for characters that a word may begin with, or contain, in all rules.
bool IsWordBegin(char c);
bool IsWordPart(char c);

class Tokens {
 public:
  // All arguments must outlive this object.
  Tokens(std::string_view text, const SourcePlace& place,
         const TokenRules& rules)
      : text_(text), place_(place), rules_(rules) {}

  // The next token; kEnd at the end, any number of times. Errors:
  // kInvalidArgument as ErrorAt().
  absl::StatusOr<Token> Next();

  // All characters up to the next blank, such as a glob or a file's name; empty
  // at the end.
  std::string_view Chunk();
  std::string_view PeekChunk();
  // Consumes the next chunk if it is `chunk`.
  bool TakeChunk(std::string_view chunk);

  // Where the next token begins, behind blanks; at the end the text's length.
  std::size_t Begin();
  // The position behind the last token.
  std::size_t position() const { return at_; }
  // As ErrorAt().
  absl::Status Error(std::size_t offset, std::string_view message) const {
    return ErrorAt(place_, text_, offset, message);
  }

 private:
  Token Take(TokenKind kind, std::size_t end);
  Token Number();
  absl::StatusOr<Token> Quoted();
  absl::StatusOr<Token> Sign();

  const std::string_view text_;
  const SourcePlace& place_;
  const TokenRules& rules_;
  std::size_t at_ = 0;
};

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_TEXT_TOKENS_H_
