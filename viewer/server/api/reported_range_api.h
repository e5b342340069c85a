// `aggregate` with the rows of a report of the range, which reads the trace:
// for ranges where the index cannot say the same.
#ifndef COUNTRACE_VIEWER_SERVER_API_REPORTED_RANGE_API_H_
#define COUNTRACE_VIEWER_SERVER_API_REPORTED_RANGE_API_H_

#include <optional>
#include <string_view>

#include "viewer/index/file/timeline_index.h"
#include "viewer/server/http/trace_events.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {

// Absent: the request is no `aggregate`, or does not want a report. `events`:
// null if there is no trace; then the answer is the index's, which says so.
std::optional<HttpResponse> AnswerReportedRange(const TimelineIndex& index,
                                                const TraceEvents* events,
                                                std::string_view name,
                                                ApiQuery& query);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_API_REPORTED_RANGE_API_H_
