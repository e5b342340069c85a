#include "base/posix/temporary_directory.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_format.h"

#ifndef CLOSE_RANGE_CLOEXEC
#include <linux/close_range.h>
#endif

namespace countrace::base {

absl::StatusOr<std::unique_ptr<TemporaryDirectory>> TemporaryDirectory::Create(
    std::string_view verb) {
  const char* parent = std::getenv("TMPDIR");
  if (parent == nullptr || *parent == '\0') parent = "/tmp";
  std::string path = absl::StrFormat("%s/countrace-%s-XXXXXX", parent, verb);
  if (mkdtemp(path.data()) == nullptr) {
    return absl::ErrnoToStatus(
        errno, absl::StrFormat(
                   "Cannot make a directory in %s for the trace of one run; "
                   "TMPDIR names another place",
                   parent));
  }
  std::unique_ptr<TemporaryDirectory> directory(
      new TemporaryDirectory(std::move(path)));
  if (absl::Status status = directory->StartRemover(); !status.ok()) {
    return status;
  }
  return directory;
}

absl::Status TemporaryDirectory::StartRemover() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "Cannot make a pipe");
  }
  // The child must not allocate memory while other threads' locks may be held.
  const std::string path = path_;
  remover_ = fork();
  if (remover_ == 0) {
    setsid();  // no Ctrl-C from the terminal
    for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGQUIT}) {
      std::signal(signal, SIG_IGN);
    }
    // Else a shell's pipe would stay open: `countrace report TRACE | head`.
    const int nothing = open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      dup2(nothing, fd);
    }
    const int pipe_end = dup2(ends[0], STDERR_FILENO + 1);
    close_range(STDERR_FILENO + 2, ~0u, 0);
    char byte = 0;
    while (read(pipe_end, &byte, 1) < 0 && errno == EINTR) {
    }
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
    _exit(0);
  }
  const int error = errno;
  close(ends[0]);
  alive_fd_ = ends[1];
  if (remover_ < 0) {
    return absl::ErrnoToStatus(error, "Cannot start a process");
  }
  return absl::OkStatus();
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  if (alive_fd_ >= 0) close(alive_fd_);
  if (remover_ > 0) {
    while (waitpid(remover_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

}  // namespace countrace::base
