// Answers requests under /api/v1/ from an open index (API.md). No sockets, no
// state: every answer is a function of the request, and bounded.
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_TIMELINE_API_H_
#define COUNTRACE_VIEWER_SERVER_TIMELINE_API_H_

#include "viewer/index/timeline_index.h"
#include "viewer/server/http_message.h"

namespace countrace::viewer {

// Requires: the guard let the request in; its path begins with "/api/".
HttpResponse AnswerApi(const TimelineIndex& index, const HttpRequest& request);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TIMELINE_API_H_
