#include "runtime/inprocess/interpose/confinement.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/posix/own_call.h"
#include "runtime/inprocess/counters/thread_counters.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/ring/preparer_wake.h"
#include "runtime/inprocess/ring/thread_end.h"
#include "runtime/inprocess/ring/thread_ring.h"
#include "runtime/inprocess/session/control_page.h"
#include "runtime/inprocess/session/preparer.h"
#include "runtime/inprocess/sites/guarded_hooks.h"
#include "runtime/inprocess/sites/hook_sites.h"

namespace countrace::runtime {

namespace {

// How long a thread that is in the middle of a hook is waited for.
constexpr int kPatienceMs = 1000;

bool AnyThreadIsInAHook() noexcept {
  if (g_process->slow_path_users.load(std::memory_order_seq_cst) != 0) {
    return true;
  }
  for (ThreadRing* ring = g_process->all_rings.load(std::memory_order_acquire);
       ring != nullptr; ring = ring->next_all) {
    ThreadState* const owner = ring->owner;
    if (owner != nullptr && owner != &t_state &&
        __atomic_load_n(&owner->busy, __ATOMIC_ACQUIRE) != 0) {
      return true;
    }
  }
  return false;
}

// A hook that began before the filter may be about to make a call.
void WaitUntilNoThreadIsInAHook() noexcept {
  for (int i = 0; i < kPatienceMs && AnyThreadIsInAHook(); ++i) {
    const timespec pause = {0, 1'000'000};
    base::OwnCall(SYS_nanosleep, &pause, nullptr);
  }
}

}  // namespace

ConfinementChange Confine(Filter filter) noexcept {
  const bool all = filter == Filter::kEveryThread;
  const bool strict = filter == Filter::kStrict;
  const Confinement before = g_confinement.load(std::memory_order_relaxed);
  ConfinementChange change = {before, t_place, false};
  const Confinement wanted = all ? Confinement::kAll : Confinement::kSome;
  const Confinement now = before > wanted ? before : wanted;
  const ThreadPlace place =
      strict ? ThreadPlace::kStrict : ThreadPlace::kConfined;
  if (g_process == nullptr || !MayCall()) {
    g_confinement.store(now, std::memory_order_seq_cst);
    t_place = place;
    return change;
  }
  const int saved_errno = errno;
  const SignalBlock block;
  if (all) {
    change.preparer_ended = EndPreparer();
    RemoveControlPage();
  } else {
    StartPreparer();
  }
  if (strict) {
    GuardStrictThread();
    ChooseSinksAgain();
    ReleaseRing();
  } else if (SessionIsRecording()) {
    OpenStreamNow();
    FillStreams();
  }
  // A read of counters is a call, unless the hardware's are mapped; and the
  // thread cannot close them later.
  if (t_state.ring->live != 0) CloseThreadCounters(t_state.ring->counters);
  g_confinement.store(now, std::memory_order_seq_cst);
  if (all) {
    WaitUntilNoThreadIsInAHook();
  } else {
    // The main thread may end without us: strict mode leaves it no other way.
    UnwatchMainThread();
    t_place = ThreadPlace::kFree;
    WakePreparer();
    WakeIdlePreparer();
  }
  t_place = place;
  errno = saved_errno;
  return change;
}

void UndoConfinement(const ConfinementChange& change) noexcept {
  const int saved_errno = errno;
  g_confinement.store(change.before, std::memory_order_seq_cst);
  t_place = change.place;
  if (change.preparer_ended) StartPreparer();
  errno = saved_errno;
}

}  // namespace countrace::runtime
