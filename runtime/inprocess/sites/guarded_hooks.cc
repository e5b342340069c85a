#include "runtime/inprocess/sites/guarded_hooks.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "base/posix/own_call.h"
#include "logformat/discard_errors.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/process/system_calls.h"
#include "runtime/inprocess/ring/thread_ring.h"

namespace countrace::runtime {

namespace {

std::atomic<bool> g_are_guarded{false};
std::atomic<bool> g_storage_is_shared{false};

bool IsForeign() noexcept {
  if (!g_storage_is_shared.load(std::memory_order_relaxed)) return false;
  if (!MayCall()) return false;  // under a filter: not to be found out
  return t_state.ring->live != 0
             ? base::OwnCall(SYS_gettid) != t_state.ring->tid
             : base::OwnCall(SYS_getpid) !=
                   g_process->pid.load(std::memory_order_relaxed);
}

}  // namespace

void GuardStrictThread() noexcept {
  g_are_guarded.store(true, std::memory_order_relaxed);
}

void GuardSharedStorage() noexcept {
  g_storage_is_shared.store(true, std::memory_order_relaxed);
  g_are_guarded.store(true, std::memory_order_relaxed);
}

bool HooksAreGuarded() noexcept {
  return g_are_guarded.load(std::memory_order_relaxed);
}

bool DiscardsRecord() noexcept {
  const bool strict = t_place == ThreadPlace::kStrict;
  if (!strict && !IsForeign()) return false;
  CountSessionDiscard(
      logformat::DiscardCause::kNoResource,
      strict ? logformat::kNoCallsAllowed : logformat::kSharesThreadStorage);
  return true;
}

}  // namespace countrace::runtime
