// Whether a condition is true of something that has fields, a row or a record,
// by the rules of row_filter.h. Thread: any; no state.
#ifndef COUNTRACE_RMAP_WHERE_CONDITION_TRUTH_H_
#define COUNTRACE_RMAP_WHERE_CONDITION_TRUTH_H_

#include <cstddef>
#include <functional>

#include "rmap/columns/column.h"
#include "rmap/where/where_expression.h"

namespace countrace::rmap::where {

inline bool IsOrder(Comparison comparison) {
  return comparison >= Comparison::kLess &&
         comparison <= Comparison::kGreaterOrEqual;
}
inline bool IsMatch(Comparison comparison) {
  return comparison == Comparison::kMatches ||
         comparison == Comparison::kMatchesNot;
}

// `value(step, left)`: of the field on the left or right of a step; monostate:
// it is not known. A comparison of a text with a number is neither true nor
// false.
bool Holds(const WhereExpression& where,
           const std::function<Cell(std::size_t step, bool left)>& value);

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_CONDITION_TRUTH_H_
