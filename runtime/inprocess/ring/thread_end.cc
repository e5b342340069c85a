#include "runtime/inprocess/ring/thread_end.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "base/posix/own_call.h"
#include "runtime/inprocess/process/system_calls.h"
#include "runtime/inprocess/ring/preparer_wake.h"

namespace countrace::runtime {

namespace {

pthread_key_t g_key;
bool g_key_created = false;
void (*g_on_end)() noexcept;
std::atomic<bool> g_main_watched{false};

bool IsMainThread() noexcept {
  if (!MayCall()) return false;  // the preparer finds out by itself
  return base::OwnCall(SYS_gettid) == base::OwnCall(SYS_getpid);
}

// The value counts the remaining rounds of key destructors. Only in the last
// round have all other destructors, which may have hooks, run.
void OnThreadEnd(void* rounds) {
  const auto left = reinterpret_cast<uintptr_t>(rounds);
  if (left > 1) {
    pthread_setspecific(g_key, reinterpret_cast<void*>(left - 1));
    return;
  }
  g_on_end();
  if (IsMainThread()) {
    g_main_watched.store(false, std::memory_order_relaxed);
    WakeIdlePreparer();  // from now on it checks whether it is the last thread
  }
}

}  // namespace

void CreateThreadEndKey(void (*on_end)() noexcept) noexcept {
  g_on_end = on_end;
  g_key_created = pthread_key_create(&g_key, &OnThreadEnd) == 0;
  WatchMainThread();
}

void WatchThreadEnd() noexcept {
  if (!g_key_created) return;
  pthread_setspecific(
      g_key, reinterpret_cast<void*>(uintptr_t{PTHREAD_DESTRUCTOR_ITERATIONS}));
}

void WatchMainThread() noexcept {
  const bool is_main = g_key_created && IsMainThread();
  if (is_main) WatchThreadEnd();
  g_main_watched.store(is_main, std::memory_order_relaxed);
}

void UnwatchMainThread() noexcept {
  g_main_watched.store(false, std::memory_order_relaxed);
}

bool MainThreadIsWatched() noexcept {
  // Relaxed: a wake-up follows each change.
  return g_main_watched.load(std::memory_order_relaxed);
}

}  // namespace countrace::runtime
