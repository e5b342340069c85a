#include "runtime/inprocess/ring/free_rings.h"

#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/ring/stream_file.h"

namespace countrace::runtime {

void PutBack(ThreadRing& ring) noexcept {
  g_process->lock.Lock();
  ring.owner = nullptr;
  ring.next_free = g_process->free_rings;
  g_process->free_rings = &ring;
  g_process->lock.Unlock();
}

ThreadRing* TakeRing(bool fresh) noexcept {
  g_process->lock.Lock();
  ThreadRing* ring = fresh ? nullptr : g_process->free_rings;
  if (ring != nullptr) {
    g_process->free_rings = ring->next_free;
  } else {
    ring = static_cast<ThreadRing*>(AllocateWipedOnFork(sizeof(ThreadRing)));
    if (ring != nullptr) {
      ring->next_all = g_process->all_rings.load(std::memory_order_relaxed);
      g_process->all_rings.store(ring, std::memory_order_release);
    }
  }
  g_process->lock.Unlock();
  return ring;
}

ThreadRing* TakeReadyRing() noexcept {
  g_process->lock.Lock();
  ThreadRing** at = &g_process->free_rings;
  while (*at != nullptr && !HasSubBuffer(**at)) at = &(*at)->next_free;
  ThreadRing* const ring = *at;
  if (ring != nullptr) *at = ring->next_free;
  g_process->lock.Unlock();
  return ring;
}

bool KeepReadyRings(std::uint32_t count) noexcept {
  std::uint32_t ready = 0;
  g_process->lock.Lock();
  for (const ThreadRing* ring = g_process->free_rings; ring != nullptr;
       ring = ring->next_free) {
    ready += HasSubBuffer(*ring) ? 1 : 0;
  }
  g_process->lock.Unlock();
  bool worked = false;
  for (; ready < count; ++ready) {
    ThreadRing* const ring = TakeRing(/*fresh=*/true);
    if (ring == nullptr) break;
    ring->pid = g_process->pid.load(std::memory_order_relaxed);
    SubBuffer item;
    const bool made =
        CreateStreamFile(*ring).ok && ExtendStreamFile(*ring, &item).ok;
    if (made) ring->ready.Push(item);
    PutBack(*ring);
    if (!made) break;
    worked = true;
  }
  return worked;
}

}  // namespace countrace::runtime
