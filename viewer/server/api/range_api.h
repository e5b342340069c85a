// A range of time: who used what in it, and how long calls took (API.md).
#ifndef COUNTRACE_VIEWER_SERVER_API_RANGE_API_H_
#define COUNTRACE_VIEWER_SERVER_API_RANGE_API_H_

#include <optional>
#include <string_view>

#include "rmap/result/tables.h"
#include "viewer/index/file/timeline_index.h"
#include "viewer/server/tables/table_order.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {

// `aggregate`, with the rows of `report` in `tables` (reported_tables.h); null:
// with those of the index.
HttpResponse AnswerAggregate(const TimelineIndex& index, ApiQuery& query,
                             const rmap::Report* report = nullptr,
                             SortedTables tables = {});

// Absent: `name` is none of these.
std::optional<HttpResponse> AnswerRange(const TimelineIndex& index,
                                        std::string_view name, ApiQuery& query);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_API_RANGE_API_H_
