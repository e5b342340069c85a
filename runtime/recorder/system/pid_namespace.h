// The pid namespaces of processes, and their numbers there.
//
// Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_PID_NAMESPACE_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_PID_NAMESPACE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace countrace::runtime {

// Status payload of PERMISSION_DENIED: the reason is a pid namespace, and more
// privilege would not help.
inline constexpr char kPidNamespacePayload[] = "countrace/pid-namespace";
absl::Status PidNamespaceError(const std::string& message);

// As OwnPidNamespace(), of another process; 0: this one may not look at it.
std::uint32_t PidNamespaceOf(std::int32_t pid);
// The number of thread `tid` of `pid` in its own (the innermost) namespace; 0:
// it has ended.
std::int32_t OwnNumber(std::int32_t pid, std::int32_t tid);
// The same from the text of /proc/PID/status; 0: an old kernel's.
std::int32_t OwnNumberIn(const std::string& status);
// The process that has `number` in the namespace with this inode; 0: none.
std::int32_t FindProcess(std::uint32_t pid_namespace, std::int32_t number);
// False in a container with a pid namespace of its own.
bool IsHostPidNamespace();
// Returns: PERMISSION_DENIED if /proc shows the numbers of another namespace,
// which would name other processes.
absl::Status CheckProcOfOwnNamespace();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_PID_NAMESPACE_H_
