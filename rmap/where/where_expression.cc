#include "rmap/where/where_expression.h"

#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/token_reader.h"

namespace countrace::rmap::where {
namespace {

using base::Token;
using base::TokenKind;
using base::TokenRules;

// Includes signs that occur only in errors, for better messages.
constexpr std::string_view kSigns[] = {"==", "!=", "<=", ">=", "=~", "!~",
                                       "&&", "||", "<",  ">",  "!",  "(",
                                       ")",  "-",  "=",  "&",  "|"};
// The characters of event names, "page-faults:u", and of columns,
// "wall_ns.incl".
constexpr TokenRules kRules = {
    .word_signs = ".:-", .signs = kSigns, .escapes = true};

constexpr const char* kComparisons[] = {
    "==", "!=", "<", "<=", ">", ">=", "=~", "!~"};

const base::SourcePlace& PlaceOf(bool given) {
  static const auto* const where = new base::SourcePlace{"--where", 1, 1};
  static const auto* const place = new base::SourcePlace{"--given", 1, 1};
  return given ? *place : *where;
}

class WhereParser : base::TokenReader {
 public:
  WhereParser(std::string_view text, bool given)
      : TokenReader(text, PlaceOf(given), kRules) {
    result_.text = std::string(text);
    result_.given = given;
  }

  absl::StatusOr<WhereExpression> Parse() {
    Begin(", such as comm == \"make\"");
    Any(0);
    if (ok() && token_.kind != TokenKind::kEnd) {
      Fail(token_.offset,
           IsSign("&") || IsSign("|")
               ? absl::StrFormat("write %s%s", token_.text, token_.text)
               : absl::StrFormat("`%s` is not expected here; after a condition "
                                 "comes && or ||",
                                 Shown()));
    }
    if (!ok()) return status_;
    return std::move(result_);
  }

 private:
  void Emit(WhereStep::Kind kind, std::size_t offset) {
    WhereStep step;
    step.kind = kind;
    step.offset = offset;
    result_.steps.push_back(std::move(step));
  }

  void Any(std::size_t depth) {
    All(depth);
    while (IsSign("||")) {
      const std::size_t offset = token_.offset;
      Advance();
      All(depth);
      Emit(WhereStep::Kind::kOr, offset);
    }
  }

  void All(std::size_t depth) {
    Condition(depth);
    while (IsSign("&&")) {
      const std::size_t offset = token_.offset;
      Advance();
      Condition(depth);
      Emit(WhereStep::Kind::kAnd, offset);
    }
  }

  void Condition(std::size_t depth) {
    if (!ok()) return;
    std::optional<std::size_t> negation;
    bool negated = false;
    while (IsSign("!")) {
      negation = token_.offset;
      negated = !negated;
      Advance();
    }
    if (TooDeep(depth)) return;
    if (IsSign("(")) {
      const std::size_t offset = token_.offset;
      Advance();
      Any(depth + 1);
      if (!ok()) return;
      if (!IsSign(")")) {
        if (token_.kind == TokenKind::kEnd) {
          Fail(offset, "this `(` is not closed");
        } else {
          Fail(token_.offset,
               absl::StrFormat("`%s` is not expected here; after a condition "
                               "comes &&, || or `)`",
                               Shown()));
        }
        return;
      }
      Advance();
    } else if (negation) {
      // != and !~ negate one comparison; `! a == b` is ambiguous.
      Fail(*negation, "after ! comes a condition in parentheses: !(...)");
      return;
    } else {
      Compare();
    }
    if (negated && ok()) Emit(WhereStep::Kind::kNot, *negation);
  }

  void Compare() {
    WhereStep step;
    step.kind = WhereStep::Kind::kCompare;
    step.left = TakeOperand();
    if (!ok()) return;
    step.offset = token_.offset;
    const auto comparison = FindComparison();
    if (!comparison && !IsSign("=") && step.left.text.starts_with("level.")) {
      // Up or down: the name alone says up.
      step.comparison = Comparison::kNotEqual;
      step.right.kind = Operand::Kind::kNumber;
      result_.steps.push_back(std::move(step));
      return;
    }
    if (!comparison) {
      if (IsSign("=")) {
        Fail(token_.offset, "write == to compare");
      } else {
        Fail(Place(), "a comparison is missing here: == != < <= > >= =~ or !~");
      }
      return;
    }
    step.comparison = *comparison;
    Advance();
    step.right = TakeOperand();
    if (!ok()) return;
    if (step.left.kind != Operand::Kind::kField &&
        step.right.kind != Operand::Kind::kField) {
      Fail(step.left.offset, "neither side of this is a field");
      return;
    }
    if (*comparison == Comparison::kMatches ||
        *comparison == Comparison::kMatchesNot) {
      TakePattern(step);
    }
    if (ok()) result_.steps.push_back(std::move(step));
  }

  void TakePattern(WhereStep& step) {
    if (step.left.kind != Operand::Kind::kField ||
        step.right.kind != Operand::Kind::kText) {
      Fail(step.offset,
           absl::StrFormat("%s takes a field on its left and a pattern in "
                           "quotes on its right",
                           ComparisonText(step.comparison)));
      return;
    }
    PatternError error;
    if (step.pattern.Parse(step.right.text, error)) return;
    // The place of the error in the text, if no backslash comes before it.
    const std::string_view raw = text_.substr(step.right.offset + 1);
    const bool plain =
        raw.substr(0, error.offset) ==
        std::string_view(step.right.text).substr(0, error.offset);
    Fail(step.right.offset + (plain ? 1 + error.offset : 0),
         "in the pattern: " + error.message);
  }

  std::optional<Comparison> FindComparison() const {
    for (std::size_t i = 0; i < std::size(kComparisons); ++i) {
      if (IsSign(kComparisons[i])) return static_cast<Comparison>(i);
    }
    return std::nullopt;
  }

  Operand TakeOperand() {
    Operand operand;
    operand.offset = token_.offset;
    bool negative = false;
    if (IsSign("-")) {
      negative = true;
      Advance();
      if (ok() && token_.kind != TokenKind::kNumber) {
        Fail(operand.offset, "- stands before a number only");
      }
    }
    if (!ok()) return operand;
    switch (token_.kind) {
      case TokenKind::kWord:
        operand.kind = Operand::Kind::kField;
        operand.text = std::string(token_.text);
        break;
      case TokenKind::kQuoted:
        operand.kind =
            token_.quote == '`' ? Operand::Kind::kField : Operand::Kind::kText;
        operand.text = token_.Unescaped();
        break;
      case TokenKind::kNumber: {
        operand.kind = Operand::Kind::kNumber;
        const auto plain = base::ParseExactNumber(token_.digits(), "");
        const auto number =
            base::ParseExactNumber(token_.digits(), token_.suffix);
        if (!number.ok()) {
          Fail(token_.offset + (plain.ok() ? token_.digits().size() : 0),
               std::string(number.status().message()));
          return operand;
        }
        operand.number = *number;
        if (negative) operand.number.numerator = -operand.number.numerator;
        break;
      }
      case TokenKind::kEnd:
        Fail(text_.size(), "the expression ends too early");
        return operand;
      case TokenKind::kSign:
        Fail(token_.offset,
             absl::StrFormat("`%s` is not expected here, but a field, a number "
                             "or a text in quotes",
                             Shown()));
        return operand;
    }
    Advance();
    return operand;
  }

  WhereExpression result_;
};

}  // namespace

const char* ComparisonText(Comparison comparison) {
  return kComparisons[static_cast<std::size_t>(comparison)];
}

absl::StatusOr<WhereExpression> ParseWhere(std::string_view text, bool given) {
  return WhereParser(text, given).Parse();
}

absl::Status WhereError(const WhereExpression& where, std::size_t offset,
                        std::string_view message) {
  return base::ErrorAt(PlaceOf(where.given), where.text, offset, message);
}

}  // namespace countrace::rmap::where
