#include "runtime/inprocess/process/system_calls.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/posix/own_call.h"

namespace countrace::runtime {

std::atomic<Confinement> g_confinement{Confinement::kNone};
__thread ThreadPlace t_place
    __attribute__((tls_model("initial-exec"), visibility("hidden"))) =
        ThreadPlace::kUnknown;

namespace {

// The C library stores the owner's id in each mutex of this type: in the third
// word (glibc) or the second (musl).
constexpr std::size_t kOwnerWords[] = {2, 1};
std::size_t g_owner_word = 0;  // 0: not known

std::int32_t OwnerOfLockedMutex(std::size_t word) noexcept {
  pthread_mutexattr_t attributes;
  pthread_mutex_t mutex;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&mutex, &attributes);
  std::int32_t owner = 0;
  if (pthread_mutex_lock(&mutex) == 0) {
    memcpy(&owner, reinterpret_cast<const char*>(&mutex) + word * sizeof(owner),
           sizeof(owner));
    pthread_mutex_unlock(&mutex);
  }
  pthread_mutex_destroy(&mutex);
  pthread_mutexattr_destroy(&attributes);
  return owner;
}

}  // namespace

void FindStoredTid() noexcept {
  const auto tid = static_cast<std::int32_t>(base::OwnCall(SYS_gettid));
  for (const std::size_t word : kOwnerWords) {
    if (OwnerOfLockedMutex(word) == tid) {
      g_owner_word = word;
      return;
    }
  }
}

std::int32_t StoredTid() noexcept {
  return g_owner_word == 0 ? 0 : OwnerOfLockedMutex(g_owner_word);
}

}  // namespace countrace::runtime
