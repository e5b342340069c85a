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
// That of another process, as far as this one may look at it; else 0.
std::uint64_t PidNamespaceOf(std::int32_t pid);
// The number of thread `tid` of `pid` in its own (the innermost) namespace; 0:
// it has ended.
std::int32_t OwnNumber(std::int32_t pid, std::int32_t tid);
// The process that has `number` in the namespace with this inode; 0: none.
std::int32_t FindProcess(std::uint32_t pid_namespace, std::int32_t number);
// False in a container with a pid namespace of its own.
bool IsHostPidNamespace();
// Returns: PERMISSION_DENIED if /proc shows the numbers of another namespace,
// which would name other processes.
absl::Status CheckProcOfOwnNamespace();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_PID_NAMESPACE_H_
