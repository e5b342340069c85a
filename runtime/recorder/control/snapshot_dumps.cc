#include "runtime/recorder/control/snapshot_dumps.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "absl/strings/str_format.h"
#include "base/posix/scoped_fd.h"
#include "logformat/session_layout.h"
#include "runtime/recorder/system/monotonic_clock.h"

namespace countrace::runtime {
namespace {

using logformat::SessionControl;

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kAnswerNs = 1000 * kMillisecond;

// Fields of `.session` by pread(2) and pwrite(2): a file that becomes shorter
// cannot crash the program.
template <typename T>
bool ReadField(int fd, std::size_t offset, T& value) {
  return pread(fd, &value, sizeof(value), static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(sizeof(value));
}

}  // namespace

absl::StatusOr<std::uint64_t> RequestSnapshotDumps(const std::string& trace) {
  const std::string path = trace + "/" + logformat::kSessionFile;
  const base::ScopedFd session(
      open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!session.is_open()) {
    return absl::ErrnoToStatus(errno, absl::StrFormat("Cannot open %s", path));
  }
  const int fd = session.get();
  std::uint64_t magic = 0, dumped_ns = 0;
  std::uint32_t bytes = 0, requests = 0;
  logformat::SessionScope scope{};
  if (!ReadField(fd, offsetof(SessionControl, magic), magic) ||
      !ReadField(fd, offsetof(SessionControl, bytes), bytes) ||
      !ReadField(fd, offsetof(SessionControl, scope), scope) ||
      magic != logformat::kSessionMagic || bytes != sizeof(SessionControl)) {
    return absl::NotFoundError(
        absl::StrFormat("%s is not of a recording of this version", path));
  }
  if (scope == logformat::SessionScope::kHooksOnly) return 0;
  constexpr std::size_t kRequests = offsetof(SessionControl, dump_requests);
  if (!ReadField(fd, kRequests, requests)) requests = 0;
  ++requests;
  if (pwrite(fd, &requests, sizeof(requests), kRequests) !=
      static_cast<ssize_t>(sizeof(requests))) {
    return absl::ErrnoToStatus(errno, absl::StrFormat("Cannot write %s", path));
  }
  const std::uint64_t deadline_ns = MonotonicNs() + kAnswerNs;
  for (;;) {
    std::uint32_t answered = 0;
    if (ReadField(fd, offsetof(SessionControl, dumps_answered), answered) &&
        answered == requests) {
      break;
    }
    if (MonotonicNs() >= deadline_ns) {
      return absl::UnavailableError(
          "the recorder did not dump the counters within 1 s");
    }
    SleepNs(kMillisecond);
  }
  if (!ReadField(fd, offsetof(SessionControl, dumped_ns), dumped_ns)) return 0;
  return dumped_ns;
}

}  // namespace countrace::runtime
