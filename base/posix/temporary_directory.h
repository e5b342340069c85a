// A private directory that is removed when its process ends, for any reason.
//
// A second process waits for that end and removes the directory: a signal
// handler could not, and SIGKILL has no handler. Thread: create it before there
// are other threads, because it forks.
#ifndef COUNTRACE_BASE_POSIX_TEMPORARY_DIRECTORY_H_
#define COUNTRACE_BASE_POSIX_TEMPORARY_DIRECTORY_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace countrace::base {

class TemporaryDirectory {
 public:
  // Under $TMPDIR, else /tmp; mode 0700. `verb` is part of its name.
  static absl::StatusOr<std::unique_ptr<TemporaryDirectory>> Create(
      std::string_view verb = "import");
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  absl::Status StartRemover();

  std::string path_;
  int alive_fd_ = -1;  // closed when this process ends
  pid_t remover_ = -1;
};

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_POSIX_TEMPORARY_DIRECTORY_H_
