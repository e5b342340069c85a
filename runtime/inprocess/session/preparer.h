// The helper and control thread of a process with hooks. In a recording, it
// keeps sub-buffers ready ahead of the writing threads, unmaps used ones, and
// notices the end. At any time it answers the control page; when idle it sleeps
// without a timeout. Each program image with hooks has one. Forked children
// that do not exec have none: they prepare their own sub-buffers, and cannot
// join a recording.
#ifndef COUNTRACE_RUNTIME_INPROCESS_SESSION_PREPARER_H_
#define COUNTRACE_RUNTIME_INPROCESS_SESSION_PREPARER_H_

namespace countrace::runtime {

// Starts the thread if this process has none. Not async-signal-safe.
void StartPreparer() noexcept;

// Ends it and waits until the kernel has forgotten it: some calls are refused
// to a process with threads. False: there was none. Not async-signal-safe.
bool EndPreparer() noexcept;

// Makes all sub-buffers ready that streams should have, and streams for threads
// to come: the calling thread is about to get a seccomp filter.
void FillStreams() noexcept;

// For a thread that may not remove it itself: waits some milliseconds.
void LetPreparerRemoveControlPage() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_SESSION_PREPARER_H_
