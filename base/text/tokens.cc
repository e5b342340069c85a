#include "base/text/tokens.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"

namespace countrace::base {

bool IsWordBegin(char c) { return absl::ascii_isalpha(c) || c == '_'; }
bool IsWordPart(char c) { return absl::ascii_isalnum(c) || c == '_'; }

std::string Token::Unescaped() const {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() &&
        (text[i + 1] == '\\' || text[i + 1] == quote)) {
      ++i;
    }
    out += text[i];
  }
  return out;
}

std::size_t Tokens::Begin() {
  while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  return at_;
}

std::string_view Tokens::PeekChunk() {
  std::size_t end = Begin();
  while (end < text_.size() && !absl::ascii_isspace(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

std::string_view Tokens::Chunk() {
  const std::string_view chunk = PeekChunk();
  at_ += chunk.size();
  return chunk;
}

bool Tokens::TakeChunk(std::string_view chunk) {
  if (PeekChunk() != chunk) return false;
  at_ += chunk.size();
  return true;
}

Token Tokens::Take(TokenKind kind, std::size_t end) {
  Token token;
  token.kind = kind;
  token.offset = at_;
  token.text = text_.substr(at_, end - at_);
  at_ = end;
  return token;
}

absl::StatusOr<Token> Tokens::Next() {
  if (Begin() == text_.size()) return Take(TokenKind::kEnd, at_);
  const char first = text_[at_];
  const bool digit_follows =
      at_ + 1 < text_.size() && absl::ascii_isdigit(text_[at_ + 1]);
  // A dot between names is a sign.
  if (absl::ascii_isdigit(first) || (first == '.' && digit_follows)) {
    return Number();
  }
  if (IsWordBegin(first)) {
    std::size_t end = at_ + 1;
    while (end < text_.size() &&
           (IsWordPart(text_[end]) ||
            rules_.word_signs.find(text_[end]) != std::string_view::npos)) {
      ++end;
    }
    return Take(TokenKind::kWord, end);
  }
  if (first == '`' || first == '\'' || first == '"') return Quoted();
  return Sign();
}

Token Tokens::Number() {
  std::size_t end = at_;
  const auto digits = [&] {
    while (end < text_.size() && absl::ascii_isdigit(text_[end])) ++end;
  };
  digits();
  if (end < text_.size() && text_[end] == '.') {
    ++end;
    digits();
  }
  // "1e3" is a number, but "1each" is a number and a word.
  std::size_t exponent = end;
  if (exponent < text_.size() && (text_[exponent] | 0x20) == 'e') {
    ++exponent;
    if (exponent < text_.size() &&
        (text_[exponent] == '-' || text_[exponent] == '+')) {
      ++exponent;
    }
    if (exponent < text_.size() && absl::ascii_isdigit(text_[exponent])) {
      end = exponent;
      digits();
    }
  }
  const std::size_t suffix = end - at_;
  while (end < text_.size() && IsWordPart(text_[end])) ++end;
  Token token = Take(TokenKind::kNumber, end);
  token.suffix = token.text.substr(suffix);
  return token;
}

absl::StatusOr<Token> Tokens::Quoted() {
  const char quote = text_[at_];
  std::size_t end = at_ + 1;
  while (end < text_.size() && text_[end] != quote) {
    end += rules_.escapes && text_[end] == '\\' ? 2 : 1;
  }
  if (end >= text_.size()) {
    return Error(at_, absl::StrFormat("the quote %c is not closed", quote));
  }
  Token token = Take(TokenKind::kQuoted, end + 1);
  token.text = token.text.substr(1, token.text.size() - 2);
  token.quote = quote;
  return token;
}

absl::StatusOr<Token> Tokens::Sign() {
  for (const std::string_view sign : rules_.signs) {
    if (text_.substr(at_).starts_with(sign)) {
      return Take(TokenKind::kSign, at_ + sign.size());
    }
  }
  // Takes whole characters: never half of a UTF-8 sequence.
  std::size_t end = at_ + 1;
  while (end < text_.size() && (text_[end] & 0xc0) == 0x80) ++end;
  return Error(at_, absl::StrFormat("`%s` has no meaning in an expression",
                                    EscapeName(text_.substr(at_, end - at_))));
}

}  // namespace countrace::base
