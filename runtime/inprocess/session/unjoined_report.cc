#include "runtime/inprocess/session/unjoined_report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/posix/own_call.h"
#include "logformat/session_layout.h"
#include "runtime/unjoined_place.h"

namespace countrace::runtime {

namespace lf = countrace::logformat;

void ReportUnjoined(const char* session, int error) noexcept {
  char path[4096 + 16];
  const std::size_t length = strlen(session);
  if (length + sizeof(lf::kUnjoinedPipe) + 1 > sizeof(path)) return;
  memcpy(path, session, length);
  path[length] = '/';
  memcpy(path + length + 1, lf::kUnjoinedPipe, sizeof(lf::kUnjoinedPipe));
  // A pipe is writable also on a mount that is read-only. Without a recorder it
  // does not open.
  const auto open_pipe = [](const char* pipe) {
    return base::OwnCall(
        SYS_openat, AT_FDCWD, pipe,
        O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0);
  };
  long fd = open_pipe(path);
  if (fd < 0 && errno == EACCES) {
    char place[kUnjoinedPlaceBytes];
    UnjoinedPlace(session, place);
    fd = open_pipe(place);
  }
  if (fd < 0) return;
  lf::UnjoinedProgram report = {};
  report.error = static_cast<std::uint32_t>(error);
  struct stat status;
  // One write of less than PIPE_BUF: whole or not at all.
  if (base::OwnCall(SYS_fstat, static_cast<int>(fd), &status) == 0 &&
      S_ISFIFO(status.st_mode) &&
      base::OwnCall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", report.path,
                    sizeof(report.path) - 1) > 0) {
    base::OwnCall(SYS_write, fd, &report, sizeof(report));
  }
  base::OwnCall(SYS_close, fd);
}

}  // namespace countrace::runtime
