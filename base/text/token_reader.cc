#include "base/text/token_reader.h"

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"

namespace countrace::base {

void TokenReader::Begin(std::string_view such_as) {
  if (text_.size() > kMaxExpressionBytes) {
    Fail(0, absl::StrFormat("an expression of %d bytes; at most %d are read",
                            text_.size(), kMaxExpressionBytes));
  }
  Advance();
  if (ok() && token_.kind == TokenKind::kEnd) {
    Fail(0, absl::StrFormat("an expression is missing%s", such_as));
  }
}

void TokenReader::Advance() {
  if (!ok()) return;
  const auto token = tokens_.Next();
  if (token.ok()) {
    token_ = *token;
  } else {
    status_ = token.status();
    token_ = {};
  }
}

void TokenReader::Fail(std::size_t offset, std::string_view message) {
  if (ok()) status_ = ErrorAt(place_, text_, offset, message);
  token_ = {};
}

bool TokenReader::Accept(std::string_view sign) {
  if (!IsSign(sign)) return false;
  Advance();
  return ok();
}

std::string TokenReader::Shown() const { return EscapeName(token_.text); }

bool TokenReader::TooDeep(std::size_t depth) {
  if (depth < kMaxExpressionDepth) return false;
  Fail(token_.offset,
       absl::StrFormat("nested more than %d deep", kMaxExpressionDepth));
  return true;
}

}  // namespace countrace::base
