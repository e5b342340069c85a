// `trees`: what trees of rules have over time, as `countrace report --tree NAME
// --by time`.
#ifndef COUNTRACE_VIEWER_SERVER_API_TREES_API_H_
#define COUNTRACE_VIEWER_SERVER_API_TREES_API_H_

#include "viewer/index/file/timeline_index.h"
#include "viewer/server/http/trace_events.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {

// `events`: null if there is no trace. Reads the trace once for each interval,
// of which there are fewer in a long trace.
HttpResponse AnswerTrees(const TimelineIndex& index, const TraceEvents* events,
                         ApiQuery& query);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_API_TREES_API_H_
