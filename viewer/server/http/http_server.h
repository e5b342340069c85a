// HTTP/1.1 on one address with Boost.Beast: bounded requests, timeouts, a limit
// on connections. Independent of the site.
#ifndef COUNTRACE_VIEWER_SERVER_HTTP_HTTP_SERVER_H_
#define COUNTRACE_VIEWER_SERVER_HTTP_HTTP_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "viewer/server/http/http_message.h"

namespace countrace::viewer {

struct HttpLimits {
  std::uint32_t header_bytes = 16 * 1024;
  std::uint64_t body_bytes = 256 * 1024;
  // To send a request and to receive an answer; idle. Until a connection had an
  // answer below 400, it is a stranger's.
  int timeout_seconds = 30;
  int stranger_timeout_seconds = 5;
  // At the limit, a new connection takes the place of the oldest stranger.
  int connections = 64;
  int threads = 10;
};

class HttpServer {
 public:
  // Called on the server's threads, possibly at the same time.
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  // Binds `address`:`port`, 0 = any free port. Connections wait until Run().
  // Returns: UNAVAILABLE the port is in use or may not be bound, or the address
  //   is none of this machine.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Listen(
      std::uint16_t port, const HttpLimits& limits,
      const std::string& address = "127.0.0.1");
  virtual ~HttpServer() = default;

  virtual std::uint16_t port() const = 0;
  // Serves until Stop(), or until SIGINT or SIGTERM if `stop_on_signals`.
  virtual void Run(const Handler& handler, bool stop_on_signals) = 0;
  // Thread: any.
  virtual void Stop() = 0;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_HTTP_HTTP_SERVER_H_
