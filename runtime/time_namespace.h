// CLOCK_MONOTONIC in a time namespace (time_namespaces(7)): how far it is ahead
// of the host's, which the kernel's records have.
//
// Async-signal-safe: compiled into the runtime library. Thread: any.
#ifndef COUNTRACE_RUNTIME_TIME_NAMESPACE_H_
#define COUNTRACE_RUNTIME_TIME_NAMESPACE_H_

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/posix/own_call.h"

namespace countrace::runtime {

// False: /proc does not say. *offset_ns: 0 in the host's time namespace.
inline bool ReadTimeNamespaceOffset(std::int64_t* offset_ns) noexcept {
  // The file has the offsets of the children's namespace.
  char own[64], of_children[64];
  const long own_bytes = base::OwnCall(SYS_readlinkat, AT_FDCWD,
                                       "/proc/self/ns/time", own, sizeof(own));
  const long children_bytes =
      base::OwnCall(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/time_for_children",
                    of_children, sizeof(of_children));
  if (own_bytes <= 0 || own_bytes != children_bytes ||
      memcmp(own, of_children, static_cast<std::size_t>(own_bytes)) != 0) {
    return false;
  }
  const long file =
      base::OwnCall(SYS_openat, AT_FDCWD, "/proc/self/timens_offsets",
                    O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return false;
  // "monotonic     100000         0", in seconds and ns, then boottime.
  char text[256];
  const long bytes = base::OwnCall(SYS_read, file, text, sizeof(text) - 1);
  base::OwnCall(SYS_close, file);
  constexpr char kName[] = "monotonic";
  constexpr std::size_t kNameBytes = sizeof(kName) - 1;
  if (bytes <= 0) return false;
  text[bytes] = '\0';
  if (strncmp(text, kName, kNameBytes) != 0) return false;
  char* rest = nullptr;
  const long long seconds = strtoll(text + kNameBytes, &rest, 10);
  *offset_ns = seconds * 1'000'000'000 + strtoll(rest, nullptr, 10);
  return true;
}

// 0 in the host's time namespace, and where /proc does not say.
inline std::int64_t TimeNamespaceOffsetNs() noexcept {
  std::int64_t offset_ns = 0;
  return ReadTimeNamespaceOffset(&offset_ns) ? offset_ns : 0;
}

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_TIME_NAMESPACE_H_
