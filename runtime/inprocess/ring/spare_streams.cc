#include "runtime/inprocess/ring/spare_streams.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/posix/own_call.h"
#include "runtime/inprocess/process/own_descriptors.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/ring/stream_names.h"

namespace countrace::runtime {

namespace {

// How often a stream that another thread extends is tried, every 0.1 ms.
constexpr int kExtendingTries = 10'000;
constexpr long kExtendingPauseNs = 100'000;

// In memory that the process shares with the children that it forks. None
// writes into a stream that another has taken.
struct SpareStreams {
  std::int32_t maker;  // its pid
  std::uint32_t count;
  std::atomic<std::uint32_t> taken;  // may exceed `count`
  struct {
    StreamTail tail;
    std::uint32_t stream;
  } items[kSpareStreams];
};

// Not wiped in a child. Never freed: a thread may be reading.
std::atomic<SpareStreams*> g_spares{nullptr};

bool HasEnough(const SpareStreams* spares, std::int32_t pid) noexcept {
  return spares != nullptr && spares->maker == pid &&
         spares->taken.load(std::memory_order_relaxed) <= kSpareStreams / 2;
}

bool StartExtending(ThreadRing& ring) noexcept {
  for (int i = 0; i < kExtendingTries; ++i) {
    std::uint32_t free = 0;
    if (ring.extending.compare_exchange_strong(free, 1,
                                               std::memory_order_acquire)) {
      return true;
    }
    const timespec pause = {0, kExtendingPauseNs};
    base::OwnCall(SYS_nanosleep, &pause, nullptr);
  }
  return false;
}

}  // namespace

void MakeSpareStreams() noexcept {
  const std::int32_t pid = g_process->pid.load(std::memory_order_relaxed);
  if (HasEnough(g_spares.load(std::memory_order_acquire), pid)) return;
  void* const memory =
      base::OwnMap(nullptr, sizeof(SpareStreams), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  auto* const spares = static_cast<SpareStreams*>(memory);
  spares->maker = pid;
  for (auto& item : spares->items) {
    const DescriptorUse use;
    const long fd = CreateNextStream(&item.stream);
    if (fd < 0) break;
    item.tail = MakeTail(static_cast<int>(fd), 0);
    base::OwnCall(SYS_close, fd);
    if (item.tail.page == nullptr) break;
    ++spares->count;
  }
  if (spares->count != 0) {
    g_spares.store(spares, std::memory_order_seq_cst);
  } else {
    base::OwnCall(SYS_munmap, memory,
                  sizeof(SpareStreams));  // it had lost access before
  }
}

bool StreamsAreKept() noexcept {
  return g_spares.load(std::memory_order_seq_cst) != nullptr;
}

void GiveTail(ThreadRing& ring, int fd) noexcept {
  if (!StartExtending(ring)) return;
  if (ring.tail.page == nullptr) ring.tail = MakeTail(fd, ring.file_bytes);
  ring.extending.store(0, std::memory_order_release);
}

bool TakeSpareStream(ThreadRing& ring) noexcept {
  SpareStreams* const spares = g_spares.load(std::memory_order_acquire);
  if (spares == nullptr) return false;
  const std::uint32_t at =
      spares->taken.fetch_add(1, std::memory_order_relaxed);
  if (at >= spares->count) {
    spares->taken.store(spares->count, std::memory_order_relaxed);
    return false;
  }
  ring.stream = spares->items[at].stream;
  ring.tail = spares->items[at].tail;
  ring.created.store(1, std::memory_order_release);
  return true;
}

void DropSpareStreams() noexcept {
  SpareStreams* const spares =
      g_spares.exchange(nullptr, std::memory_order_seq_cst);
  if (spares == nullptr) return;
  // A mapping that was taken has moved, and others may be in its place.
  for (std::uint32_t at =
           spares->taken.exchange(kSpareStreams, std::memory_order_relaxed);
       at < spares->count; ++at) {
    DropTail(spares->items[at].tail);
  }
}

}  // namespace countrace::runtime
