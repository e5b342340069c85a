// The helper and control thread of a process with hooks. In a recording, it
// keeps sub-buffers ready ahead of the writing threads, unmaps used ones, and
// notices the end. At any time it answers the control page; when idle it sleeps
// without a timeout. Each program image with hooks has one. Forked children
// that do not exec have none: they prepare their own sub-buffers, and cannot
// join a recording.
#ifndef COUNTRACE_RUNTIME_INPROCESS_PREPARER_H_
#define COUNTRACE_RUNTIME_INPROCESS_PREPARER_H_

namespace countrace::runtime {

// Starts the thread if this process has none. Not async-signal-safe.
void StartPreparer() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_PREPARER_H_
