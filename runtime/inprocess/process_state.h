// What the runtime library knows about the process it lives in.
//
// ProcessState and every ThreadRing lie in memory that the kernel wipes in a
// forked child (MADV_WIPEONFORK), whatever kind of fork it was. A child
// therefore finds no ring, no held lock and no pid, and starts afresh at its
// first hook; it never writes to its parent's streams.
#ifndef COUNTRACE_RUNTIME_INPROCESS_PROCESS_STATE_H_
#define COUNTRACE_RUNTIME_INPROCESS_PROCESS_STATE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "logformat/session_layout.h"

namespace countrace::runtime {

struct ThreadRing;

// A futex lock that is valid when zero (so a wiped one is free). Take it only
// with all signals blocked: a handler that waits for its own thread would hang.
class FutexLock {
 public:
  void Lock() noexcept;
  void Unlock() noexcept;

 private:
  std::atomic<std::uint32_t> word_;  // 0 free, 1 held, 2 held with waiters
};

struct ProcessState {
  std::atomic<std::int32_t> pid;  // 0: a fork wiped it, or never initialised
  FutexLock lock;                 // guards the lists below
  std::atomic<std::uint32_t> clock_syncing;
  std::uint32_t next_stream;
  ThreadRing* free_rings;
  std::atomic<ThreadRing*> all_rings;
  std::byte* arena;  // rest of the current chunk
  std::size_t arena_bytes;
  std::atomic<logformat::ProcessSlot*> slot;
  std::atomic<std::uint32_t> preparer_running;
  std::atomic<std::uint32_t> preparer_waiting;
  // After a failed attempt to open a stream: not before this time (ns).
  std::atomic<std::uint64_t> retry_at_ns;
  std::atomic<std::uint32_t> retry_cause;
};

// Null while the process does not take part in a recording.
extern logformat::SessionControl* g_session
    __attribute__((visibility("hidden")));
extern char g_session_path[4096]  // absolute, without a trailing slash
    __attribute__((visibility("hidden")));
extern ProcessState* g_process __attribute__((visibility("hidden")));

// Maps `.session` of the directory named by COUNTRACE_SESSION and the wiped
// memory. Called once, from the library's constructor. False: not recording.
bool JoinSession() noexcept;

// Sets pid and claims a ProcessSlot if a fork wiped them. All signals blocked.
void EnsureProcessInitialised() noexcept;

// Memory for `bytes` (a multiple of 128) that a fork wipes; null if none.
// Requires: g_process->lock held.
void* AllocateWipedOnFork(std::size_t bytes) noexcept;

bool SessionIsRecording() noexcept;

// Counts a record that no stream can take.
void CountSessionDiscard(logformat::DiscardCause cause, int error) noexcept;

// Blocks every signal of this thread for its lifetime; keeps errno.
class SignalBlock {
 public:
  SignalBlock() noexcept;
  ~SignalBlock();
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;

 private:
  std::uint64_t saved_mask_;
  int saved_errno_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_PROCESS_STATE_H_
