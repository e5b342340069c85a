// Detects the end of threads that record.
#ifndef COUNTRACE_RUNTIME_INPROCESS_RING_THREAD_END_H_
#define COUNTRACE_RUNTIME_INPROCESS_RING_THREAD_END_H_

namespace countrace::runtime {

// Creates the key, once, before the first record: each watched thread calls
// `on_end` when it ends. Watches the main thread if it is the caller. An early
// key needs no allocation in pthread_setspecific, which makes that
// async-signal-safe.
void CreateThreadEndKey(void (*on_end)() noexcept) noexcept;

// Watches the calling thread. Its end comes after the destructors of its
// thread-local objects and of other keys.
void WatchThreadEnd() noexcept;

// Called in a forked child, whose main thread is the one that forked.
void WatchMainThread() noexcept;

// The main thread may end without its destructors.
void UnwatchMainThread() noexcept;

// False: the main thread ended by itself (pthread_exit), or it is not watched.
// While it is true, the process does not wait for our helper thread only.
bool MainThreadIsWatched() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_RING_THREAD_END_H_
