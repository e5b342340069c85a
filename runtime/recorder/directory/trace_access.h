// Lets processes of other users write into a recording of root while it runs.
//
// A POSIX access control list gives each such user the directory (whose sticky
// bit keeps the users' files apart) and the two session files. The directories
// above must be open to the user already. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_DIRECTORY_TRACE_ACCESS_H_
#define COUNTRACE_RUNTIME_RECORDER_DIRECTORY_TRACE_ACCESS_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"

namespace countrace::runtime {

class TraceAccess {
 public:
  explicit TraceAccess(std::string trace) : trace_(std::move(trace)) {}
  // Revokes the grants.
  ~TraceAccess();
  TraceAccess(const TraceAccess&) = delete;
  TraceAccess& operator=(const TraceAccess&) = delete;

  // Grants access to the user as which process `pid` writes files. Does nothing
  // if that is our user, or if we are not root. Returns: FAILED_PRECONDITION
  // the file system has no access control lists; NOT_FOUND no such process.
  absl::Status GrantTo(std::int32_t pid);

 private:
  absl::Status SetLists() const;

  std::string trace_;
  std::set<std::uint32_t> users_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_DIRECTORY_TRACE_ACCESS_H_
