// The helper and control thread of a process with hooks. In a recording: keeps
// sub-buffers ready ahead of the threads that write, unmaps those they left,
// notices the end. Always: answers the control page; idle it sleeps without a
// timeout. One for each program image that has hooks; forked children that do
// not exec have none: they prepare their own sub-buffers, and cannot join.
#ifndef COUNTRACE_RUNTIME_INPROCESS_PREPARER_H_
#define COUNTRACE_RUNTIME_INPROCESS_PREPARER_H_

#include "runtime/inprocess/thread_ring.h"

namespace countrace::runtime {

// Starts it if it does not run in this process. Not async-signal-safe.
void StartPreparer() noexcept;

// Tells it that there is work for the recording; a system call only if it
// sleeps.
void WakePreparer() noexcept;

// Has it look again whether it is alone, in a recording or not. Once.
void WakeIdlePreparer() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_PREPARER_H_
