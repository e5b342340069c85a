#include "viewer/server/serve/serve.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "viewer/server/http/http_server.h"
#include "viewer/server/http/kept_address.h"
#include "viewer/server/http/request_guard.h"
#include "viewer/server/serve/viewer_site.h"

namespace countrace::viewer {

namespace {

// On `port`; 0: on the kept one, or on any if that is taken.
absl::StatusOr<std::unique_ptr<HttpServer>> ListenOn(
    std::uint16_t port, const std::optional<KeptAddress>& kept) {
  if (port == 0 && kept) {
    auto server = HttpServer::Listen(kept->port, HttpLimits());
    if (server.ok()) return server;
  }
  return HttpServer::Listen(port, HttpLimits());
}

}  // namespace

absl::Status ServeIndexes(
    const ServedIndexes& indexes, const TraceEvents* events, std::uint16_t port,
    const std::function<void(const std::string& url,
                             std::shared_ptr<HttpServer> server)>& on_ready,
    const SourceFiles* sources) {
  const std::string path =
      KeptAddressPath(indexes.growth().newest->header().trace.uuid);
  const std::optional<KeptAddress> kept = ReadKeptAddress(path);
  absl::StatusOr<std::unique_ptr<HttpServer>> listening = ListenOn(port, kept);
  if (!listening.ok()) return listening.status();
  const std::shared_ptr<HttpServer> server = *std::move(listening);
  absl::StatusOr<RequestGuard> guard =
      kept && kept->port == server->port()
          ? RequestGuard::WithToken(kept->port, kept->token)
          : RequestGuard::Create(server->port());
  if (!guard.ok()) return guard.status();
  KeepAddress(path, {server->port(), guard->token()});
  const ViewerSite site(indexes, events, *std::move(guard), sources);
  if (on_ready) on_ready(site.guard().Url(), server);
  server->Run(
      [&site](const HttpRequest& request) { return site.Answer(request); },
      /*stop_on_signals=*/true);
  return absl::OkStatus();
}

}  // namespace countrace::viewer
