#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "viewer/server.h"
#include "viewer/server/api/served_indexes.h"
#include "viewer/server/api/source_files.h"
#include "viewer/server/http/trace_events.h"
#include "viewer/server/serve/index_opening.h"
#include "viewer/server/serve/serve.h"
#include "viewer/server/tables/joined_requests.h"

namespace countrace::viewer {

absl::Status Serve(const ServeOptions& options) {
  const absl::StatusOr<SourceFiles> sources =
      SourceFiles::Open(options.sources);
  if (!sources.ok()) return sources.status();
  ServedIndexes indexes;
  std::optional<JoinedRequests> joined;
  TraceEvents events(options.trace_path, options.shown_as);
  events.SetRuleFiles(options.rule_files);
  if (options.join) events.set_joined(&joined.emplace(*options.join));
  IndexOpening opening(options, indexes, events);
  const bool whole = static_cast<bool>(options.place);
  if (absl::Status first = opening.AwaitFirst(whole); !first.ok()) return first;
  absl::StatusOr<std::string> place = "";
  if (options.place) place = options.place(*indexes.growth().newest);
  if (!place.ok()) return place.status();
  const absl::Status served = ServeIndexes(
      indexes, &events, options.port,
      [&](const std::string& url, std::shared_ptr<HttpServer> server) {
        opening.StopAfterFailure(std::move(server));
        if (options.on_ready) {
          options.on_ready(place->empty() ? url : url + "#" + *place);
        }
      },
      options.sources.empty() ? nullptr : &*sources);
  const absl::Status opened = opening.status();
  return opened.ok() ? served : opened;
}

}  // namespace countrace::viewer
