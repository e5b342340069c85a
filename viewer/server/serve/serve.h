// Serves indexes that are open: the part of Serve() that tests and development
// servers share.
#ifndef COUNTRACE_VIEWER_SERVER_SERVE_SERVE_H_
#define COUNTRACE_VIEWER_SERVER_SERVE_SERVE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "viewer/server/api/served_indexes.h"
#include "viewer/server/api/source_files.h"
#include "viewer/server/http/http_server.h"
#include "viewer/server/http/trace_events.h"

namespace countrace::viewer {

// Serves until SIGINT or SIGTERM, or until the server is stopped; `on_ready`
// may be empty and gets the address and the server. `port` 0: the one of the
// trace's last server (kept_address.h) if it is free, else any. `events`: null
// if there is no trace; `sources`: null if no directory of them was named.
// Requires: an index is published.
absl::Status ServeIndexes(
    const ServedIndexes& indexes, const TraceEvents* events, std::uint16_t port,
    const std::function<void(const std::string& url,
                             std::shared_ptr<HttpServer> server)>& on_ready,
    const SourceFiles* sources = nullptr);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_SERVE_SERVE_H_
