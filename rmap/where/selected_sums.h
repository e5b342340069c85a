// Rows that are sums of the rows that `--where` chose.
#ifndef COUNTRACE_RMAP_WHERE_SELECTED_SUMS_H_
#define COUNTRACE_RMAP_WHERE_SELECTED_SUMS_H_

#include "rmap/columns/row_selection.h"
#include "rmap/result/tables.h"

namespace countrace::rmap::where {

// Replaces the system calls by the sums of the selected rows of segments. No
// effect if the expression is not about segments: it is about the sums.
void SumSystemCalls(Report& report, RowSelection& selection);

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_SELECTED_SUMS_H_
