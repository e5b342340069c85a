// The addresses of sockets as texts: `127.0.0.1:80`, `[::1]:80`, `unix:/path`.
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_SOCKET_ADDRESS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_SOCKET_ADDRESS_H_

#include <string>
#include <string_view>

namespace countrace::runtime {

// `address`: the bytes of a sockaddr, of any length. A name without a file has
// `@` for its NULs, as in ss and /proc/net/unix; other families have their
// number, `family 17`, as have addresses that are too short.
std::string SocketAddressText(std::string_view address);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_BPF_READ_SOCKET_ADDRESS_H_
