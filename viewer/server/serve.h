// Serves an index that is already open: the part of Serve() that tests and
// development servers share.
#ifndef COUNTRACE_VIEWER_SERVER_SERVE_H_
#define COUNTRACE_VIEWER_SERVER_SERVE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "viewer/index/timeline_index.h"
#include "viewer/server/trace_events.h"

namespace countrace::viewer {

// Serves until SIGINT or SIGTERM; `on_ready` may be empty. `port` 0: the one of
// the trace's last server (kept_address.h) if it is free, else any. `events`:
// null if there is no trace.
absl::Status ServeIndex(
    const TimelineIndex& index, const TraceEvents* events, std::uint16_t port,
    const std::function<void(const std::string& url)>& on_ready);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_SERVE_H_
