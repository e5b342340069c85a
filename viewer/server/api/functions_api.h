// Answers from the samples of a trace: the table of functions of `countrace
// report --by function`, and one of them as `countrace annotate` has it.
#ifndef COUNTRACE_VIEWER_SERVER_API_FUNCTIONS_API_H_
#define COUNTRACE_VIEWER_SERVER_API_FUNCTIONS_API_H_

#include <optional>
#include <string_view>

#include "viewer/index/file/timeline_index.h"
#include "viewer/server/api/source_files.h"
#include "viewer/server/http/trace_events.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {

// Absent: `name` is none of its requests. `events`: null if there is no trace.
// `sources`: of functions, below them first; null: no directory was named.
std::optional<HttpResponse> AnswerFunctions(const TimelineIndex& index,
                                            const TraceEvents* events,
                                            std::string_view name,
                                            ApiQuery& query,
                                            const SourceFiles* sources);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_API_FUNCTIONS_API_H_
