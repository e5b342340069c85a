// Notices the end of threads that record.
#ifndef COUNTRACE_RUNTIME_INPROCESS_THREAD_END_H_
#define COUNTRACE_RUNTIME_INPROCESS_THREAD_END_H_

namespace countrace::runtime {

// Once, before the first record, watches the main thread if it calls: an early
// key needs no memory of its own in pthread_setspecific, which makes that
// async-signal-safe.
void CreateThreadEndKey() noexcept;

// Has ReleaseRing() called when the calling thread ends, after the destructors
// of its thread-local objects and of other keys.
void WatchThreadEnd() noexcept;

// Again in a forked child, whose main thread is the one that forked.
void WatchMainThread() noexcept;

// False: the main thread ended by itself (pthread_exit), or nobody can tell.
// While it is true the process cannot be waiting for our helper thread only.
bool MainThreadIsWatched() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_THREAD_END_H_
