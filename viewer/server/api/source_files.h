// The source files that hooks stand in, read only below directories that the
// user named. Their names come from the trace, never from a client, and lead
// out of no directory, not by `..` nor by a symbolic link.
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_API_SOURCE_FILES_H_
#define COUNTRACE_VIEWER_SERVER_API_SOURCE_FILES_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"

namespace countrace::viewer {

struct SourceFile {
  std::string path;  // below the directory
  std::string text;
  std::size_t line = 0;  // from 1; 0: not known
};

inline constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 20;

class SourceFiles {
 public:
  // Errors: a path is no directory that can be read.
  static absl::StatusOr<SourceFiles> Open(
      const std::vector<std::string>& directories);

  // `location` is FILE:LINE of a hook. FILE is looked for as it is, then
  // without its first directory, and so on: the tree may have been built
  // elsewhere. Errors: it has no file (invalid argument), there is none below
  // the directories (not found), it is too large (resource exhausted).
  absl::StatusOr<SourceFile> Read(std::string_view location) const;
  // The text of a file that is looked for in the same way, by its name alone.
  // Null: no directory was named. It must not outlive this.
  std::function<std::optional<std::string>(const std::string& file)> Texts()
      const;

 private:
  std::vector<base::ScopedFd> roots_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_API_SOURCE_FILES_H_
