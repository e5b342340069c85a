// A file that appears under its name when it is whole: until then it is beside
// that place, and gone with this object.
//
// Thread: one.
#ifndef COUNTRACE_BASE_POSIX_PENDING_FILE_H_
#define COUNTRACE_BASE_POSIX_PENDING_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/posix/scoped_fd.h"

namespace countrace::base {

class PendingFile {
 public:
  explicit PendingFile(const std::string& path)
      : path_(path), temporary_(path + ".XXXXXX.tmp") {}
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  // Mode 0600. Errors: INVALID_ARGUMENT something else than a file is there.
  absl::Status Create();
  absl::Status Append(std::string_view text);
  // Replaces what has its name.
  absl::Status Commit();

  // Where it is until Commit(), for those that write it by its name.
  const std::string& temporary() const { return temporary_; }

 private:
  absl::Status Error(const char* what) const;

  const std::string path_;
  std::string temporary_;
  ScopedFd file_;
  bool committed_ = false;
};

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_POSIX_PENDING_FILE_H_
