// A repaired copy of the trace of a recorder that died; the original stays as
// it is. Runs `countrace recover` on the copy, in a private directory that is
// deleted with the object.
//
// In: a trace directory. Out: another one, which is a finished CTF trace.
// Thread: one; forks (temporary_directory.h).
#ifndef COUNTRACE_RMAP_BABELTRACE_PLUGIN_RECOVERED_TRACE_H_
#define COUNTRACE_RMAP_BABELTRACE_PLUGIN_RECOVERED_TRACE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/posix/temporary_directory.h"

namespace countrace::rmap::babeltrace_plugin {

class RecoveredTrace {
 public:
  // A finished trace is not copied.
  // Errors: NOT_FOUND, INVALID_ARGUMENT: no trace of countrace;
  // FAILED_PRECONDITION: it is still being recorded; RESOURCE_EXHAUSTED: no
  // room for the copy.
  static absl::StatusOr<std::unique_ptr<RecoveredTrace>> Make(
      const std::string& path);
  RecoveredTrace(const RecoveredTrace&) = delete;
  RecoveredTrace& operator=(const RecoveredTrace&) = delete;

  const std::string& path() const { return path_; }
  // What was lost and where, in the words of `countrace recover`.
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  RecoveredTrace() = default;

  std::unique_ptr<base::TemporaryDirectory>
      directory_;  // null: `path_` is the trace
  std::string path_;
  std::vector<std::string> messages_;
};

}  // namespace countrace::rmap::babeltrace_plugin

#endif  // COUNTRACE_RMAP_BABELTRACE_PLUGIN_RECOVERED_TRACE_H_
