#include "runtime/inprocess/thread_end.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "runtime/inprocess/preparer.h"
#include "runtime/inprocess/thread_ring.h"

namespace countrace::runtime {

namespace {

pthread_key_t g_key;
bool g_key_created = false;
std::atomic<bool> g_main_watched{false};

bool IsMainThread() noexcept {
  return syscall(SYS_gettid) == syscall(SYS_getpid);
}

// The value counts down the rounds in which destructors of keys are called:
// only in the last one is every other destructor, which may have hooks, done.
void OnThreadEnd(void* rounds) {
  const auto left = reinterpret_cast<uintptr_t>(rounds);
  if (left > 1) {
    pthread_setspecific(g_key, reinterpret_cast<void*>(left - 1));
    return;
  }
  ReleaseRing();
  if (IsMainThread()) {
    g_main_watched.store(false, std::memory_order_relaxed);
    WakeIdlePreparer();  // from now on it looks whether it is alone
  }
}

}  // namespace

void CreateThreadEndKey() noexcept {
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

bool MainThreadIsWatched() noexcept {
  // Relaxed: its change is followed by a wake-up.
  return g_main_watched.load(std::memory_order_relaxed);
}

}  // namespace countrace::runtime
