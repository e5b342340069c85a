// The pid namespace of this process. Async-signal-safe. Thread: any.
#ifndef COUNTRACE_RUNTIME_INPROCESS_PID_NAMESPACE_H_
#define COUNTRACE_RUNTIME_INPROCESS_PID_NAMESPACE_H_

#include <cstdint>

namespace countrace::runtime {

// Its inode; 0: unknown (no /proc).
std::uint32_t OwnPidNamespace() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_PID_NAMESPACE_H_
