// One builder of an index at a time: a locked file beside the index, which goes
// when the lock does. A builder that died holds none.
#ifndef COUNTRACE_VIEWER_INDEX_OPEN_BUILD_LOCK_H_
#define COUNTRACE_VIEWER_INDEX_OPEN_BUILD_LOCK_H_

#include <optional>
#include <string>
#include <utility>

#include "base/posix/scoped_fd.h"

namespace countrace::viewer {

class BuildLock {
 public:
  // For the index at `index_path`. Null: another builder has it. Where the file
  // cannot be made or locked, a lock that locks nothing: two builders then do
  // the same work, and the last one's index stays.
  static std::optional<BuildLock> Try(const std::string& index_path);
  ~BuildLock();
  BuildLock(BuildLock&&) = default;
  BuildLock& operator=(BuildLock&&) = default;
  // False: it locks nothing.
  bool is_held() const { return file_.is_open(); }

 private:
  BuildLock(base::ScopedFd file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  base::ScopedFd file_;
  std::string path_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_OPEN_BUILD_LOCK_H_
