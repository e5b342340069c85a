#include "base/posix/scoped_fd.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace countrace::base {

void ScopedFd::Reset() noexcept {
  if (fd_ < 0) return;
  const int saved = errno;
  // No retry on EINTR: Linux has released the number either way.
  close(std::exchange(fd_, -1));
  errno = saved;
}

}  // namespace countrace::base
