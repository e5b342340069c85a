// One instant: the state, the nearest boundary, why a thread does not run
// (API.md).
#ifndef COUNTRACE_VIEWER_SERVER_API_INSTANT_API_H_
#define COUNTRACE_VIEWER_SERVER_API_INSTANT_API_H_

#include <optional>
#include <string_view>

#include "viewer/index/file/timeline_index.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {

// Absent: `name` is none of these.
std::optional<HttpResponse> AnswerInstant(const TimelineIndex& index,
                                          std::string_view name,
                                          ApiQuery& query);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_API_INSTANT_API_H_
