#include "runtime/inprocess/session/session_membership.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/posix/own_call.h"
#include "runtime/inprocess/process/hook_objects.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/process/trace_clock.h"
#include "runtime/inprocess/ring/thread_ring.h"
#include "runtime/inprocess/sites/hook_sites.h"

namespace countrace::runtime {

namespace lf = countrace::logformat;

namespace {

// Makes every thread of the process pass a full memory barrier. False: the
// kernel (before 4.3) or a sandbox does not offer it.
bool MemoryBarrierOnAllThreads() noexcept {
  if (base::OwnCall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
                    0, 0) == 0 &&
      base::OwnCall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) ==
          0) {
    return true;
  }
  return base::OwnCall(SYS_membarrier, MEMBARRIER_CMD_SHARED, 0, 0) == 0;
}

// Afterwards no thread has a ring that it could start to write into. False: a
// thread is in the middle of a record, or the memory barrier is not available.
bool TakeRingsAway() noexcept {
  ThreadRing* const all = g_process->all_rings.load(std::memory_order_acquire);
  for (ThreadRing* ring = all; ring != nullptr; ring = ring->next_all) {
    if (ring->owner != nullptr) TakeRingFromOwner(*ring);
  }
  // A thread that sets `busy` after the barrier finds no ring; a thread that
  // set it before is seen below. The hot path therefore needs no fence between
  // its store of `busy` and its load of the ring.
  if (!MemoryBarrierOnAllThreads()) return false;
  for (ThreadRing* ring = all; ring != nullptr; ring = ring->next_all) {
    if (ring->owner != nullptr &&
        __atomic_load_n(&ring->owner->busy, __ATOMIC_ACQUIRE) != 0) {
      return false;
    }
  }
  return true;
}

// Leaves within a second, unless a thread was stopped in the middle of a hook.
bool LeaveSoon() noexcept {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (TryLeaveSession()) return true;
    const timespec pause = {0, 1'000'000};
    base::OwnCall(SYS_nanosleep, &pause, nullptr);
  }
  return false;
}

// For a process that cannot name the recorder: whether the lock on
// `.incomplete` is free. False: it is held, or the file is not visible (chroot,
// another user).
bool RecorderLeftItsLock() noexcept {
  char path[sizeof(g_session_path) + 16];
  const std::size_t length = strlen(g_session_path);
  memcpy(path, g_session_path, length);
  path[length] = '/';
  memcpy(path + length + 1, lf::kIncompleteFile, sizeof(lf::kIncompleteFile));
  const long file =
      base::OwnCall(SYS_openat, AT_FDCWD, path,
                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0);
  if (file < 0) return false;
  const bool taken = base::OwnCall(SYS_flock, file, LOCK_SH | LOCK_NB) == 0;
  base::OwnCall(SYS_close, file);
  return taken;
}

}  // namespace

bool SessionHasEnded() noexcept {
  if (!SessionIsRecording()) return true;
  if (g_process->other_namespace.load(std::memory_order_relaxed) != 0) {
    return RecorderLeftItsLock();
  }
  return base::OwnCall(SYS_kill, g_settings->recorder_pid, 0) != 0 &&
         errno != EPERM;
}

ControlStatus JoinSession(const char* path, int* error) noexcept {
  if (SessionIsMapped() && !SessionHasEnded()) {
    return SessionIs(path) ? ControlStatus::kOk
                           : ControlStatus::kOtherRecording;
  }
  if (SessionIsMapped() && !LeaveSoon()) return ControlStatus::kStillLeaving;
  const SignalBlock block;
  g_process->sites_lock.Lock();
  const ControlStatus status = MapSession(path, error);
  if (status == ControlStatus::kOk) {
    StartClock(g_settings->raw_ns_mult);
    EnterSession();
    OpenSelectedGates();
  }
  g_process->sites_lock.Unlock();
  return status;
}

bool TryLeaveSession() noexcept {
  const SignalBlock block;
  g_process->slow_path_closed.store(1, std::memory_order_seq_cst);
  g_process->sites_lock.Lock();
  CloseAllGates();
  g_process->sites_lock.Unlock();
  // seq_cst with SlowPathUse: it sees the closed path, or this thread sees it.
  if (g_process->slow_path_users.load(std::memory_order_seq_cst) != 0) {
    return false;
  }
  g_process->owners_lock.Lock();
  const bool taken = TakeRingsAway();
  if (taken) ResetAllRings();
  g_process->owners_lock.Unlock();
  if (taken) LeaveSession();
  return taken;
}

}  // namespace countrace::runtime
