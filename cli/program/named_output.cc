#include "cli/program/named_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"

namespace countrace::cli {

absl::Status NamedOutput::Error(const char* what) const {
  return base::OutputStatus(errno,
                            absl::StrFormat("Cannot %s %s", what, path_));
}

absl::Status NamedOutput::Open(const std::string& path) {
  path_ = path;
  fd_ = base::ScopedFd(open(
      path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666));
  return fd_.is_open() ? absl::OkStatus() : Error("open");
}

absl::Status NamedOutput::Write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd_.get(), text.data(), text.size());
    if (written < 0 && errno != EINTR) return Error("write");
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace countrace::cli
