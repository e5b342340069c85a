// The helper thread of an instrumented process: keeps sub-buffers ready ahead
// of the threads that write, unmaps those they left, and notices the end of the
// recording. One for each program image that has hooks; forked children that do
// not exec have none and prepare their own sub-buffers.
#ifndef COUNTRACE_RUNTIME_INPROCESS_PREPARER_H_
#define COUNTRACE_RUNTIME_INPROCESS_PREPARER_H_

#include "runtime/inprocess/thread_ring.h"

namespace countrace::runtime {

// Starts it if it does not run in this process. Not async-signal-safe.
void StartPreparer() noexcept;

// Tells it that there is work; a system call only if it sleeps.
void WakePreparer() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_PREPARER_H_
