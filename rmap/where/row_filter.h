// `--where`: names bound to the columns of each table, types checked, rows
// selected.
//
// In: a parsed expression and a report; to check, one without rows will do.
// Out: a RowSelection. Thread: one.
//
// A row is selected if the condition is true. Of a value that the trace cannot
// say (null in JSON) every comparison is neither true nor false, and neither is
// its negation; && and || make of that what they can. A table whose rows lack a
// field of the expression is left out.
#ifndef COUNTRACE_RMAP_WHERE_ROW_FILTER_H_
#define COUNTRACE_RMAP_WHERE_ROW_FILTER_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rmap/columns/row_selection.h"
#include "rmap/report/report_render.h"
#include "rmap/tables/tables.h"
#include "rmap/where/where_expression.h"

namespace countrace::rmap::where {

// `events` and `scaled_events` of `report` decide which fields there are.
// `table`: the only one that is wanted; kDefault: any will do.
// Errors: kInvalidArgument with the place, for a name that no table, or not the
// wanted one, or no table together with the others, has; for a comparison of
// things that differ in type.
absl::Status CheckWhere(const WhereExpression& where, const Report& report,
                        ReportBy table);

// Errors: as CheckWhere().
absl::StatusOr<RowSelection> SelectRows(const WhereExpression& where,
                                        const Report& report);

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_ROW_FILTER_H_
