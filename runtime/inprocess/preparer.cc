#include "runtime/inprocess/preparer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/inprocess/hook_sites.h"
#include "runtime/inprocess/process_state.h"
#include "runtime/inprocess/stream_file.h"

namespace countrace::runtime {

namespace {

constexpr long kIdleNs = 500'000'000;
constexpr std::size_t kStackBytes = 64 * 1024;
std::atomic<std::uint32_t> g_private_wake;  // without a slot in the session

std::atomic<std::uint32_t>* WakeWord() noexcept {
  logformat::ProcessSlot* slot =
      g_process->slot.load(std::memory_order_relaxed);
  return slot != nullptr ? &slot->wake : &g_private_wake;
}

// Brings one ring's queues up to date. True if something was done.
bool ServeRing(ThreadRing& ring) noexcept {
  bool worked = false;
  SubBuffer item;
  while (ring.retired.Pop(&item)) {
    munmap(item.address, item.bytes);
    worked = true;
  }
  while (ring.created.load(std::memory_order_acquire) != 0 &&
         ring.activations.load(std::memory_order_relaxed) != 0 &&
         ring.ready.size() < ReadyTarget(ring)) {
    std::uint32_t free = 0;
    if (!ring.extending.compare_exchange_strong(free, 1,
                                                std::memory_order_acquire)) {
      break;  // the owner is at it
    }
    const ExtendResult result = ExtendStreamFile(ring, &item);
    // Published before `extending` is released: the owner, once it holds it,
    // sees every sub-buffer of the file in the queue.
    if (result.ok) ring.ready.Push(item);
    ring.extending.store(0, std::memory_order_release);
    if (!result.ok) break;  // the owner counts what it loses, with the cause
    worked = true;
  }
  return worked;
}

// The program's own threads have all ended (main through pthread_exit): the
// process must end now, as it would have without us.
bool IsLastThread() noexcept {
  const long fd =
      syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  char text[1024];
  const long got = syscall(SYS_read, fd, text, sizeof(text) - 1);
  syscall(SYS_close, fd);
  if (got <= 0) return false;
  text[got] = '\0';
  const char* at = strrchr(text, ')');
  // proc(5): field 3 is the state of the main thread, field 20 num_threads.
  // A dead main thread (Z) is still counted.
  if (at == nullptr || at[1] != ' ' || at[2] != 'Z') return false;
  ++at;
  for (int field = 3; field < 20; ++field) {
    at = strchr(at + 1, ' ');
    if (at == nullptr) return false;
  }
  return strncmp(at, " 2 ", 3) == 0 || strncmp(at, " 1 ", 3) == 0;
}

bool RecorderIsAlive() noexcept {
  return syscall(SYS_kill, g_session->recorder_pid, 0) == 0 || errno == EPERM;
}

void* Run(void*) noexcept {
  bool recording = true;
  for (;;) {
    std::atomic<std::uint32_t>* wake = WakeWord();
    const std::uint32_t seen = wake->load(std::memory_order_acquire);
    if (recording && (!SessionIsRecording() || !RecorderIsAlive())) {
      CloseAllGates();
      recording = false;
      logformat::ProcessSlot* slot =
          g_process->slot.load(std::memory_order_relaxed);
      if (slot != nullptr) slot->detached.store(1, std::memory_order_release);
    }
    bool worked = false;
    for (ThreadRing* ring =
             g_process->all_rings.load(std::memory_order_acquire);
         recording && ring != nullptr; ring = ring->next_all) {
      worked |= ServeRing(*ring);
    }
    if (worked) continue;
    g_process->preparer_waiting.store(1, std::memory_order_seq_cst);
    const timespec timeout = {0, kIdleNs};
    const long waited =
        syscall(SYS_futex, wake, FUTEX_WAIT, seen, &timeout, nullptr, 0);
    g_process->preparer_waiting.store(0, std::memory_order_seq_cst);
    if (waited != 0 && errno == ETIMEDOUT && IsLastThread()) return nullptr;
  }
}

}  // namespace

void StartPreparer() noexcept {
  std::uint32_t idle = 0;
  if (!g_process->preparer_running.compare_exchange_strong(idle, 1)) return;
  SignalBlock block;  // inherited: no handler of the program ever runs there
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  if (pthread_create(&thread, &attributes, &Run, nullptr) == 0) {
    pthread_setname_np(thread, "countrace");
  } else {
    g_process->preparer_running.store(0);  // threads prepare for themselves
  }
  pthread_attr_destroy(&attributes);
}

void WakePreparer() noexcept {
  if (g_process->preparer_running.load(std::memory_order_relaxed) == 0) return;
  std::atomic<std::uint32_t>* wake = WakeWord();
  wake->fetch_add(1, std::memory_order_seq_cst);
  if (g_process->preparer_waiting.load(std::memory_order_seq_cst) != 0) {
    syscall(SYS_futex, wake, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
}

}  // namespace countrace::runtime
