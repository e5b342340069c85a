// The kernel's clocks, read without the C library, whose clock_gettime
// preloaded libraries replace (libfaketime): by the function of the vDSO, or a
// system call. Compiled into the runtime library.
//
// Async-signal-safe. Thread: any.
#ifndef COUNTRACE_BASE_POSIX_KERNEL_CLOCK_H_
#define COUNTRACE_BASE_POSIX_KERNEL_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace countrace::base {

// Looks the vDSO's function up. Once, before other threads read the clock;
// without it every reading is a system call.
void FindKernelClock() noexcept;

// ns, in the process's time namespace.
std::uint64_t KernelClockNs(clockid_t clock) noexcept;

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_POSIX_KERNEL_CLOCK_H_
