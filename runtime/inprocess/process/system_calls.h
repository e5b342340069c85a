// Which threads may make system calls for the recording. A seccomp filter may
// kill the program for a call that it does not know, so from the filter on the
// runtime makes none in such a thread: the preparer makes them (preparer.h).
// Without its sub-buffers records are discarded and counted.
//
// Async-signal-safe where nothing else is said. Thread: any.
#ifndef COUNTRACE_RUNTIME_INPROCESS_PROCESS_SYSTEM_CALLS_H_
#define COUNTRACE_RUNTIME_INPROCESS_PROCESS_SYSTEM_CALLS_H_

#include <atomic>
#include <cstdint>

namespace countrace::runtime {

enum class Confinement : std::uint32_t {
  kNone = 0,
  kSome = 1,  // threads that set a filter, and all that started later
  kAll = 2,   // every thread, the preparer as well
};
// A forked child inherits it with the filter.
extern std::atomic<Confinement> g_confinement
    __attribute__((visibility("hidden")));

// What is known of a thread where some are under a filter. A forked child is
// where its parent was.
enum class ThreadPlace : std::uint8_t {
  kUnknown = 0,  // may have started under the filter
  kFree,         // was there before the filter
  kConfined,
  kStrict,  // not even the raw counter: guarded_hooks.h
};
extern __thread ThreadPlace t_place
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

inline bool MayCall() noexcept {
  const Confinement now = g_confinement.load(std::memory_order_relaxed);
  if (__builtin_expect(now == Confinement::kNone, 1)) return true;
  return now == Confinement::kSome && t_place == ThreadPlace::kFree;
}

// At the start: how the C library stores a thread's id. Not
// async-signal-safe.
void FindStoredTid() noexcept;
// The calling thread's id without a system call; 0: not known.
std::int32_t StoredTid() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_PROCESS_SYSTEM_CALLS_H_
