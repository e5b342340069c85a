// Wakes the preparer (preparer.h). Async-signal-safe.
#ifndef COUNTRACE_RUNTIME_INPROCESS_RING_PREPARER_WAKE_H_
#define COUNTRACE_RUNTIME_INPROCESS_RING_PREPARER_WAKE_H_

#include <atomic>
#include <cstdint>

namespace countrace::runtime {

// Wakes the thread because the recording has work for it; a system call only if
// it sleeps.
void WakePreparer() noexcept;

// Makes the thread check once whether it is the last one, in a recording or
// not.
void WakeIdlePreparer() noexcept;

// The futex word of WakePreparer(), for the preparer to sleep on.
std::atomic<std::uint32_t>* PreparerWakeWord() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_RING_PREPARER_WAKE_H_
