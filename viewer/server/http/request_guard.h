// Decides which requests the server answers. It listens on loopback, but every
// page of every site in the user's browser can reach loopback, and so can other
// users of the machine: hence the token, and the checks against DNS rebinding.
#ifndef COUNTRACE_VIEWER_SERVER_HTTP_REQUEST_GUARD_H_
#define COUNTRACE_VIEWER_SERVER_HTTP_REQUEST_GUARD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "viewer/server/http/http_message.h"

namespace countrace::viewer {

class RequestGuard {
 public:
  // Draws a random token of 128 bits. Returns: the errno of getrandom(2).
  static absl::StatusOr<RequestGuard> Create(std::uint16_t port);
  // With a token that an earlier guard drew.
  static RequestGuard WithToken(std::uint16_t port, std::string token) {
    return RequestGuard(port, std::move(token));
  }

  // Address to open, the token in its query.
  std::string Url() const;
  const std::string& token() const { return token_; }

  enum class Verdict {
    kAllowed,
    kForeign,       // Host, Origin or Sec-Fetch-Site is not ours: 403
    kNoToken,       // 401
    kTokenInQuery,  // right token in the URL: set the cookie and redirect
  };
  Verdict Judge(const HttpRequest& request) const;
  // Value of Set-Cookie that admits the browser without the URL's token.
  std::string Cookie() const;

 private:
  RequestGuard(std::uint16_t port, std::string token)
      : port_(port), token_(std::move(token)) {}
  bool IsOurHost(std::string_view host) const;
  bool IsToken(std::string_view untrusted) const;
  std::string CookieName() const;

  std::uint16_t port_;
  std::string token_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_HTTP_REQUEST_GUARD_H_
