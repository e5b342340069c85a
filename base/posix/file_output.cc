#include "base/posix/file_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_format.h"

namespace countrace::base {

absl::Status FileOutput::Error(int error, const char* what) const {
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "Cannot %s %s: the device is full; free space and run `countrace "
        "recover` again",
        what, path_));
  }
  return absl::ErrnoToStatus(error,
                             absl::StrFormat("Cannot %s %s", what, path_));
}

absl::Status FileOutput::OpenExisting(const std::string& path) {
  path_ = path;
  fd_ = ScopedFd(
      open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return fd_.is_open() ? absl::OkStatus() : Error(errno, "open");
}

absl::Status FileOutput::Create(const std::string& path) {
  path_ = path;
  // Not O_TRUNC on an existing file: it could be a link to another file.
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return Error(errno, "replace");
  }
  fd_ = ScopedFd(open(
      path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  return fd_.is_open() ? absl::OkStatus() : Error(errno, "create");
}

void FileOutput::Take(ScopedFd fd, const std::string& path) {
  fd_ = std::move(fd);
  path_ = path;
}

absl::Status FileOutput::WriteAt(std::uint64_t offset,
                                 std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd_.get(), bytes.data(), bytes.size(),
                                   static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Error(errno, "write");
    if (written == 0) return Error(ENOSPC, "write");
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status FileOutput::SetLength(std::uint64_t bytes) {
  if (ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0) {
    return Error(errno, "set the length of");
  }
  return absl::OkStatus();
}

absl::Status FileOutput::RenameTo(const std::string& path) {
  if (fsync(fd_.get()) != 0) return Error(errno, "flush");
  if (rename(path_.c_str(), path.c_str()) != 0) return Error(errno, "rename");
  return absl::OkStatus();
}

}  // namespace countrace::base
