// Answers from the trace itself, which the index does not hold: a table of
// `countrace report` as CSV, its call paths as a tree, and two ranges compared
// as by `countrace diff`.
// Each reads the trace once for each range.
#ifndef COUNTRACE_VIEWER_SERVER_API_REPORTS_API_H_
#define COUNTRACE_VIEWER_SERVER_API_REPORTS_API_H_

#include <optional>
#include <string>
#include <string_view>

#include "viewer/index/file/timeline_index.h"
#include "viewer/server/http/trace_events.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {

// What `countrace diff` says of two traces, by `offset`, `limit` and `format`
// as `compare` has them.
HttpResponse AnswerDiff(const std::string& before_path,
                        const std::string& after_path, ApiQuery& query);

// Absent: `name` is none of its requests. `events`: null if there is no trace.
std::optional<HttpResponse> AnswerReports(const TimelineIndex& index,
                                          const TraceEvents* events,
                                          std::string_view name,
                                          ApiQuery& query);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_API_REPORTS_API_H_
