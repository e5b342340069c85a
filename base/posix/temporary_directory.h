// A private directory that is gone when its process is, however that ends.
//
// A second process waits for the end of this one and removes what is left: a
// signal handler could not, and nobody handles SIGKILL. Thread: fork must be
// safe when it is made, so: before there are other threads.
#ifndef COUNTRACE_BASE_POSIX_TEMPORARY_DIRECTORY_H_
#define COUNTRACE_BASE_POSIX_TEMPORARY_DIRECTORY_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace countrace::base {

class TemporaryDirectory {
 public:
  // Under $TMPDIR, else /tmp; mode 0700.
  static absl::StatusOr<std::unique_ptr<TemporaryDirectory>> Create();
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
