#include "base/posix/pending_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"

namespace countrace::base {

PendingFile::~PendingFile() {
  if (file_.is_open() && !committed_) ::unlink(temporary_.c_str());
}

absl::Status PendingFile::Create() {
  // A device or a pipe would be replaced.
  struct stat status;
  if (::lstat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode) &&
      !S_ISLNK(status.st_mode)) {
    return absl::InvalidArgumentError(
        "Cannot make " + path_ +
        ": there is something that is no regular file; name another place");
  }
  file_ = ScopedFd(::mkostemps(temporary_.data(), 4, O_CLOEXEC));
  return file_.is_open() ? absl::OkStatus() : Error("make");
}

absl::Status PendingFile::Append(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file_.get(), text.data(), text.size());
    if (written < 0 && errno != EINTR) return Error("write");
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status PendingFile::Commit() {
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return Error("make");
  committed_ = true;
  return absl::OkStatus();
}

absl::Status PendingFile::Error(const char* what) const {
  return OutputStatus(errno, absl::StrFormat("Cannot %s %s", what, path_));
}

}  // namespace countrace::base
