// Compares numbers in the cells of rows with those of `--where`, without
// rounding.
//
// Thread: any; no state.
#ifndef COUNTRACE_RMAP_WHERE_NUMBER_CELL_H_
#define COUNTRACE_RMAP_WHERE_NUMBER_CELL_H_

#include <compare>
#include <cstdint>
#include <variant>

#include "base/text/quantity_parse.h"

namespace countrace::rmap::where {

// The value of a row's cell.
using NumberCell = std::variant<std::uint64_t, std::int64_t, double>;

// unordered for a cell that is not a number (NaN).
std::partial_ordering Compare(const NumberCell& cell,
                              const base::ExactNumber& number);
std::partial_ordering Compare(const NumberCell& a, const NumberCell& b);

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_NUMBER_CELL_H_
