#include "rmap/metrics/expression.h"

#include <cmath>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "base/text/token_reader.h"

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

// Precedence climbing (Pratt 1973).
class ExpressionParser : base::TokenReader {
 public:
  ExpressionParser(std::string_view text, const base::SourcePlace& place)
      : TokenReader(text, place, kRules) {
    result_.text = std::string(text);
    result_.place = place;
  }

  absl::StatusOr<Expression> Parse() {
    Begin("");
    Sum(0);
    if (ok() && token_.kind != TokenKind::kEnd) Unexpected();
    if (!ok()) return status_;
    return std::move(result_);
  }

 private:
  void Unexpected() {
    if (token_.kind == TokenKind::kEnd) {
      Fail(text_.size(), "the expression ends too early");
    } else {
      Fail(token_.offset,
           absl::StrFormat("`%s` is not expected here; after a value comes an "
                           "operator (+ - * /), after that a value",
                           Shown()));
    }
  }

  void Number() {
    const Token number = token_;
    Emit(Operation::kNumber, 0, number.offset);
    Node& node = result_.nodes.back();
    const std::string spelled(number.digits());
    if (!absl::SimpleAtod(spelled, &node.number) ||
        !std::isfinite(node.number)) {
      Fail(number.offset, absl::StrFormat("`%s` is no number", spelled));
      return;
    }
    if (!number.suffix.empty()) {
      const auto unit = ParseUnit(number.suffix);
      if (!unit.ok()) {
        Fail(number.offset + spelled.size(),
             std::string(unit.status().message()));
        return;
      }
      node.number *= unit->scale;
      node.dimensions = unit->dimensions;
    }
    Advance();
  }

  void Expect(std::string_view sign) {
    if (!ok() || Accept(sign) || !ok()) return;
    Fail(Place(), absl::StrFormat("expected `%s`", sign));
  }

  void Emit(Operation operation, std::uint32_t operands, std::size_t offset) {
    Node node;
    node.operation = operation;
    node.operands = operands;
    node.offset = offset;
    result_.nodes.push_back(std::move(node));
  }

  void Sum(std::size_t depth) {
    if (!ok() || TooDeep(depth)) return;
    Product(depth);
    while (IsSign("+") || IsSign("-")) {
      const bool adds = IsSign("+");
      const std::size_t offset = token_.offset;
      Advance();
      Product(depth);
      Emit(adds ? Operation::kAdd : Operation::kSubtract, 2, offset);
    }
  }

  void Product(std::size_t depth) {
    Signed(depth);
    while (IsSign("*") || IsSign("/")) {
      const bool multiplies = IsSign("*");
      const std::size_t offset = token_.offset;
      Advance();
      Signed(depth);
      Emit(multiplies ? Operation::kMultiply : Operation::kDivide, 2, offset);
    }
  }

  void Signed(std::size_t depth) {
    const std::size_t offset = token_.offset;
    bool negative = false;
    while (IsSign("-")) {
      negative = !negative;
      Advance();
    }
    Primary(depth);
    if (negative) Emit(Operation::kNegate, 1, offset);
  }

  void Primary(std::size_t depth) {
    if (!ok()) return;
    if (Accept("(")) {
      Sum(depth + 1);
      Expect(")");
      return;
    }
    if (token_.kind == TokenKind::kNumber) {
      Number();
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
    if (!ok()) return;
    if (word.text == "abs" || word.text == "sqrt") {
      Sum(depth);
      Expect(")");
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
      } while (ok() && Accept(","));
      if (operands > 1) {
        Expect(")");
        Emit(*statistic == Statistic::kMin ? Operation::kLeast
                                           : Operation::kGreatest,
             operands, word.offset);
        return;
      }
      if (!ok()) return;
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
    Expect(")");
    if (!ok()) return;
    result_.nodes.back().statistic = *statistic;
    result_.nodes.back().offset = word.offset;
  }

  void Name(Operation operation) {
    if (!ok()) return;
    Node node;
    node.operation = operation;
    node.offset = token_.offset;
    if (Accept("@")) {
      if (token_.kind != TokenKind::kWord &&
          token_.kind != TokenKind::kQuoted) {
        Unexpected();
        return;
      }
      node.trace = std::string(token_.text);
      Advance();
      Expect(".");
    }
    if (!ok()) return;
    if (token_.kind != TokenKind::kWord && token_.kind != TokenKind::kQuoted) {
      Unexpected();
      return;
    }
    node.name = std::string(token_.text);
    node.quoted = token_.kind == TokenKind::kQuoted;
    Advance();
    if (!node.quoted && Accept(".")) {
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

  Expression result_;
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
