// The pid namespace of this process: which numbers its processes have.
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_PID_NAMESPACE_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_PID_NAMESPACE_H_

#include <cstdint>

#include "absl/status/status.h"

namespace countrace::runtime {

// The namespace's inode (lsns prints it); 0: unknown.
std::uint64_t OwnPidNamespace();
// False in a container with a pid namespace of its own.
bool IsHostPidNamespace();
// Returns: PERMISSION_DENIED if /proc shows the numbers of another namespace,
// which would name other processes.
absl::Status CheckProcOfOwnNamespace();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_PID_NAMESPACE_H_
