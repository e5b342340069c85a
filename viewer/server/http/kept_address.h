// The port and token of the last server of a trace, so that a page that is open
// finds its server again after a restart.
#ifndef COUNTRACE_VIEWER_SERVER_HTTP_KEPT_ADDRESS_H_
#define COUNTRACE_VIEWER_SERVER_HTTP_KEPT_ADDRESS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace countrace::viewer {

struct KeptAddress {
  std::uint16_t port;
  std::string token;  // 32 hex digits
};

// Below $XDG_RUNTIME_DIR, which only its user can read and which ends with the
// session; without one (sudo, su, a container) in the cache directory. Empty:
// neither is set.
std::string KeptAddressPath(std::span<const std::uint8_t, 16> trace_uuid);

// Null: none, or not a file that only this user may read and write.
std::optional<KeptAddress> ReadKeptAddress(const std::string& path);

// Best effort: without it an old page needs the new address.
void KeepAddress(const std::string& path, const KeptAddress& address);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_HTTP_KEPT_ADDRESS_H_
