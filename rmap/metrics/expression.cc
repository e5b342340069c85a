#include "rmap/metrics/expression.h"

#include <cmath>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/tokens.h"

namespace countrace::rmap::metrics {
namespace {

using base::IsWordBegin;
using base::IsWordPart;
using base::Token;
using base::TokenKind;

constexpr const char* kStatisticNames[] = {
    "count", "sum", "mean", "stddev", "min", "max", "p50", "p90", "p99"};

std::optional<Statistic> StatisticOf(std::string_view word) {
  for (std::size_t i = 0; i < std::size(kStatisticNames); ++i) {
    if (word == kStatisticNames[i]) return static_cast<Statistic>(i);
  }
  return std::nullopt;
}

constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "(",
                                       ")", ",", ".", "@"};
constexpr base::TokenRules kRules = {.word_signs = "", .signs = kSigns};

// Precedence climbing (Pratt 1973) with one token of look-ahead. The first
// error ends parsing: every later step sees the end of the text.
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, const base::SourcePlace& place)
      : text_(text), tokens_(text, result_.place, kRules) {
    result_.text = std::string(text);
    result_.place = place;
  }

  absl::StatusOr<Expression> Parse() {
    if (text_.size() > kMaxExpressionBytes) {
      Fail(0, absl::StrFormat("an expression of %d bytes; at most %d are read",
                              text_.size(), kMaxExpressionBytes));
    }
    Advance();
    if (status_.ok() && token_.kind == TokenKind::kEnd) {
      Fail(0, "an expression is missing");
    }
    Sum(0);
    if (status_.ok() && token_.kind != TokenKind::kEnd) Unexpected();
    if (!status_.ok()) return status_;
    return std::move(result_);
  }

 private:
  void Fail(std::size_t offset, std::string_view message) {
    if (status_.ok()) {
      status_ = base::ErrorAt(result_.place, text_, offset, message);
    }
    token_ = {};
  }

  void Unexpected() {
    if (token_.kind == TokenKind::kEnd) {
      Fail(text_.size(), "the expression ends too early");
    } else {
      Fail(token_.offset,
           absl::StrFormat("`%s` is not expected here; after a value comes an "
                           "operator (+ - * /), after that a value",
                           base::EscapeName(token_.text)));
    }
  }

  void Advance() {
    if (!status_.ok()) return;
    const auto token = tokens_.Next();
    if (!token.ok()) {
      status_ = token.status();
      token_ = {};
      return;
    }
    token_ = *token;
    if (token_.kind == TokenKind::kNumber) Number();
  }

  void Number() {
    const std::string spelled(token_.digits());
    if (!absl::SimpleAtod(spelled, &number_) || !std::isfinite(number_)) {
      Fail(token_.offset, absl::StrFormat("`%s` is no number", spelled));
      return;
    }
    dimensions_ = {};
    if (token_.suffix.empty()) return;
    const auto unit = ParseUnit(token_.suffix);
    if (!unit.ok()) {
      Fail(token_.offset + spelled.size(),
           std::string(unit.status().message()));
      return;
    }
    number_ *= unit->scale;
    dimensions_ = unit->dimensions;
  }

  bool IsSign(char sign) const {
    return token_.kind == TokenKind::kSign && token_.text[0] == sign;
  }
  bool Accept(char sign) {
    if (!IsSign(sign)) return false;
    Advance();
    return status_.ok();
  }
  void Expect(char sign) {
    if (!status_.ok() || Accept(sign)) return;
    if (!status_.ok()) return;
    Fail(token_.kind == TokenKind::kEnd ? text_.size() : token_.offset,
         absl::StrFormat("expected `%c`", sign));
  }

  void Emit(Operation operation, std::uint32_t operands, std::size_t offset) {
    Node node;
    node.operation = operation;
    node.operands = operands;
    node.offset = offset;
    result_.nodes.push_back(std::move(node));
  }

  bool TooDeep(std::size_t depth) {
    if (depth < kMaxExpressionDepth) return false;
    Fail(token_.offset,
         absl::StrFormat("nested more than %d deep", kMaxExpressionDepth));
    return true;
  }

  void Sum(std::size_t depth) {
    if (!status_.ok() || TooDeep(depth)) return;
    Product(depth);
    while (IsSign('+') || IsSign('-')) {
      const bool adds = IsSign('+');
      const std::size_t offset = token_.offset;
      Advance();
      Product(depth);
      Emit(adds ? Operation::kAdd : Operation::kSubtract, 2, offset);
    }
  }

  void Product(std::size_t depth) {
    Signed(depth);
    while (IsSign('*') || IsSign('/')) {
      const bool multiplies = IsSign('*');
      const std::size_t offset = token_.offset;
      Advance();
      Signed(depth);
      Emit(multiplies ? Operation::kMultiply : Operation::kDivide, 2, offset);
    }
  }

  void Signed(std::size_t depth) {
    const std::size_t offset = token_.offset;
    bool negative = false;
    while (IsSign('-')) {
      negative = !negative;
      Advance();
    }
    Primary(depth);
    if (negative) Emit(Operation::kNegate, 1, offset);
  }

  void Primary(std::size_t depth) {
    if (!status_.ok()) return;
    if (Accept('(')) {
      Sum(depth + 1);
      Expect(')');
      return;
    }
    if (token_.kind == TokenKind::kNumber) {
      Emit(Operation::kNumber, 0, token_.offset);
      result_.nodes.back().number = number_;
      result_.nodes.back().dimensions = dimensions_;
      Advance();
      return;
    }
    if (token_.kind == TokenKind::kWord) {
      const Token word = token_;
      const std::size_t next =
          text_.find_first_not_of(" \t\n\r", tokens_.position());
      if (next != text_.npos && text_[next] == '(') {
        Advance();
        Advance();
        Function(word, depth + 1);
        return;
      }
    }
    Name(Operation::kName);
  }

  // Parses the rest after "word(".
  void Function(const Token& word, std::size_t depth) {
    if (!status_.ok()) return;
    if (word.text == "abs" || word.text == "sqrt") {
      Sum(depth);
      Expect(')');
      Emit(word.text == "abs" ? Operation::kAbsolute : Operation::kSquareRoot,
           1, word.offset);
      return;
    }
    const auto statistic = StatisticOf(word.text);
    if (!statistic) {
      Fail(word.offset,
           absl::StrFormat("`%s` is no function; known are min, max, abs and "
                           "sqrt of values, and count, sum, mean, stddev, min, "
                           "max, p50, p90 and p99 over TABLE.NAME",
                           word.text));
      return;
    }
    const std::size_t begin = result_.nodes.size();
    const bool choice =
        *statistic == Statistic::kMin || *statistic == Statistic::kMax;
    if (!choice) {
      Name(Operation::kStatistic);
    } else {
      std::uint32_t operands = 0;
      do {
        Sum(depth);
        ++operands;
      } while (status_.ok() && Accept(','));
      if (operands > 1) {
        Expect(')');
        Emit(*statistic == Statistic::kMin ? Operation::kLeast
                                           : Operation::kGreatest,
             operands, word.offset);
        return;
      }
      if (!status_.ok()) return;
      if (result_.nodes.size() != begin + 1 ||
          result_.nodes.back().operation != Operation::kName) {
        Fail(word.offset,
             absl::StrFormat("%s of one value; give it two values, or one "
                             "TABLE.NAME, to look at all rows",
                             word.text));
        return;
      }
      result_.nodes.back().operation = Operation::kStatistic;
    }
    Expect(')');
    if (!status_.ok()) return;
    result_.nodes.back().statistic = *statistic;
    result_.nodes.back().offset = word.offset;
  }

  void Name(Operation operation) {
    if (!status_.ok()) return;
    Node node;
    node.operation = operation;
    node.offset = token_.offset;
    if (Accept('@')) {
      if (token_.kind != TokenKind::kWord &&
          token_.kind != TokenKind::kQuoted) {
        Unexpected();
        return;
      }
      node.trace = std::string(token_.text);
      Advance();
      Expect('.');
    }
    if (!status_.ok()) return;
    if (token_.kind != TokenKind::kWord && token_.kind != TokenKind::kQuoted) {
      Unexpected();
      return;
    }
    node.name = std::string(token_.text);
    node.quoted = token_.kind == TokenKind::kQuoted;
    Advance();
    if (!node.quoted && Accept('.')) {
      if (token_.kind != TokenKind::kWord &&
          token_.kind != TokenKind::kQuoted) {
        Unexpected();
        return;
      }
      node.qualifier = std::exchange(node.name, std::string(token_.text));
      node.quoted = token_.kind == TokenKind::kQuoted;
      Advance();
    }
    result_.nodes.push_back(std::move(node));
  }

  const std::string_view text_;
  Expression result_;
  base::Tokens tokens_;
  Token token_;
  double number_ = 0;      // value of token_ in base units,
  Dimensions dimensions_;  // and its unit's dimensions
  absl::Status status_;
};

}  // namespace

const char* StatisticName(Statistic statistic) {
  return kStatisticNames[static_cast<std::size_t>(statistic)];
}

absl::StatusOr<Expression> ParseExpression(std::string_view text,
                                           const base::SourcePlace& place) {
  return ExpressionParser(text, place).Parse();
}

bool IsWord(std::string_view text) {
  if (text.empty() || !IsWordBegin(text[0])) return false;
  for (const char c : text) {
    if (!IsWordPart(c)) return false;
  }
  return true;
}

}  // namespace countrace::rmap::metrics
