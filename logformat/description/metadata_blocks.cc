#include "logformat/description/metadata_blocks.h"

#include <charconv>
#include <utility>

namespace countrace::logformat {
namespace {

enum class TokenKind { kEnd, kWord, kNumber, kString, kSign, kBad };
struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // words, numbers and signs
  std::string bytes;      // strings, escapes resolved
  std::size_t offset = 0;
};

// Splits TSDL text into words, numbers, strings and single characters.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token Next() {
    SkipBlank();
    Token token;
    token.offset = at_;
    if (at_ == text_.size()) return token;
    const char c = text_[at_];
    if (c == '"') return String();
    std::size_t end = at_ + 1;
    if (IsWord(c) || (c == '-' && end < text_.size() && IsDigit(text_[end]))) {
      while (end < text_.size() && IsWord(text_[end])) ++end;
      token.kind =
          IsDigit(c) || c == '-' ? TokenKind::kNumber : TokenKind::kWord;
    } else {
      token.kind = TokenKind::kSign;
    }
    token.text = text_.substr(at_, end - at_);
    at_ = end;
    return token;
  }

 private:
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  static bool IsWord(char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '_';
  }

  void SkipBlank() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else if (text_.substr(at_, 2) == "/*") {
        const std::size_t end = text_.find("*/", at_ + 2);
        at_ = end == std::string_view::npos ? text_.size() : end + 2;
      } else {
        return;
      }
    }
  }

  // The escapes TsdlString() writes, and no others.
  Token String() {
    Token token;
    token.offset = at_;
    token.kind = TokenKind::kBad;
    for (++at_; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == '"') {
        ++at_;
        token.kind = TokenKind::kString;
        return token;
      }
      if (c == '\\') {
        if (++at_ == text_.size()) return token;
        c = text_[at_];
        if (c == 't') {
          c = '\t';
        } else if (c >= '0' && c <= '7') {
          const std::string_view octal = text_.substr(at_, 3);
          unsigned value = 0;
          const auto parsed = std::from_chars(
              octal.data(), octal.data() + octal.size(), value, 8);
          if (parsed.ptr != octal.data() + 3 || value == 0 || value > 255) {
            return token;
          }
          at_ += 2;
          c = static_cast<char>(value);
        } else if (c != '"' && c != '\\') {
          return token;
        }
      } else if (c == '\n' || c == '\0') {
        return token;
      }
      token.bytes += c;
    }
    return token;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool IsSign(const Token& token, char sign) {
  return token.kind == TokenKind::kSign && token.text[0] == sign;
}

bool ReadEnv(Lexer& lexer, MetadataBlocks& blocks) {
  if (!IsSign(lexer.Next(), '{')) return false;
  for (;;) {
    const Token key = lexer.Next();
    blocks.bad_offset = key.offset;
    if (IsSign(key, '}')) break;
    if (key.kind != TokenKind::kWord || !IsSign(lexer.Next(), '=')) {
      return false;
    }
    const Token value = lexer.Next();
    blocks.bad_offset = value.offset;
    EnvValue parsed;
    if (value.kind == TokenKind::kString) {
      parsed = value.bytes;
    } else if (value.kind == TokenKind::kNumber) {
      std::int64_t number = 0;
      const char* end = value.text.data() + value.text.size();
      const auto result = std::from_chars(value.text.data(), end, number);
      if (result.ec != std::errc() || result.ptr != end) return false;
      parsed = number;
    } else {
      return false;
    }
    if (!IsSign(lexer.Next(), ';')) return false;
    if (!blocks.env.emplace(key.text, std::move(parsed)).second) return false;
  }
  blocks.has_env = IsSign(lexer.Next(), ';');
  return blocks.has_env;
}

}  // namespace

MetadataBlocks ReadMetadataBlocks(std::string_view text) {
  MetadataBlocks blocks;
  Lexer lexer(text);
  int depth = 0;
  bool in_trace = false;
  for (Token token = lexer.Next(); token.kind != TokenKind::kEnd;
       token = lexer.Next()) {
    if (IsSign(token, '{')) ++depth;
    if (IsSign(token, '}')) --depth;
    if (token.kind == TokenKind::kBad) {
      blocks.bad = true;
      blocks.bad_offset = token.offset;
      return blocks;
    }
    if (token.kind != TokenKind::kWord) continue;
    if (depth == 0) in_trace = token.text == "trace";
    if (depth == 0 && token.text == "env") {
      if (!ReadEnv(lexer, blocks)) {
        blocks.bad = true;
        return blocks;
      }
    } else if (depth == 1 && in_trace && token.text == "uuid") {
      if (IsSign(lexer.Next(), '=')) {
        Token value = lexer.Next();
        if (value.kind == TokenKind::kString && blocks.uuid.empty()) {
          blocks.uuid = std::move(value.bytes);
        }
      }
    }
  }
  return blocks;
}

}  // namespace countrace::logformat
