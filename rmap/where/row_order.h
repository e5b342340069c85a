// `--sort`: the rows of each table by the value of one field.
//
// In: a report and the name of a field, as in `--where`. Out: the same rows,
// numbers from the largest, texts from A; rows without the value last. Rows of
// equal values keep their order. Thread: one.
#ifndef COUNTRACE_RMAP_WHERE_ROW_ORDER_H_
#define COUNTRACE_RMAP_WHERE_ROW_ORDER_H_

#include <string_view>

#include "absl/status/status.h"
#include "rmap/columns/report_by.h"
#include "rmap/result/tables.h"

namespace countrace::rmap::where {

// `table`: the only table of the output; kDefault: any table will do.
// Errors: kInvalidArgument: a name that no table has, or not this table; call
// paths, whose order is that of their tree.
absl::Status CheckOrder(std::string_view field, const Report& report,
                        ReportBy table);

// Sorts the tables that have the field, but call paths. Requires:
// CheckOrder().ok().
void SortRows(std::string_view field, Report& report);

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_ROW_ORDER_H_
