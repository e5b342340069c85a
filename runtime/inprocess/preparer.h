// The helper and control thread of a process with hooks. In a recording, it
// keeps sub-buffers ready ahead of the writing threads, unmaps used ones, and
// notices the end. At any time it answers the control page; when idle it sleeps
// without a timeout. Each program image with hooks has one. Forked children
// that do not exec have none: they prepare their own sub-buffers, and cannot
// join a recording.
#ifndef COUNTRACE_RUNTIME_INPROCESS_PREPARER_H_
#define COUNTRACE_RUNTIME_INPROCESS_PREPARER_H_

#include "runtime/inprocess/thread_ring.h"

namespace countrace::runtime {

// Starts the thread if this process has none. Not async-signal-safe.
void StartPreparer() noexcept;

// Wakes the thread because the recording has work for it; a system call only if
// it sleeps.
void WakePreparer() noexcept;

// Makes the thread check once whether it is the last one, in a recording or
// not.
void WakeIdlePreparer() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_PREPARER_H_
