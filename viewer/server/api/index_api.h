// Answers that an index alone gives: the same in the server and in a page that
// holds its index (offline/README.md). No sockets, no state, no trace.
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_API_INDEX_API_H_
#define COUNTRACE_VIEWER_SERVER_API_INDEX_API_H_

#include <cstdint>
#include <optional>
#include <string>

#include "viewer/index/file/timeline_index.h"
#include "viewer/server/http/http_message.h"

namespace countrace::viewer {

inline constexpr std::string_view kApiPrefix = "/api/v1/";

// Absent: the request is for something that no index answers.
std::optional<HttpResponse> AnswerFromIndex(const TimelineIndex& index,
                                            const HttpRequest& request);

// How far an index is that is being built, or follows a recording.
struct IndexGrowth {
  std::uint64_t trace_end_ns = 0;  // on CLOCK_MONOTONIC; 0: not known
  std::uint64_t done = 0, total = 0;
  // How late the newest index is; absent: it follows no recording.
  std::optional<std::uint64_t> late_ns = std::nullopt;
};
// What `index` says of the newest index.
HttpResponse AnswerGrowth(const TimelineIndex& newest,
                          const IndexGrowth& growth);

// Its name in requests: the same for the same contents.
std::string IdOf(const TimelineIndex& index);

// Refuses a request that is not a GET. Absent: it is one.
std::optional<HttpResponse> RefuseUnlessGet(const HttpRequest& request);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_API_INDEX_API_H_
