// Answers requests under /api/v1/ from open indexes, and their trace's records
// (API.md). No sockets, no state: every answer is a function of the request
// and of the index it names, and bounded.
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_API_TIMELINE_API_H_
#define COUNTRACE_VIEWER_SERVER_API_TIMELINE_API_H_

#include "viewer/index/file/timeline_index.h"
#include "viewer/server/api/served_indexes.h"
#include "viewer/server/api/source_files.h"
#include "viewer/server/http/http_message.h"
#include "viewer/server/http/trace_events.h"

namespace countrace::viewer {

// Requires: the guard let the request in; its path begins with "/api/".
// `events`: null if there is no trace beside the index; `sources`: null if the
// user named no directory of source files.
HttpResponse AnswerApi(const TimelineIndex& index, const TraceEvents* events,
                       const HttpRequest& request,
                       const SourceFiles* sources = nullptr);
// From the index that the request names, or the whole trace's.
HttpResponse AnswerApi(const ServedIndexes& indexes, const TraceEvents* events,
                       const HttpRequest& request,
                       const SourceFiles* sources = nullptr);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_API_TIMELINE_API_H_
