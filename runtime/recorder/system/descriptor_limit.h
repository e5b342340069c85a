// The recorder's limit of open files. Each event has a descriptor on each CPU,
// and the usual limit is 1,024.
//
// Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_DESCRIPTOR_LIMIT_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_DESCRIPTOR_LIMIT_H_

#include <cstdint>
#include <string>

namespace countrace::runtime {

// Raises the soft limit to the hard one, and both if the hard one is below
// `descriptors`, the number that is needed, and the user may raise it.
void RaiseDescriptorLimit(std::uint64_t descriptors);

// For a message: the limit, and the number that is needed, with the remedy.
std::string TooFewDescriptors();

// In a child, before it executes a program: the limit is what it was before the
// first RaiseDescriptorLimit(). Async-signal-safe.
void RestoreDescriptorLimit() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_DESCRIPTOR_LIMIT_H_
