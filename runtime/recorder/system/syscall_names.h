// Names of system calls by number, from libseccomp's tables.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_SYSCALL_NAMES_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_SYSCALL_NAMES_H_

#include <cstdint>
#include <string>

namespace countrace::runtime {

// "read"; the number in digits if this machine has no such system call.
// `compat`: for 32-bit programs.
std::string SyscallName(std::uint32_t number, bool compat);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_SYSCALL_NAMES_H_
