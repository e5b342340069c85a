#include "runtime/inprocess/session/preparer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/posix/kernel_clock.h"
#include "base/posix/own_call.h"
#include "runtime/inprocess/process/own_descriptors.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/process/system_calls.h"
#include "runtime/inprocess/ring/free_rings.h"
#include "runtime/inprocess/ring/preparer_wake.h"
#include "runtime/inprocess/ring/ring_layout.h"
#include "runtime/inprocess/ring/ring_packets.h"
#include "runtime/inprocess/ring/stream_file.h"
#include "runtime/inprocess/ring/thread_end.h"
#include "runtime/inprocess/ring/wake_words.h"
#include "runtime/inprocess/session/control_page.h"
#include "runtime/inprocess/session/session_membership.h"

namespace countrace::runtime {

namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
// In a recording: the longest time until a dead recorder is noticed.
constexpr std::uint64_t kRecordingNs = 500 * kMillisecond;
// First wait for a thread that is in the middle of a hook; doubles.
constexpr std::uint64_t kLeavingNs = kMillisecond;
constexpr std::uint64_t kForeverNs = ~std::uint64_t{0};
// Threads under a seccomp filter wake no thread: polls for them. Eight
// sub-buffers of 1 MiB last 10 ms or more.
constexpr std::uint64_t kPollNs = kMillisecond;
// In that time, not more often than this: whether it is the last thread.
constexpr std::uint32_t kPollsPerLook = 32;
// Streams for threads that start under a filter.
constexpr std::uint32_t kReadyStreams = 8;
constexpr std::size_t kStackBytes = 128 * 1024;
constexpr int kEndTries = 10'000;
constexpr long kEndPauseNs = 100'000;
constexpr std::uint64_t kPageGoesNs = 10'000'000;

std::atomic<bool> g_page_must_go{false};
bool g_has_own_table = false;  // stored before the thread starts

// The recorder wakes us through our slot in its session.
std::atomic<std::uint32_t>* SlotWakeWord() noexcept {
  logformat::ProcessSlot* slot =
      g_process->slot.load(std::memory_order_relaxed);
  return slot != nullptr ? &slot->wake : nullptr;
}

bool IsPolling() noexcept {
  return g_confinement.load(std::memory_order_seq_cst) != Confinement::kNone;
}

// Another thread that extends a stream's file is waited for so often.
constexpr int kExtendTries = 10'000;
constexpr long kExtendPauseNs = 100'000;

// `all`: as ReadyTarget(). `wait`: while another thread extends the file. True
// if it did something.
bool Fill(ThreadRing& ring, bool all, bool wait) noexcept {
  bool worked = false;
  int tries = wait ? kExtendTries : 0;
  SubBuffer item;
  while (ring.created.load(std::memory_order_acquire) != 0 &&
         ring.activations.load(std::memory_order_relaxed) != 0 &&
         ring.ready.size() < ReadyTarget(ring, all)) {
    std::uint32_t free = 0;
    if (!ring.extending.compare_exchange_strong(free, 1,
                                                std::memory_order_acquire)) {
      if (tries-- == 0) break;  // the owner is extending it
      const timespec pause = {0, kExtendPauseNs};
      base::OwnCall(SYS_nanosleep, &pause, nullptr);
      continue;
    }
    const ExtendResult result = ExtendStreamFile(ring, &item);
    // Published before `extending` is released: an owner that takes the flag
    // sees every sub-buffer of the file in the queue.
    if (result.ok) ring.ready.Push(item);
    ring.extending.store(0, std::memory_order_release);
    if (!result.ok) break;  // the owner counts its losses, with the cause
    worked = true;
  }
  return worked;
}

// Brings one ring's queues up to date. True if it did something.
bool ServeRing(ThreadRing& ring) noexcept {
  bool worked = false;
  SubBuffer item;
  while (ring.retired.Pop(&item)) {
    StoreChecksum(item);
    base::OwnCall(SYS_munmap, item.address, item.bytes);
    worked = true;
  }
  return Fill(ring, IsPolling(), /*wait=*/false) || worked;
}

// The program's own threads have all ended (main through pthread_exit): the
// process must end now, as it would without the runtime library. *status: the
// main thread's, as wait(2) has it.
bool IsLastThread(int* status) noexcept {
  const long fd = base::OwnCall(SYS_openat, AT_FDCWD, "/proc/self/stat",
                                O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  char text[1024];
  const long got = base::OwnCall(SYS_read, fd, text, sizeof(text) - 1);
  base::OwnCall(SYS_close, fd);
  if (got <= 0) return false;
  text[got] = '\0';
  const char* at = strrchr(text, ')');
  // proc(5): field 3 is the state of the main thread, field 20 num_threads, the
  // last one exit_code. A dead main thread (Z) is still counted.
  if (at == nullptr || at[1] != ' ' || at[2] != 'Z') return false;
  const char* const last = strrchr(at, ' ');
  *status = last != nullptr ? atoi(last + 1) : 0;
  ++at;
  for (int field = 3; field < 20; ++field) {
    at = strchr(at + 1, ' ');
    if (at == nullptr) return false;
  }
  return strncmp(at, " 2 ", 3) == 0 || strncmp(at, " 1 ", 3) == 0;
}

// The status of the last thread is the process's.
void EndLikeMainThread(int status) noexcept {
  const int signal = status & 0x7f;
  if (signal != 0) {
    base::OwnCall(SYS_kill, base::OwnCall(SYS_getpid), signal);
  } else {
    base::OwnCall(SYS_exit, status >> 8 & 0xff);
  }
}

bool ServeRings() noexcept {
  bool worked = false;
  for (ThreadRing* ring = g_process->all_rings.load(std::memory_order_acquire);
       ring != nullptr; ring = ring->next_all) {
    worked |= ServeRing(*ring);
  }
  return (IsPolling() && KeepReadyRings(kReadyStreams)) || worked;
}

void End() noexcept { g_process->preparer_running.store(0); }

void* Run(void*) noexcept {
  t_place = ThreadPlace::kFree;
  // A program that closes all descriptors and uses the numbers again would
  // have its files written, truncated and closed here.
  if (g_has_own_table) UseOwnTable();
  g_process->preparer_tid.store(
      static_cast<std::int32_t>(base::OwnCall(SYS_gettid)));
  ControlPage* const page = g_process->control.load(std::memory_order_acquire);
  bool leaving = false;
  std::uint64_t patience_ns = kLeavingNs;
  std::uint32_t polls = 0;
  for (;;) {
    if (g_process->preparer_must_end.load() != 0) {
      End();
      return nullptr;
    }
    if (g_page_must_go.exchange(false)) RemoveControlPage();
    WakeWords words;
    if (SessionIsMapped()) {
      words.Add(PreparerWakeWord());
      words.Add(SlotWakeWord());
    }
    if (page != nullptr) words.Add(&page->request);
    if (page != nullptr && AnswerControlRequest(*page)) continue;
    std::uint64_t timeout_ns =
        MainThreadIsWatched() ? kForeverNs : kRecordingNs;
    if (SessionIsMapped()) {
      leaving = leaving || SessionHasEnded();
      if (!leaving && ServeRings()) continue;
      timeout_ns = IsPolling() ? kPollNs : kRecordingNs;
      if (leaving) {
        if (TryLeaveSession()) {
          leaving = false;
          patience_ns = kLeavingNs;
          continue;
        }
        timeout_ns = patience_ns;
        patience_ns =
            patience_ns * 2 < kRecordingNs ? patience_ns * 2 : kRecordingNs;
      }
    } else if (page != nullptr) {
      page->session[0] = '\0';
    } else {
      End();
      return nullptr;  // no later request is possible
    }
    g_process->preparer_waiting.store(1, std::memory_order_seq_cst);
    const bool timed_out = words.Wait(timeout_ns);
    g_process->preparer_waiting.store(0, std::memory_order_seq_cst);
    if (!timed_out || leaving) continue;
    if (timeout_ns == kPollNs && ++polls % kPollsPerLook != 0) continue;
    int status = 0;
    if (IsLastThread(&status)) {
      RemoveControlPage();
      EndLikeMainThread(status);
      return nullptr;
    }
  }
}

}  // namespace

void FillStreams() noexcept {
  for (ThreadRing* ring = g_process->all_rings.load(std::memory_order_acquire);
       ring != nullptr; ring = ring->next_all) {
    // The preparer may be at work: what it has not made by the time of the
    // filter would be missing.
    Fill(*ring, /*all=*/true, /*wait=*/true);
  }
  KeepReadyRings(kReadyStreams);
}

bool EndPreparer() noexcept {
  if (g_process->preparer_running.load() == 0) return false;
  const int saved_errno = errno;
  const long pid = base::OwnCall(SYS_getpid);
  g_process->preparer_must_end.store(1);
  for (int i = 0; i < kEndTries; ++i) {
    WakePreparer();
    WakeIdlePreparer();
    const std::int32_t tid = g_process->preparer_tid.load();
    if (tid != 0 && base::OwnCall(SYS_tgkill, pid, tid, 0) != 0) break;
    const timespec pause = {0, kEndPauseNs};
    base::OwnCall(SYS_nanosleep, &pause, nullptr);
  }
  g_process->preparer_must_end.store(0);
  errno = saved_errno;
  return true;
}

void LetPreparerRemoveControlPage() noexcept {
  if (g_process == nullptr || g_process->preparer_running.load() == 0) return;
  g_page_must_go.store(true);
  const std::uint64_t begin_ns = base::KernelClockNs(CLOCK_MONOTONIC);
  // No system call: not even a sleep.
  while (g_page_must_go.load() &&
         base::KernelClockNs(CLOCK_MONOTONIC) - begin_ns < kPageGoesNs) {
  }
}

void StartPreparer() noexcept {
  std::uint32_t idle = 0;
  if (!g_process->preparer_running.compare_exchange_strong(idle, 1)) return;
  // Stored before the thread starts: a child that is forked from now on
  // inherits the mapping, which identifies its parent.
  if (g_process->control.load(std::memory_order_relaxed) == nullptr) {
    g_process->control.store(
        CreateControlPage(g_process->pid.load(std::memory_order_relaxed)),
        std::memory_order_release);
  }
  g_process->preparer_tid.store(0);
  g_has_own_table = MayUseOwnTable();
  GrowTable();
  SignalBlock block;  // inherited: the program's handlers never run there
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  if (pthread_create(&thread, &attributes, &Run, nullptr) == 0) {
    pthread_setname_np(thread, "countrace");
  } else {
    End();                // threads prepare for themselves
    RemoveControlPage();  // without an answer now
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace countrace::runtime
