// Words, numbers, quoted texts and signs of what a user wrote: `--where`, rules
// of metrics, dump rules and triggers are made of them.
//
// In: text of a user. Out: one token at a time; the first wrong one is an error
// that points at it. Thread: one.
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
  std::string_view text;    // as spelled; of kQuoted, between the quotes
  std::size_t offset = 0;   // of its first character, quote included
  std::string_view suffix;  // kNumber: the letters at its end, "ms"
  char quote = 0;           // kQuoted: ` ' or "

  // kNumber: without the suffix.
  std::string_view digits() const {
    return text.substr(0, text.size() - suffix.size());
  }
  // kQuoted: a backslash before a backslash or the quote stands for that sign,
  // before anything else for itself.
  std::string Unescaped() const;
};

struct TokenRules {
  // What may stand in a word, but not first, besides letters, digits and '_'.
  std::string_view word_signs;
  std::span<const std::string_view> signs;  // the longer one first
  // In a quoted text a backslash takes the next character along.
  bool escapes = false;
};

// True for what a word may begin with, and consist of, in any rules.
bool IsWordBegin(char c);
bool IsWordPart(char c);

class Tokens {
 public:
  // All that is given must outlive this.
  Tokens(std::string_view text, const SourcePlace& place,
         const TokenRules& rules)
      : text_(text), place_(place), rules_(rules) {}

  // kEnd at the end, again and again. Errors: kInvalidArgument as ErrorAt().
  absl::StatusOr<Token> Next();

  // All up to the next blank, whatever it is, such as a glob or a file's name;
  // empty at the end.
  std::string_view Chunk();
  std::string_view PeekChunk();
  // Takes the next chunk if it is `chunk`.
  bool TakeChunk(std::string_view chunk);

  // Where the next token begins, behind blanks; at the end the text's length.
  std::size_t Begin();
  // Behind the last token.
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
