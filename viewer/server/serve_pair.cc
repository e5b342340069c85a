// Serves two traces side by side.
#include <memory>
#include <string>
#include <utility>

#include "viewer/index/open_or_build.h"
#include "viewer/server.h"
#include "viewer/server/http_server.h"
#include "viewer/server/pair_site.h"
#include "viewer/server/request_guard.h"
#include "viewer/server/served_indexes.h"
#include "viewer/server/trace_events.h"
#include "viewer/server/viewer_site.h"

namespace countrace::viewer {

absl::Status ServePair(const ServeOptions& before, const ServeOptions& after) {
  const ServeOptions* const options[] = {&before, &after};
  ServedIndexes indexes[2];
  for (const int side : {0, 1}) {
    auto index =
        OpenOrBuildIndex(options[side]->trace_path, options[side]->progress,
                         options[side]->shown_as);
    if (!index.ok()) return index.status();
    indexes[side].Publish(*std::move(index));
  }
  if (before.on_whole) before.on_whole();
  auto server = HttpServer::Listen(before.port, HttpLimits());
  if (!server.ok()) return server.status();
  const auto guard = RequestGuard::Create((*server)->port());
  if (!guard.ok()) return guard.status();
  const TraceEvents before_events(before.trace_path);
  const TraceEvents after_events(after.trace_path);
  const ViewerSite before_site(indexes[0], &before_events, *guard);
  const ViewerSite after_site(indexes[1], &after_events, *guard);
  const PairSite site(before_site, after_site, before.trace_path,
                      after.trace_path);
  if (before.on_ready) before.on_ready(guard->Url());
  (*server)->Run(
      [&site](const HttpRequest& request) { return site.Answer(request); },
      /*stop_on_signals=*/true);
  return absl::OkStatus();
}

}  // namespace countrace::viewer
