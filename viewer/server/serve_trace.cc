#include <memory>

#include "viewer/index/open_or_build.h"
#include "viewer/server.h"
#include "viewer/server/serve.h"
#include "viewer/server/trace_events.h"

namespace countrace::viewer {

absl::Status Serve(const ServeOptions& options) {
  const absl::StatusOr<std::unique_ptr<TimelineIndex>> index =
      OpenOrBuildIndex(options.trace_path, options.progress, options.shown_as);
  if (!index.ok()) return index.status();
  absl::StatusOr<std::string> place = "";
  if (options.place) place = options.place(**index);
  if (!place.ok()) return place.status();
  const TraceEvents events(options.trace_path);
  return ServeIndex(
      **index, &events, options.port, [&](const std::string& url) {
        if (options.on_ready) {
          options.on_ready(place->empty() ? url : url + "#" + *place);
        }
      });
}

}  // namespace countrace::viewer
