#include "viewer/server/serve.h"

#include <memory>
#include <utility>

#include "viewer/server/http_server.h"
#include "viewer/server/request_guard.h"
#include "viewer/server/viewer_site.h"

namespace countrace::viewer {

absl::Status ServeIndex(
    const TimelineIndex& index, std::uint16_t port,
    const std::function<void(const std::string& url)>& on_ready) {
  absl::StatusOr<std::unique_ptr<HttpServer>> server =
      HttpServer::Listen(port, HttpLimits());
  if (!server.ok()) return server.status();
  absl::StatusOr<RequestGuard> guard = RequestGuard::Create((*server)->port());
  if (!guard.ok()) return guard.status();
  const ViewerSite site(index, *std::move(guard));
  if (on_ready) on_ready(site.guard().Url());
  (*server)->Run(
      [&site](const HttpRequest& request) { return site.Answer(request); },
      /*stop_on_signals=*/true);
  return absl::OkStatus();
}

}  // namespace countrace::viewer
