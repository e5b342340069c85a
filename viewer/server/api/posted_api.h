// Answers to what a page sends as JSON about the trace beside an index: notes,
// and queries (API.md, "notes, query").
#ifndef COUNTRACE_VIEWER_SERVER_API_POSTED_API_H_
#define COUNTRACE_VIEWER_SERVER_API_POSTED_API_H_

#include <optional>
#include <string_view>

#include "viewer/index/file/timeline_index.h"
#include "viewer/server/http/http_message.h"
#include "viewer/server/http/trace_events.h"

namespace countrace::viewer {

// Absent: another request. `name`: what follows /api/v1/.
std::optional<HttpResponse> AnswerPosted(const TimelineIndex& index,
                                         const TraceEvents* events,
                                         const HttpRequest& request,
                                         std::string_view name);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_API_POSTED_API_H_
