#include "rmap/metrics/unit_check.h"

#include <optional>

#include "absl/strings/str_format.h"

namespace countrace::rmap::metrics {
namespace {

struct Known {
  Dimensions dimensions;
  bool any = false;  // a 0 without a unit
};

absl::Status Different(const Expression& formula, const Node& node,
                       const Known& a, const Known& b) {
  const char* what = node.operation == Operation::kAdd        ? "add"
                     : node.operation == Operation::kSubtract ? "subtract"
                                                              : "compare";
  const bool literal =
      a.dimensions == Dimensions{} || b.dimensions == Dimensions{};
  return base::ErrorAt(
      formula.place, formula.text, node.offset,
      absl::StrFormat(
          "cannot %s %s and %s%s", what, DimensionsName(a.dimensions),
          DimensionsName(b.dimensions),
          literal ? "; a number takes a unit like 5ms or 1count" : ""));
}

absl::Status TooHigh(const Expression& formula, const Node& node) {
  return base::ErrorAt(formula.place, formula.text, node.offset,
                       "no quantity has a unit of such a power");
}

}  // namespace

absl::StatusOr<Dimensions> CheckUnits(const Expression& formula,
                                      const std::vector<Dimensions>& names) {
  std::vector<Known> stack;
  for (std::size_t i = 0; i < formula.nodes.size(); ++i) {
    const Node& node = formula.nodes[i];
    const auto operands = stack.end() - node.operands;
    Known result;
    switch (node.operation) {
      case Operation::kNumber:
        result = {node.dimensions,
                  node.number == 0 && node.dimensions == Dimensions{}};
        break;
      case Operation::kName:
        result.dimensions = names[i];
        break;
      case Operation::kStatistic:
        result.dimensions = node.statistic == Statistic::kCount
                                ? Dimensions{.count = 1}
                                : names[i];
        break;
      case Operation::kNegate:
      case Operation::kAbsolute:
        result = operands[0];
        break;
      case Operation::kAdd:
      case Operation::kSubtract:
      case Operation::kLeast:
      case Operation::kGreatest:
        result = operands[0];
        for (auto other = operands + 1; other != stack.end(); ++other) {
          if (result.any) {
            result = *other;
          } else if (!other->any && other->dimensions != result.dimensions) {
            return Different(formula, node, result, *other);
          }
        }
        break;
      case Operation::kMultiply:
      case Operation::kDivide: {
        const auto product =
            node.operation == Operation::kMultiply
                ? Times(operands[0].dimensions, operands[1].dimensions)
                : Over(operands[0].dimensions, operands[1].dimensions);
        if (!product) return TooHigh(formula, node);
        result.dimensions = *product;
        break;
      }
      case Operation::kSquareRoot: {
        const auto root = SquareRoot(operands[0].dimensions);
        if (!root) {
          return base::ErrorAt(
              formula.place, formula.text, node.offset,
              absl::StrFormat("%s has no square root",
                              DimensionsName(operands[0].dimensions)));
        }
        result.dimensions = *root;
        break;
      }
    }
    stack.erase(operands, stack.end());
    stack.push_back(result);
  }
  return stack.back().dimensions;
}

}  // namespace countrace::rmap::metrics
