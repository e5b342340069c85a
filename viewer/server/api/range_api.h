// A range of time: who used what in it, and how long calls took (API.md).
#ifndef COUNTRACE_VIEWER_SERVER_API_RANGE_API_H_
#define COUNTRACE_VIEWER_SERVER_API_RANGE_API_H_

#include <optional>
#include <string_view>

#include "viewer/index/file/timeline_index.h"
#include "viewer/server/wire/api_query.h"

namespace countrace::viewer {

// Absent: `name` is none of these.
std::optional<HttpResponse> AnswerRange(const TimelineIndex& index,
                                        std::string_view name, ApiQuery& query);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_API_RANGE_API_H_
