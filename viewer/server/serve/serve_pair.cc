// Serves two traces side by side.
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "logformat/progress.h"
#include "viewer/server.h"
#include "viewer/server/api/served_indexes.h"
#include "viewer/server/http/http_server.h"
#include "viewer/server/http/request_guard.h"
#include "viewer/server/http/trace_events.h"
#include "viewer/server/serve/index_opening.h"
#include "viewer/server/serve/pair_site.h"
#include "viewer/server/serve/viewer_site.h"

namespace countrace::viewer {
namespace {

// What is said of both indexes in one go. Thread: any.
class PairProgress {
 public:
  explicit PairProgress(const ServeOptions& options) : options_(options) {}

  void Join(ServeOptions& options, std::size_t side) {
    options.progress = [this, side](const logformat::Progress& progress) {
      const std::lock_guard lock(mutex_);
      read_.at(side) = progress;
      return !options_.progress ||
             options_.progress({read_[0].done + read_[1].done,
                                read_[0].total + read_[1].total});
    };
    options.on_whole = [this] {
      const std::lock_guard lock(mutex_);
      if (++whole_ == 2 && options_.on_whole) options_.on_whole();
    };
  }

 private:
  const ServeOptions& options_;
  std::mutex mutex_;
  std::array<logformat::Progress, 2> read_{};
  int whole_ = 0;
};

}  // namespace

absl::Status ServePair(const ServeOptions& before, const ServeOptions& after) {
  PairProgress progress(before);
  ServeOptions options[] = {before, after};
  progress.Join(options[0], 0);
  progress.Join(options[1], 1);
  ServedIndexes indexes[2];
  TraceEvents before_events(before.trace_path, before.shown_as);
  TraceEvents after_events(after.trace_path, after.shown_as);
  before_events.SetRuleFiles(before.rule_files);
  after_events.SetRuleFiles(after.rule_files);
  IndexOpening openings[] = {{options[0], indexes[0], before_events},
                             {options[1], indexes[1], after_events}};
  for (IndexOpening& opening : openings) {
    absl::Status first = opening.AwaitFirst(/*whole=*/false);
    if (!first.ok()) return first;
  }
  auto listening = HttpServer::Listen(before.port, HttpLimits());
  if (!listening.ok()) return listening.status();
  const std::shared_ptr<HttpServer> server = *std::move(listening);
  const auto guard = RequestGuard::Create(server->port());
  if (!guard.ok()) return guard.status();
  const ViewerSite before_site(indexes[0], &before_events, *guard);
  const ViewerSite after_site(indexes[1], &after_events, *guard);
  const PairSite site(before_site, after_site, before.trace_path,
                      after.trace_path);
  for (IndexOpening& opening : openings) opening.StopAfterFailure(server);
  if (before.on_ready) before.on_ready(guard->Url());
  server->Run(
      [&site](const HttpRequest& request) { return site.Answer(request); },
      /*stop_on_signals=*/true);
  for (IndexOpening& opening : openings) {
    if (absl::Status opened = opening.status(); !opened.ok()) return opened;
  }
  return absl::OkStatus();
}

}  // namespace countrace::viewer
