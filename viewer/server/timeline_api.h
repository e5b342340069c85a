// Answers requests under /api/v1/ from an open index, and its trace's records
// (API.md). No sockets, no state: every answer is a function of the request,
// and bounded.
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_TIMELINE_API_H_
#define COUNTRACE_VIEWER_SERVER_TIMELINE_API_H_

#include "viewer/index/timeline_index.h"
#include "viewer/server/http_message.h"
#include "viewer/server/trace_events.h"

namespace countrace::viewer {

// Requires: the guard let the request in; its path begins with "/api/".
// `events`: null if there is no trace beside the index.
HttpResponse AnswerApi(const TimelineIndex& index, const TraceEvents* events,
                       const HttpRequest& request);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TIMELINE_API_H_
