#include "runtime/inprocess/thread_end.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>

#include "runtime/inprocess/thread_ring.h"

namespace countrace::runtime {

namespace {

pthread_key_t g_key;
bool g_key_created = false;

// The value counts down the rounds in which destructors of keys are called:
// only in the last one is every other destructor, which may have hooks, done.
void OnThreadEnd(void* rounds) {
  const auto left = reinterpret_cast<uintptr_t>(rounds);
  if (left > 1) {
    pthread_setspecific(g_key, reinterpret_cast<void*>(left - 1));
    return;
  }
  ReleaseRing();
}

}  // namespace

void CreateThreadEndKey() noexcept {
  g_key_created = pthread_key_create(&g_key, &OnThreadEnd) == 0;
}

void WatchThreadEnd() noexcept {
  if (!g_key_created) return;
  pthread_setspecific(
      g_key, reinterpret_cast<void*>(uintptr_t{PTHREAD_DESTRUCTOR_ITERATIONS}));
}

}  // namespace countrace::runtime
