// The runtime library's state of its process.
//
// ProcessState and every ThreadRing lie in memory that the kernel wipes in a
// forked child (MADV_WIPEONFORK), for every kind of fork. A child therefore has
// no ring, no held lock and no pid, and initialises itself at its first hook.
// It never writes to its parent's streams.
#ifndef COUNTRACE_RUNTIME_INPROCESS_PROCESS_PROCESS_STATE_H_
#define COUNTRACE_RUNTIME_INPROCESS_PROCESS_PROCESS_STATE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "logformat/session_layout.h"
#include "runtime/control_layout.h"

namespace countrace::runtime {

struct ThreadRing;

// A futex lock that is valid when zero, so a wiped lock is free. Take it only
// with all signals blocked: a handler that waits for its own thread would hang.
class FutexLock {
 public:
  void Lock() noexcept;
  void Unlock() noexcept;

 private:
  std::atomic<std::uint32_t> word_;  // 0 free, 1 held, 2 held with waiters
};

struct ProcessState {
  std::atomic<std::int32_t> pid;  // 0: wiped by a fork, or never initialised
  // Inode of its pid namespace, if that is not the recorder's; else 0.
  std::atomic<std::uint32_t> other_namespace;
  FutexLock lock;         // guards the lists below
  FutexLock sites_lock;   // hook sites, their gates, the selection
  FutexLock owners_lock;  // taking rings away, ends of threads
  std::atomic<std::uint32_t> slow_path_closed;  // 1: leaving, or idle
  std::atomic<std::uint32_t> slow_path_users;   // threads in it
  // own_descriptors.h
  std::atomic<std::uint32_t> descriptor_uses, range_closings;
  std::atomic<std::uint32_t> clock_syncing;
  // Its CLOCK_MONOTONIC minus the host's (runtime/time_namespace.h).
  std::atomic<std::int64_t> clock_ahead_ns;
  std::atomic<std::uint32_t> clock_ahead_known;  // 0: read it
  std::uint32_t next_stream;
  ThreadRing* free_rings;
  std::atomic<ThreadRing*> all_rings;
  std::byte* arena;  // rest of the current chunk
  std::size_t arena_bytes;
  std::atomic<logformat::ProcessSlot*> slot;
  std::atomic<std::uint32_t> preparer_running;
  std::atomic<std::uint32_t> preparer_waiting;
  std::atomic<std::int32_t> preparer_tid;
  std::atomic<std::uint32_t> preparer_must_end;
  // After a failed attempt to open a stream: not before this time (ns).
  std::atomic<std::uint64_t> retry_at_ns;
  std::atomic<std::uint32_t> retry_cause;
  // Requests to join arrive here. Null: never, as in forked children, which
  // have no control thread.
  std::atomic<ControlPage*> control;
};

// Null until the process has hooks; then always the same address. Joining maps
// `.session` there and leaving maps zeros, so a late reader never faults.
extern logformat::SessionControl* g_session
    __attribute__((visibility("hidden")));
// Our own copy of what the recorder stored there before it published the
// session: checked when we joined, so no process that shares the page can
// change a size or an index that we use. Only counts, states and slots are read
// from g_session. Null and zero as g_session is.
extern logformat::SessionControl* g_settings
    __attribute__((visibility("hidden")));
extern char g_session_path[4096]  // absolute, without a trailing slash
    __attribute__((visibility("hidden")));
extern ProcessState* g_process __attribute__((visibility("hidden")));

// Allocates the memory for both, once, before anything else. False: no memory.
bool PrepareProcess() noexcept;

// Sets pid and claims a ProcessSlot if a fork wiped them. Requires: all signals
// blocked.
void EnsureProcessInitialised() noexcept;

// Maps `.session` of directory `path`. Requires: no session is mapped. *error:
// errno of kCannotOpen.
ControlStatus MapSession(const char* path, int* error) noexcept;
bool SessionIsMapped() noexcept;
bool SessionIs(const char* path) noexcept;
// Whether the session's path still names its folder: the program may have
// another root, or other mounts. May change errno.
bool SessionPathIsValid() noexcept;
// The number of this recording among those that the process joined: 1 to
// 0x7fff, then 1 again.
std::uint32_t SessionTag() noexcept;
// After MapSession: claims a slot, opens the slow path.
void EnterSession() noexcept;
// Releases the slot and unmaps. Requires: no thread has a ring.
void LeaveSession() noexcept;

// Allocates `bytes` (a multiple of 128) that a fork wipes; null: no memory.
// Requires: g_process->lock held.
void* AllocateWipedOnFork(std::size_t bytes) noexcept;

bool SessionIsRecording() noexcept;

// Counts a record that no stream can take.
void CountSessionDiscard(logformat::DiscardCause cause, int error) noexcept;

// One use of the slow path. The path is closed while the process leaves a
// recording, so that no thread uses a session that is being unmapped.
class SlowPathUse {
 public:
  SlowPathUse() noexcept {
    // seq_cst with TryLeaveSession: it sees this user, or this thread sees it
    // closed.
    g_process->slow_path_users.fetch_add(1, std::memory_order_seq_cst);
  }
  ~SlowPathUse() {
    g_process->slow_path_users.fetch_sub(1, std::memory_order_release);
  }
  SlowPathUse(const SlowPathUse&) = delete;
  SlowPathUse& operator=(const SlowPathUse&) = delete;
  bool is_open() const noexcept {
    return g_process->slow_path_closed.load(std::memory_order_seq_cst) == 0;
  }
};

// Blocks every signal of this thread for its lifetime; preserves errno. Does
// not block in a thread that must make no system calls (system_calls.h).
class SignalBlock {
 public:
  SignalBlock() noexcept;
  ~SignalBlock();
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;

 private:
  std::uint64_t saved_mask_;
  int saved_errno_;
  bool blocked_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_PROCESS_PROCESS_STATE_H_
