#include "rmap/where/condition_truth.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rmap/where/number_cell.h"

namespace countrace::rmap::where {
namespace {

// One side of a comparison in one row: a text, a number, or unknown.
struct Value {
  std::optional<std::string> text;
  std::optional<NumberCell> number;
};

Value ValueOf(const Cell& cell) {
  Value value;
  if (const auto* text = std::get_if<std::string>(&cell)) {
    value.text = *text;
  } else if (const auto* path = std::get_if<std::vector<std::string>>(&cell)) {
    value.text.emplace();
    for (const std::string& name : *path) {
      *value.text += (value.text->empty() ? "" : " > ") + name;
    }
  } else if (const auto* flag = std::get_if<bool>(&cell)) {
    value.number = std::uint64_t{*flag ? 1u : 0u};
  } else if (const auto* count = std::get_if<std::uint64_t>(&cell)) {
    value.number = *count;
  } else if (const auto* amount = std::get_if<std::int64_t>(&cell)) {
    value.number = *amount;
  } else if (const auto* estimate = std::get_if<double>(&cell)) {
    value.number = *estimate;
  }
  return value;
}

bool Holds(Comparison comparison, std::partial_ordering order) {
  switch (comparison) {
    case Comparison::kEqual:
      return order == 0;
    case Comparison::kNotEqual:
      return order != 0;
    case Comparison::kLess:
      return order < 0;
    case Comparison::kLessOrEqual:
      return order <= 0;
    case Comparison::kGreater:
      return order > 0;
    case Comparison::kGreaterOrEqual:
      return order >= 0;
    case Comparison::kMatches:
    case Comparison::kMatchesNot:
      break;
  }
  return false;
}

using Truth = std::optional<bool>;  // absent: neither true nor false

std::partial_ordering Reverse(std::partial_ordering order) {
  return order < 0   ? std::partial_ordering::greater
         : order > 0 ? std::partial_ordering::less
                     : order;
}

// `left`, `right`: values of the row, where the step names a field.
Truth Compared(const WhereStep& step, const Value& left, const Value& right) {
  const bool left_is_field = step.left.kind == Operand::Kind::kField;
  const bool right_is_field = step.right.kind == Operand::Kind::kField;
  const std::optional<std::string> a =
      left_is_field ? left.text : std::optional(step.left.text);
  if (IsMatch(step.comparison)) {
    if (!a) return std::nullopt;
    return step.pattern.Finds(*a) == (step.comparison == Comparison::kMatches);
  }
  const auto known = [](const Value& value) {
    return value.text || value.number;
  };
  if ((left_is_field && !known(left)) || (right_is_field && !known(right))) {
    return std::nullopt;
  }
  const auto number = [](const Operand& operand, const Value& value) {
    return value.number || operand.kind == Operand::Kind::kNumber;
  };
  if (number(step.left, left) != number(step.right, right)) return std::nullopt;
  if (left.text || right.text) {
    if (IsOrder(step.comparison)) return std::nullopt;
    const std::optional<std::string> b =
        right_is_field ? right.text : std::optional(step.right.text);
    return (a == b) == (step.comparison == Comparison::kEqual);
  }
  std::partial_ordering order = std::partial_ordering::unordered;
  if (left_is_field && right_is_field) {
    order = Compare(*left.number, *right.number);
  } else if (left_is_field) {
    order = Compare(*left.number, step.right.number);
  } else {
    order = Reverse(Compare(*right.number, step.left.number));
  }
  return Holds(step.comparison, order);
}

Truth And(Truth a, Truth b) {
  if ((a && !*a) || (b && !*b)) return false;
  if (!a || !b) return std::nullopt;
  return true;
}
Truth Or(Truth a, Truth b) {
  if ((a && *a) || (b && *b)) return true;
  if (!a || !b) return std::nullopt;
  return false;
}

}  // namespace

bool Holds(const WhereExpression& where,
           const std::function<Cell(std::size_t step, bool left)>& value) {
  std::vector<Truth> stack;
  const auto of = [&](std::size_t i, const Operand& operand, bool left) {
    return operand.kind == Operand::Kind::kField ? ValueOf(value(i, left))
                                                 : Value();
  };
  for (std::size_t i = 0; i < where.steps.size(); ++i) {
    const WhereStep& step = where.steps[i];
    if (step.kind == WhereStep::Kind::kCompare) {
      stack.push_back(Compared(step, of(i, step.left, /*left=*/true),
                               of(i, step.right, /*left=*/false)));
      continue;
    }
    if (step.kind == WhereStep::Kind::kNot) {
      if (stack.back()) stack.back() = !*stack.back();
      continue;
    }
    const Truth b = stack.back();
    stack.pop_back();
    stack.back() = step.kind == WhereStep::Kind::kAnd ? And(stack.back(), b)
                                                      : Or(stack.back(), b);
  }
  return stack.empty() || stack.back().value_or(false);
}

}  // namespace countrace::rmap::where
