// The rows of processes and threads in a range, and names by a part of them
// (API.md, "rows", "find").
#ifndef COUNTRACE_VIEWER_SERVER_API_ROWS_API_H_
#define COUNTRACE_VIEWER_SERVER_API_ROWS_API_H_

#include <optional>
#include <string_view>

#include "viewer/index/file/timeline_index.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {

// Absent: `name` is none of these, or `rows` without a range.
std::optional<HttpResponse> AnswerRows(const TimelineIndex& index,
                                       std::string_view name, ApiQuery& query);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_API_ROWS_API_H_
