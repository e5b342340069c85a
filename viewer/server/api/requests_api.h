// Requests of `view --join`, a page at a time (API.md, "requests").
#ifndef COUNTRACE_VIEWER_SERVER_API_REQUESTS_API_H_
#define COUNTRACE_VIEWER_SERVER_API_REQUESTS_API_H_

#include "viewer/index/file/timeline_index.h"
#include "viewer/server/http/trace_events.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {

// `events`: null if there is no trace.
HttpResponse AnswerRequests(const TimelineIndex& index,
                            const TraceEvents* events, ApiQuery& query);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_API_REQUESTS_API_H_
