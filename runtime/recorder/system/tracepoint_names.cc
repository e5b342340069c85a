#include "runtime/recorder/system/tracepoint_names.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "base/text/trim.h"

namespace countrace::runtime {
namespace {

using logformat::NamedNumber;
using logformat::ParseNumberNames;

constexpr std::uint64_t kAll = ~std::uint64_t{0};
constexpr std::string_view kRecord = "REC->";

bool IsWord(char c) { return absl::ascii_isalnum(c) || c == '_'; }

std::string_view WordOf(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, IsWord);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

// A number, or (field >> shift) & mask.
struct Term {
  std::string_view field;  // empty: it is `number`
  std::uint64_t number = 0;
  std::uint64_t shift = 0;
  std::uint64_t mask = kAll;

  bool operator==(const Term&) const = default;
};

using Number = std::uint64_t;
struct Operator {
  std::string_view text;
  unsigned level;
  Number (*apply)(Number left, Number right);
};
constexpr Operator kOperators[] = {
    {"|", 1, [](Number a, Number b) { return a | b; }},
    {"^", 2, [](Number a, Number b) { return a ^ b; }},
    {"&", 3, [](Number a, Number b) { return a & b; }},
    {"<<", 4, [](Number a, Number b) { return b < 64 ? a << b : 0; }},
    {">>", 4, [](Number a, Number b) { return b < 64 ? a >> b : 0; }},
    {"+", 5, [](Number a, Number b) { return a + b; }},
    {"-", 5, [](Number a, Number b) { return a - b; }},
    {"*", 6, [](Number a, Number b) { return a * b; }}};

// An expression of C with integers, casts, and at most one field.
class Expression {
 public:
  static std::optional<Term> Of(std::string_view text, WordValue& value_of) {
    Expression expression(text, value_of);
    const std::optional<Term> term = expression.Binary(1);
    return expression.rest_.empty() ? term : std::nullopt;
  }

 private:
  Expression(std::string_view text, WordValue& value_of)
      : rest_(base::Trim(text)), value_of_(value_of) {}

  void Skip(std::size_t bytes) { rest_ = base::Trim(rest_.substr(bytes)); }

  // Operators from `least` on.
  std::optional<Term> Binary(unsigned least) {
    std::optional<Term> left = Unary();
    while (left) {
      const auto* const found =
          std::ranges::find_if(kOperators, [this](const Operator& known) {
            return rest_.starts_with(known.text);
          });
      if (found == std::end(kOperators) || found->level < least) break;
      Skip(found->text.size());
      const std::optional<Term> right = Binary(found->level + 1);
      left = right ? Apply(*left, *found, *right) : std::nullopt;
    }
    return left;
  }

  static std::optional<Term> Apply(Term left, const Operator& by,
                                   const Term& right) {
    if (!right.field.empty()) return std::nullopt;
    if (left.field.empty()) {
      left.number = by.apply(left.number, right.number);
      return left;
    }
    if (by.text != "&" && by.text != ">>") return std::nullopt;
    left.mask = by.apply(left.mask, right.number);
    if (by.text == ">>") left.shift += right.number;
    return left.shift < 64 ? std::optional(left) : std::nullopt;
  }

  std::optional<Term> Unary() {
    constexpr int kMostNested = 100;
    if (rest_.empty() || ++nested_ > kMostNested) return std::nullopt;
    std::optional<Term> term;
    if (rest_[0] == '(') {
      term = Parentheses();
    } else if (rest_[0] == '~' || rest_[0] == '-') {
      const bool negative = rest_[0] == '-';
      Skip(1);
      term = Unary();
      if (term && !term->field.empty()) term.reset();
      if (term) term->number = negative ? -term->number : ~term->number;
    } else if (rest_.starts_with(kRecord)) {
      rest_.remove_prefix(kRecord.size());
      term = Term{.field = WordOf(rest_)};
      Skip(term->field.size());
      if (term->field.empty()) term.reset();
    } else {
      term = Constant();
    }
    --nested_;
    return term;
  }

  // "(1 << 3)", or a cast and what it is of: "( unsigned long)1".
  std::optional<Term> Parentheses() {
    Skip(1);
    const auto end = std::ranges::find_if_not(
        rest_, [](char c) { return IsWord(c) || c == ' ' || c == '*'; });
    const auto bytes = static_cast<std::size_t>(end - rest_.begin());
    const std::string_view behind = rest_.substr(bytes);
    if (!rest_.empty() && !absl::ascii_isdigit(rest_[0]) &&
        behind.starts_with(')')) {
      const std::string_view next = base::Trim(behind.substr(1));
      if (!next.empty() &&
          (IsWord(next[0]) || next[0] == '(' || next[0] == '~')) {
        Skip(bytes + 1);
        return Unary();
      }
    }
    std::optional<Term> term = Binary(1);
    if (!rest_.starts_with(')')) return std::nullopt;
    Skip(1);
    return term;
  }

  std::optional<Term> Constant() {
    std::string_view digits = WordOf(rest_);
    Skip(digits.size());
    Term term;
    if (!digits.empty() && !absl::ascii_isdigit(digits[0])) {
      const std::optional<std::uint64_t> value = value_of_(digits);
      if (!value) return std::nullopt;
      term.number = *value;
      return term;
    }
    digits = digits.substr(0, digits.find_last_not_of("uUlL") + 1);
    char* end = nullptr;
    const std::string number(digits);
    term.number = std::strtoull(number.c_str(), &end, 0);
    if (digits.empty() || *end != 0) return std::nullopt;
    return term;
  }

  std::string_view rest_;
  WordValue& value_of_;
  int nested_ = 0;
};

// Splits `text` at its commas outside of brackets and strings, up to a closing
// bracket that is not opened in it, and returns what is behind that.
std::string_view Split(std::string_view text,
                       std::vector<std::string_view>& parts) {
  std::size_t depth = 0, begin = 0, i = 0;
  bool quoted = false;
  const auto add = [&] {
    parts.push_back(base::Trim(text.substr(begin, i - begin)));
    begin = i + 1;
  };
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) {
      if (c == '\\') ++i;
    } else if (c == '(' || c == '{') {
      ++depth;
    } else if (c == ')' || c == '}') {
      if (depth == 0) break;
      --depth;
    } else if (c == ',' && depth == 0) {
      add();
    }
  }
  i = std::min(i, text.size());
  add();
  return text.substr(std::min(begin, text.size()));
}

// A string without escapes; empty: it is none.
std::string_view StringOf(std::string_view text) {
  const bool quoted =
      text.size() > 1 && text.starts_with('"') && text.ends_with('"');
  const std::string_view inside = text.substr(quoted, text.size() - 2 * quoted);
  return quoted && inside.find_first_of("\"\\") == inside.npos ? inside : "";
}

// Its text (NumberNamesText()): `parts` of a call with `of`.
std::string TextOf(const Term& of, bool flags,
                   const std::vector<std::string_view>& parts,
                   WordValue& value_of) {
  const std::uint64_t mask = of.mask << of.shift;
  std::string text = absl::StrFormat("%x %x", flags ? 0 : mask, mask);
  for (std::size_t i = flags ? 2 : 1; i < parts.size(); ++i) {
    if (!parts[i].starts_with('{')) continue;
    std::vector<std::string_view> pair;
    Split(parts[i].substr(1), pair);
    const auto value = Expression::Of(pair[0], value_of);
    const std::string_view name = pair.size() == 2 ? StringOf(pair[1]) : "";
    // The kernel compares what is left of the field.
    if (!value || !value->field.empty() || name.empty() ||
        (of.mask != kAll && (value->number & ~of.mask) != 0)) {
      continue;
    }
    absl::StrAppendFormat(&text, "\t%x=%s",
                          NamedNumber(value->number << of.shift), name);
  }
  return text;
}

// Adds the names of one argument of the print format: `__print_flags(REC->x,
// "|", {1, "A"})`, or `(REC->x) ? __print_flags(...) : "none"`.
void AddNames(std::string_view argument, WordValue& value_of,
              FieldNames& names) {
  for (const std::string_view call : {"__print_symbolic(", "__print_flags("}) {
    const std::size_t begin = argument.find(call);
    if (begin == std::string_view::npos) continue;
    std::vector<std::string_view> parts;
    const std::string_view behind =
        base::Trim(Split(argument.substr(begin + call.size()), parts));
    const auto of = Expression::Of(parts[0], value_of);
    if (!of || of->field.empty()) continue;
    std::string text = TextOf(*of, call == "__print_flags(", parts, value_of);
    std::string_view condition = base::Trim(argument.substr(0, begin));
    if (!condition.empty()) {
      if (!condition.ends_with('?')) continue;
      condition.remove_suffix(1);
      if (Expression::Of(condition, value_of) != of) continue;
      const std::string_view zero =
          behind.starts_with(':') ? StringOf(base::Trim(behind.substr(1))) : "";
      if (!zero.empty()) absl::StrAppendFormat(&text, "\t0=%s", zero);
    }
    const auto [at, first] = names.emplace(of->field, ParseNumberNames(text));
    if (!first) at->second = nullptr;
  }
}

}  // namespace

FieldNames TracepointNames(std::string_view format, WordValue& value_of) {
  constexpr std::string_view kBegin = "print fmt:";
  FieldNames names;
  const std::size_t at = format.find(kBegin);
  if (at == std::string_view::npos) return names;
  std::vector<std::string_view> arguments;
  Split(format.substr(at + kBegin.size()), arguments);
  for (const auto& argument : arguments) AddNames(argument, value_of, names);
  return names;
}

}  // namespace countrace::runtime
