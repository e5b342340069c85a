// The pid and time namespaces of this process, also where it sees no /proc: a
// forked child in a chroot, which has forgotten what its parent knew.
//
// Async-signal-safe. Thread: any.
#ifndef COUNTRACE_RUNTIME_INPROCESS_PROCESS_OWN_NAMESPACES_H_
#define COUNTRACE_RUNTIME_INPROCESS_PROCESS_OWN_NAMESPACES_H_

#include <cstdint>

namespace countrace::runtime {

// As OwnPidNamespace(); without /proc what the kernel says (Linux 6.11), else
// what the process it was forked from knew. 0: unknown.
std::uint32_t KnownPidNamespace() noexcept;

// As TimeNamespaceOffsetNs(); without /proc that of the process it was forked
// from.
std::int64_t KnownTimeOffsetNs() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_PROCESS_OWN_NAMESPACES_H_
