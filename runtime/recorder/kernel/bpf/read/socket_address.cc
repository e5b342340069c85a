#include "runtime/recorder/kernel/bpf/read/socket_address.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_format.h"

namespace countrace::runtime {
namespace {

// `bytes` begin with one; they are enough for it.
template <typename Address>
Address As(std::string_view bytes) {
  Address address{};
  std::memcpy(&address, bytes.data(), sizeof(address));
  return address;
}

std::string Unix(std::string_view path) {
  std::string text(path);
  if (text.starts_with('\0')) {
    std::replace(text.begin(), text.end(), '\0', '@');
  } else {
    text.resize(std::min(text.find('\0'), text.size()));
  }
  return "unix:" + text;
}

std::string Inet6(const sockaddr_in6& address) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof(text));
  const std::string scope =
      address.sin6_scope_id == 0
          ? ""
          : absl::StrFormat("%%%d", address.sin6_scope_id);
  return absl::StrFormat("[%s%s]:%d", text, scope, ntohs(address.sin6_port));
}

}  // namespace

std::string SocketAddressText(std::string_view address) {
  if (address.size() < sizeof(sa_family_t)) return "family ?";
  const auto family = As<sa_family_t>(address);
  if (family == AF_UNIX) {
    return Unix(address.substr(offsetof(sockaddr_un, sun_path)));
  }
  if (family == AF_INET && address.size() >= sizeof(sockaddr_in)) {
    const auto inet = As<sockaddr_in>(address);
    char text[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET, &inet.sin_addr, text, sizeof(text));
    return absl::StrFormat("%s:%d", text, ntohs(inet.sin_port));
  }
  if (family == AF_INET6 && address.size() >= sizeof(sockaddr_in6)) {
    return Inet6(As<sockaddr_in6>(address));
  }
  if (family == AF_NETLINK && address.size() >= sizeof(sockaddr_nl)) {
    return absl::StrFormat("netlink:%d", As<sockaddr_nl>(address).nl_pid);
  }
  return absl::StrFormat("family %d", family);
}

}  // namespace countrace::runtime
