// `--where`: binds names to the columns of each table, checks types, selects
// rows.
//
// In: a parsed expression and a report; checking needs no rows. Out: a
// RowSelection. Thread: one.
//
// A row is selected if the condition is true. A comparison with a value that is
// not in the trace (null in JSON) is neither true nor false, and neither is its
// negation; && and || follow three-valued logic. A table whose rows lack a
// field of the expression is left out.
#ifndef COUNTRACE_RMAP_WHERE_ROW_FILTER_H_
#define COUNTRACE_RMAP_WHERE_ROW_FILTER_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rmap/columns/row_selection.h"
#include "rmap/report/report_render.h"
#include "rmap/result/tables.h"
#include "rmap/where/row_owners.h"
#include "rmap/where/where_expression.h"

namespace countrace::rmap::where {

// `events` of `report` determine the fields. `table`: the
// only table of the output; kDefault: any table will do.
// Errors: kInvalidArgument with the place: a name that no table has, or not
// this table, or no table together with the other names; a comparison of
// different types.
absl::Status CheckWhere(const WhereExpression& where, const Report& report,
                        ReportBy table);

// Those of `owners`; no steps in `where`: all of them.
// Errors: those of CheckWhere().
absl::StatusOr<RowSelection> SelectRows(const WhereExpression& where,
                                        const Report& report,
                                        const OwnerGlobs& owners = {});

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_ROW_FILTER_H_
