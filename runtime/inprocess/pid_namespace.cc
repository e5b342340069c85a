#include "runtime/inprocess/pid_namespace.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace countrace::runtime {

// The link's text is "pid:[4026531836]".
std::uint32_t OwnPidNamespace() noexcept {
  char text[64];
  const long bytes = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid",
                             text, sizeof(text) - 1);
  if (bytes <= 0) return 0;
  text[bytes] = '\0';
  const char* const open = strchr(text, '[');
  return open == nullptr
             ? 0
             : static_cast<std::uint32_t>(strtoull(open + 1, nullptr, 10));
}

}  // namespace countrace::runtime
