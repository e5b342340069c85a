// The condition of `--where`, parsed and not yet bound to fields.
//
// In: text such as `comm == "redis-server" && wall_ns > 20ms`. Out: its steps
// in the order of evaluation (postfix), so that no code recurses over them.
// row_filter.h resolves names. Thread: any; no state.
#ifndef COUNTRACE_RMAP_WHERE_WHERE_EXPRESSION_H_
#define COUNTRACE_RMAP_WHERE_WHERE_EXPRESSION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/text/quantity_parse.h"
#include "base/text/source_place.h"
#include "rmap/where/pattern.h"

namespace countrace::rmap::where {

enum class Comparison : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kMatches,    // =~
  kMatchesNot  // !~
};
const char* ComparisonText(Comparison comparison);

struct Operand {
  enum class Kind : std::uint8_t { kField, kNumber, kText };
  Kind kind{};
  std::string text;          // kField: its name; kText: the text
  base::ExactNumber number;  // kNumber
  std::size_t offset = 0;
};

struct WhereStep {
  enum class Kind : std::uint8_t { kCompare, kAnd, kOr, kNot };
  Kind kind{};
  std::size_t offset = 0;  // place of its operator
  // kCompare:
  Comparison comparison{};
  Operand left, right;
  Pattern pattern;  // kMatches, kMatchesNot: `right` as a pattern
};

struct WhereExpression {
  std::string text;
  bool given = false;  // of --given
  std::vector<WhereStep> steps;
};

// Grammar, loosest first:
//   any = all {"||" all};  all = not {"&&" not};
//   not = "!" not | "(" any ")" | operand COMPARISON operand
//     | LEVEL, which means LEVEL != 0 (`level.cold_cache`)
//   operand = FIELD | `FIELD` | ["-"] NUMBER[UNIT] | "TEXT" | 'TEXT'
// In a text a backslash escapes a backslash or the quote; before any other
// character it stays, for patterns.
// Errors: kInvalidArgument, those of ErrorAt() and TokenReader, with the place
// "--where", of `given` "--given".
absl::StatusOr<WhereExpression> ParseWhere(std::string_view text,
                                           bool given = false);

// Such an error, for problems found later.
absl::Status WhereError(const WhereExpression& where, std::size_t offset,
                        std::string_view message);

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_WHERE_EXPRESSION_H_
