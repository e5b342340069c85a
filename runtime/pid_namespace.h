// The pid namespace of this process: which numbers its threads have.
//
// Async-signal-safe: compiled into the runtime library. Thread: any.
#ifndef COUNTRACE_RUNTIME_PID_NAMESPACE_H_
#define COUNTRACE_RUNTIME_PID_NAMESPACE_H_

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/posix/own_call.h"

namespace countrace::runtime {

// Its inode, which lsns prints; 0: unknown (no /proc).
inline std::uint32_t OwnPidNamespace() noexcept {
  // The link's text is "pid:[4026531836]".
  char text[64];
  const long bytes = base::OwnCall(SYS_readlinkat, AT_FDCWD,
                                   "/proc/self/ns/pid", text, sizeof(text) - 1);
  if (bytes <= 0) return 0;
  text[bytes] = '\0';
  const char* const open = strchr(text, '[');
  return open == nullptr
             ? 0
             : static_cast<std::uint32_t>(strtoull(open + 1, nullptr, 10));
}

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_PID_NAMESPACE_H_
