#include "base/posix/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"

namespace countrace::base {
namespace {

absl::Status Reason(int error) {
  return {ErrnoStatus(error, "").code(), std::strerror(error)};
}

absl::Status Named(const std::string& path, const absl::Status& reason) {
  return {reason.code(),
          absl::StrFormat("Cannot open %s: %s", path, reason.message())};
}

}  // namespace

absl::StatusOr<ScopedFd> OpenRegularFile(const std::string& path,
                                         LastLink link) {
  const int no_follow = link == LastLink::kRefused ? O_NOFOLLOW : 0;
  const ScopedFd place(open(path.c_str(), O_PATH | O_CLOEXEC | no_follow));
  struct stat status {};
  if (!place.is_open() || fstat(place.get(), &status) != 0) {
    return Reason(errno);
  }
  if (S_ISLNK(status.st_mode)) {
    return absl::FailedPreconditionError("it is a symbolic link");
  }
  if (!S_ISREG(status.st_mode)) {
    return absl::FailedPreconditionError("it is no regular file");
  }
  ScopedFd file(open(absl::StrFormat("/proc/self/fd/%d", place.get()).c_str(),
                     O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) return Reason(errno);
  return file;
}

absl::StatusOr<std::string> ReadAll(int file, std::uint64_t most_bytes) {
  std::string text;
  for (;;) {
    constexpr std::uint64_t kPart = 65536;
    const std::size_t have = text.size();
    // One byte beyond the limit shows that there are more.
    text.resize(have + std::min(kPart, most_bytes + 1 - have));
    const ssize_t got = read(file, text.data() + have, text.size() - have);
    text.resize(have + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return text;
    if (got < 0 && errno != EINTR) return Reason(errno);
    if (text.size() > most_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrFormat("it has more than %d bytes", most_bytes));
    }
  }
}

absl::StatusOr<std::string> ReadRegularFile(const std::string& path,
                                            std::uint64_t most_bytes) {
  const auto file = OpenRegularFile(path);
  if (!file.ok()) return file.status();
  return ReadAll(file->get(), most_bytes);
}

absl::StatusOr<ScopedFd> OpenNamedFile(const std::string& path) {
  auto file = OpenRegularFile(path);
  if (!file.ok()) return Named(path, file.status());
  return file;
}

absl::StatusOr<std::string> ReadNamedFile(const std::string& path,
                                          std::uint64_t most_bytes) {
  auto text = ReadRegularFile(path, most_bytes);
  if (!text.ok()) return Named(path, text.status());
  return text;
}

}  // namespace countrace::base
