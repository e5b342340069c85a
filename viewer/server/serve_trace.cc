#include <memory>

#include "viewer/index/open_or_build.h"
#include "viewer/server.h"
#include "viewer/server/serve.h"

namespace countrace::viewer {

absl::Status Serve(const ServeOptions& options) {
  const absl::StatusOr<std::unique_ptr<TimelineIndex>> index =
      OpenOrBuildIndex(options.trace_path, options.progress, options.shown_as);
  if (!index.ok()) return index.status();
  return ServeIndex(**index, options.port, options.on_ready);
}

}  // namespace countrace::viewer
