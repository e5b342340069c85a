// `aggregate?where=`: the tables of a range without the rows for which a
// condition does not hold.
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_NARROWED_TABLES_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_NARROWED_TABLES_H_

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "absl/status/statusor.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/index/rows/interval_row.h"
#include "viewer/server/tables/table_order.h"

namespace countrace::viewer {

// Erases rows of `tables`, which are those of `report`; null: the index's.
// Tables whose rows lack a field of the condition stay
// whole.
//
// Returns: what the answer has as "where" (API.md, "aggregate").
// Errors: INVALID_ARGUMENT as of SelectIn().
absl::StatusOr<nlohmann::json> NarrowTables(const TimelineIndex& index,
                                            TimeRange range,
                                            std::string_view where,
                                            const rmap::Report* report,
                                            SortedTables& tables);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_NARROWED_TABLES_H_
