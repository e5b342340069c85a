#include "runtime/inprocess/ring/stream_names.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/posix/own_call.h"
#include "runtime/inprocess/process/own_descriptors.h"
#include "runtime/inprocess/process/process_state.h"

namespace countrace::runtime {

namespace {

// Writes `value` in decimal at `out`; returns the end. (snprintf is not
// async-signal-safe.)
char* AppendNumber(char* out, std::uint64_t value) noexcept {
  char digits[20];
  int n = 0;
  do {
    digits[n++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (n > 0) *out++ = digits[--n];
  return out;
}

void StreamPath(std::uint32_t stream, char (&path)[4096 + 64]) noexcept {
  const std::size_t length = strlen(g_session_path);
  memcpy(path, g_session_path, length);
  char* out = path + length;
  memcpy(out, "/thread-", 8);
  out = AppendNumber(out + 8, static_cast<std::uint64_t>(g_process->pid.load(
                                  std::memory_order_relaxed)));
  *out++ = '-';
  out = AppendNumber(out, stream);
  *out = '\0';
}

}  // namespace

long CreateNextStream(std::uint32_t* stream) noexcept {
  for (;;) {
    g_process->lock.Lock();
    *stream = g_process->next_stream++;
    g_process->lock.Unlock();
    char path[4096 + 64];
    StreamPath(*stream, path);
    const long fd =
        base::OwnCall(SYS_openat, AT_FDCWD, path,
                      O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    // The file may be left from a process that had this pid earlier, or from
    // before an exec.
    if (fd >= 0) return MoveUp(fd);
    if (errno != EEXIST) return -errno;
  }
}

long OpenStream(std::uint32_t stream) noexcept {
  char path[4096 + 64];
  StreamPath(stream, path);
  const long fd = base::OwnCall(SYS_openat, AT_FDCWD, path,
                                O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
  return fd >= 0 ? MoveUp(fd) : -errno;
}

}  // namespace countrace::runtime
