#include "viewer/server/http/request_guard.h"

#include <sys/random.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "viewer/server/http/query_string.h"

namespace countrace::viewer {

absl::StatusOr<RequestGuard> RequestGuard::Create(std::uint16_t port) {
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
    return absl::ErrnoToStatus(errno, "Cannot draw a random token");
  }
  std::string token;
  for (const unsigned char byte : bytes) {
    token += absl::StrFormat("%02x", byte);
  }
  return RequestGuard(port, std::move(token));
}

std::string RequestGuard::Url() const {
  return absl::StrFormat("http://127.0.0.1:%d/?token=%s", port_, token_);
}

// Cookies are shared between ports: two viewers need different names.
std::string RequestGuard::CookieName() const {
  return absl::StrFormat("countrace_%d", port_);
}

std::string RequestGuard::Cookie() const {
  return absl::StrFormat("%s=%s; Path=/; HttpOnly; SameSite=Strict",
                         CookieName(), token_);
}

bool RequestGuard::IsOurHost(std::string_view host) const {
  return host == absl::StrFormat("127.0.0.1:%d", port_) ||
         host == absl::StrFormat("localhost:%d", port_) ||
         (port_ == 80 && (host == "127.0.0.1" || host == "localhost"));
}

bool RequestGuard::IsToken(std::string_view untrusted) const {
  // The run time must not reveal how many characters were right.
  if (untrusted.size() != token_.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < token_.size(); ++i) {
    difference |= static_cast<unsigned>(untrusted[i] ^ token_[i]);
  }
  return difference == 0;
}

RequestGuard::Verdict RequestGuard::Judge(const HttpRequest& request) const {
  if (!IsOurHost(request.host)) return Verdict::kForeign;
  if (!request.origin.empty() && request.origin != "http://" + request.host) {
    return Verdict::kForeign;
  }
  const Target target = ParseTarget(request.target);
  const auto in_query = target.parameters.find("token");
  const bool query_token =
      in_query != target.parameters.end() && IsToken(in_query->second);
  // Another site may link to the page, although it does not have its address,
  // but it may not make requests.
  if ((request.fetch_site == "cross-site" ||
       request.fetch_site == "same-site") &&
      !query_token) {
    return Verdict::kForeign;
  }
  constexpr std::string_view kBearer = "Bearer ";
  if (std::string_view(request.authorization).substr(0, kBearer.size()) ==
          kBearer &&
      IsToken(std::string_view(request.authorization).substr(kBearer.size()))) {
    return Verdict::kAllowed;
  }
  if (query_token && request.method == "GET" && target.path == "/") {
    return Verdict::kTokenInQuery;
  }
  const std::string name = CookieName();
  std::string_view rest = request.cookie;
  while (!rest.empty()) {
    const std::size_t end = rest.find(';');
    std::string_view pair = rest.substr(0, end);
    while (!pair.empty() && pair.front() == ' ') pair.remove_prefix(1);
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name &&
        IsToken(pair.substr(equals + 1))) {
      return Verdict::kAllowed;
    }
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  }
  return Verdict::kNoToken;
}

}  // namespace countrace::viewer
