// Serves one trace's timeline on loopback (viewer/API.md).
#ifndef COUNTRACE_VIEWER_SERVER_H_
#define COUNTRACE_VIEWER_SERVER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/progress.h"
#include "viewer/index/timeline_index.h"

namespace countrace::viewer {

struct ServeOptions {
  std::string trace_path;
  std::string shown_as;    // the name on the page, if not the path
  std::uint16_t port = 0;  // 0: any free port
  // If set: the fragment of the address (API.md, "The page's address"), without
  // its '#', from the open index. Its error ends Serve().
  std::function<absl::StatusOr<std::string>(const TimelineIndex&)> place;
  // Called once the server listens, with the address to open (token included).
  std::function<void(const std::string& url)> on_ready;
  logformat::ProgressCallback progress;  // index being built
};

// Builds or opens the index, serves until SIGINT or SIGTERM. 127.0.0.1 only.
absl::Status Serve(const ServeOptions& options);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_H_
