// Notices the end of threads that record.
#ifndef COUNTRACE_RUNTIME_INPROCESS_THREAD_END_H_
#define COUNTRACE_RUNTIME_INPROCESS_THREAD_END_H_

namespace countrace::runtime {

// Once, from the library's constructor: an early key needs no memory of its own
// in pthread_setspecific, which makes that async-signal-safe.
void CreateThreadEndKey() noexcept;

// Has ReleaseRing() called when the calling thread ends, after the destructors
// of its thread-local objects and of other keys.
void WatchThreadEnd() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_THREAD_END_H_
