// The expression of a rule, parsed.
//
// In: text such as "1000 * `cache-misses` / instructions". Out: its operations
// in the order of evaluation (postfix), so that no code recurses over them.
// Names are resolved later, by rule_set.h.
// Thread: any; no state.
#ifndef COUNTRACE_RMAP_METRICS_EXPRESSION_H_
#define COUNTRACE_RMAP_METRICS_EXPRESSION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/text/source_place.h"
#include "rmap/metrics/metric_unit.h"

namespace countrace::rmap::metrics {

enum class Operation : std::uint8_t {
  kNumber,
  kName,
  kStatistic,  // over the rows of a table, or over traces
  kNegate,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kLeast,     // min(a, b, ...)
  kGreatest,  // max(a, b, ...)
  kAbsolute,
  kSquareRoot
};

enum class Statistic : std::uint8_t {
  kCount,
  kSum,
  kMean,
  kStddev,
  kMin,
  kMax,
  kP50,
  kP90,
  kP99
};
const char* StatisticName(Statistic statistic);

struct Node {
  Operation operation{};
  std::uint32_t operands = 0;  // number of preceding nodes that it combines
  double number = 0;           // kNumber: in base units
  Dimensions dimensions;       // kNumber: those of its suffix, "10ms"
  // kName, kStatistic: [@trace.][qualifier.]name.
  std::string trace, qualifier, name;
  bool quoted = false;  // the name was in quotes: it can be any event
  Statistic statistic{};
  std::size_t offset = 0;  // place in the text
};

struct Expression {
  std::string text;
  base::SourcePlace place;
  std::vector<Node> nodes;
};

// Grammar, loosest first:
//   sum = product {("+" | "-") product};  product = sign {("*" | "/") sign}
//   sign = ["-"] primary;  primary = NUMBER[UNIT] | name | "(" sum ")"
//     | ("min" | "max") "(" sum "," sum {"," sum} ")"
//     | ("abs" | "sqrt") "(" sum ")" | STATISTIC "(" name ")"
//   name = ["@" WORD "."] [WORD "."] (WORD | quoted in ` or ' or ")
// Errors: kInvalidArgument, those of ErrorAt() and TokenReader.
absl::StatusOr<Expression> ParseExpression(std::string_view text,
                                           const base::SourcePlace& place);

// True for [A-Za-z_][A-Za-z0-9_]*.
bool IsWord(std::string_view text);

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_EXPRESSION_H_
