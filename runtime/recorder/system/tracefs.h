// Read access to the kernel's tracefs, mounted or not.
//
// Where it is not mounted, root gets a detached mount (fsopen, fsmount) that no
// other process sees and that vanishes with the descriptor: recording leaves no
// mount behind. Thread: any, one at a time.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_TRACEFS_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_TRACEFS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"

namespace countrace::runtime {

class Tracefs {
 public:
  // Returns: PERMISSION_DENIED, NOT_FOUND (kernel without tracefs); the message
  // lists what was tried.
  static absl::StatusOr<Tracefs> Open();

  // `path` relative to the root of tracefs, "events/sched/sched_switch/id".
  absl::StatusOr<std::string> Read(const std::string& path) const;
  absl::StatusOr<std::vector<std::string>> List(const std::string& path) const;
  // perf_event_attr.config of a tracepoint.
  absl::StatusOr<std::uint64_t> TracepointId(const std::string& system,
                                             const std::string& event) const;

  // "/sys/kernel/tracing", or "detached mount".
  const std::string& where() const { return where_; }

 private:
  Tracefs(base::ScopedFd root, std::string where)
      : root_(std::move(root)), where_(std::move(where)) {}
  base::ScopedFd root_;
  std::string where_;
};

// Tracepoints of this kernel as "SYSTEM:NAME", sorted, that match `glob`.
// Returns: as Tracefs::Open().
absl::StatusOr<std::vector<std::string>> ListTracepoints(
    const std::string& glob);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_TRACEFS_H_
