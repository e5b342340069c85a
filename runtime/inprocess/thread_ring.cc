#include "runtime/inprocess/thread_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/inprocess/dump_decision.h"
#include "runtime/inprocess/hook_objects.h"
#include "runtime/inprocess/preparer_wake.h"
#include "runtime/inprocess/process_state.h"
#include "runtime/inprocess/stream_file.h"
#include "runtime/inprocess/thread_end.h"
#include "runtime/inprocess/trace_clock.h"

namespace countrace::runtime {

namespace lf = countrace::logformat;

namespace {

// Means "no ring yet". It has no room, so the first record takes the slow path.
// Never written.
ThreadRing g_no_ring;

constexpr std::uint64_t kRetryNs = 100'000'000;
// Retry interval: the recorder of a flight recording overwrites old data.
constexpr std::uint64_t kFlightRetryNs = 1'000'000;
// Smaller rests of a sub-buffer get no packet of their own.
constexpr std::uint64_t kLeftoverMinBytes = 4 * lf::kPacketAlignBytes;

// A packet is unmapped alone, so two packets must not share a page. Pages of
// arm64 and POWER have up to 64 KiB.
std::uint64_t PacketAlignBytes() noexcept {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return page > lf::kPacketAlignBytes ? page : lf::kPacketAlignBytes;
}

std::uint64_t RetryNs(lf::DiscardCause cause) noexcept {
  return cause == lf::DiscardCause::kTraceFull &&
                 g_session->mode == lf::SessionMode::kFlight
             ? kFlightRetryNs
             : kRetryNs;
}

void CountDiscard(ThreadRing& ring, lf::DiscardCause cause) noexcept {
  if (ring.head == nullptr) {
    CountSessionDiscard(cause, 0);
    return;
  }
  // Single instructions: both sums stay right if a handler comes between.
  __atomic_fetch_add(&ring.discarded[static_cast<std::uint32_t>(cause)], 1,
                     __ATOMIC_RELAXED);
  __atomic_fetch_add(
      &ring.head->discarded_by_cause[static_cast<std::uint32_t>(cause)], 1,
      __ATOMIC_RELAXED);
  __atomic_fetch_add(&ring.head->discarded, 1, __ATOMIC_RELAXED);
}

void ClosePacket(const SubBuffer& left) noexcept {
  auto* head = reinterpret_cast<lf::PacketHead*>(left.address);
  const ClockPair pair = ReadClockPair();
  head->raw_end = pair.raw;
  head->monotonic_end = pair.ns;
  head->end_ns = left.end_ns;
  // Last: a packet with a content size is complete.
  __atomic_store_n(&head->content_bits, left.content_bytes * 8,
                   __ATOMIC_RELEASE);
}

void Retire(ThreadRing& ring, const SubBuffer& left) noexcept {
  ClosePacket(left);
  if (!ring.retired.Push(left)) munmap(left.address, left.bytes);
}

// Leaves the current packet. The packet stays open and mapped while an
// interrupted hook may still store into it.
void LeaveCurrent(ThreadRing& ring, std::uint64_t now_ns,
                  bool nested) noexcept {
  if (!nested) {
    for (std::uint32_t i = 0; i < ring.deferred_count; ++i) {
      Retire(ring, ring.deferred[i]);
    }
    ring.deferred_count = 0;
  }
  if (ring.head == nullptr) return;
  ring.current.content_bytes =
      static_cast<std::uint64_t>(ring.pos - ring.current.address);
  ring.current.end_ns = now_ns;
  if (!nested) {
    Retire(ring, ring.current);
  } else if (ring.deferred_count < kMaxDeferred) {
    ring.deferred[ring.deferred_count++] = ring.current;
  }  // else: the end of the recording closes it
  ring.head = nullptr;
}

void Activate(ThreadRing& ring, const SubBuffer& next,
              std::uint64_t now_ns) noexcept {
  auto* head = reinterpret_cast<lf::PacketHead*>(next.address);
  const ClockPair pair = ReadClockPair();
  memcpy(head->uuid, g_session->uuid, sizeof(head->uuid));
  head->stream_class = static_cast<std::uint32_t>(lf::StreamClass::kThread);
  head->begin_ns = now_ns;
  head->end_ns = now_ns;
  head->content_bits = 0;
  head->packet_bits = next.bytes * 8;
  head->sequence = ring.sequence++;
  head->discarded = 0;
  for (std::size_t i = 0; i < lf::kDiscardCauses; ++i) {
    head->discarded_by_cause[i] = ring.discarded[i];
    head->discarded += ring.discarded[i];
  }
  head->raw_begin = pair.raw;
  head->monotonic_begin = pair.ns;
  head->cpu = -1;
  head->pid = ring.pid;
  head->tid = ring.tid;
  head->mmcr = 0;
  // Both 0 in the recorder's namespace.
  head->present = g_process->other_namespace.load(std::memory_order_relaxed);
  head->flags = head->present != 0 ? lf::kPacketOtherNamespace : 0u;
  __atomic_store_n(&head->magic, lf::kPacketMagic, __ATOMIC_RELEASE);
  ring.head = head;
  ring.current = next;
  ring.epoch = now_ns >> kEpochShift;
  ring.end = next.address + next.bytes;
  ring.pos = next.address + lf::kPacketHeadBytes;
  ring.activations.fetch_add(1, std::memory_order_relaxed);
}

ExtendResult TakeNext(ThreadRing& ring, SubBuffer* next) noexcept {
  if (ring.leftover.address != nullptr) {
    *next = ring.leftover;
    ring.leftover = {};
    return {true, lf::DiscardCause::kNoSubBuffer, 0};
  }
  if (ring.ready.Pop(next)) return {true, lf::DiscardCause::kNoSubBuffer, 0};
  std::uint32_t free = 0;
  if (!ring.extending.compare_exchange_strong(free, 1,
                                              std::memory_order_acquire)) {
    return {false, lf::DiscardCause::kNoSubBuffer, 0};
  }
  ExtendResult result{true, lf::DiscardCause::kNoSubBuffer, 0};
  if (!ring.ready.Pop(next)) {  // else: published before we took the flag
    result = ExtendStreamFile(ring, next);
    if (result.ok && ring.activations.load(std::memory_order_relaxed) > 0) {
      g_session->late_sub_buffers.fetch_add(1, std::memory_order_relaxed);
    }
  }
  ring.extending.store(0, std::memory_order_release);
  return result;
}

void PutBack(ThreadRing& ring) noexcept {
  g_process->lock.Lock();
  ring.owner = nullptr;
  ring.next_free = g_process->free_rings;
  g_process->free_rings = &ring;
  g_process->lock.Unlock();
}

// Takes a ring from the free list. If it is empty or if `fresh`, makes a new
// one. Null: no memory.
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

// Gets the first sub-buffer of `ring` for the calling thread.
ExtendResult OpenRing(ThreadRing& ring, SubBuffer* first) noexcept {
  ring.pid = g_process->pid.load(std::memory_order_relaxed);
  ring.tid = static_cast<std::int32_t>(syscall(SYS_gettid));
  ring.retry_at_ns = 0;
  if (ring.created.load(std::memory_order_relaxed) == 0) {
    const ExtendResult created = CreateStreamFile(ring);
    if (!created.ok) return created;
  }
  return TakeNext(ring, first);
}

// Opens a stream and its first packet for the calling thread. Null: the caller
// counts the loss by *failure. The caller opens the ring's counters.
ThreadRing* AcquireRing(ExtendResult* failure) noexcept {
  for (const bool fresh : {false, true}) {
    ThreadRing* ring = TakeRing(fresh);
    if (ring == nullptr) {
      *failure = {false, lf::DiscardCause::kNoResource, ENOMEM};
      return nullptr;
    }
    SubBuffer first;
    *failure = OpenRing(*ring, &first);
    if (failure->ok) {
      Activate(*ring, first, ClockNow());
      ring->owner = &t_state;
      ring->live = 1;
      return ring;
    }
    PutBack(*ring);
    // The preparer is extending this free stream: take another.
    if (failure->cause != lf::DiscardCause::kNoSubBuffer) return nullptr;
  }
  return nullptr;
}

bool StartThread() noexcept {
  EnsureProcessInitialised();
  const std::uint64_t now_ns = ClockNow();
  const auto cause = static_cast<lf::DiscardCause>(
      g_process->retry_cause.load(std::memory_order_relaxed));
  if (now_ns < g_process->retry_at_ns.load(std::memory_order_relaxed)) {
    CountSessionDiscard(cause, 0);
    return false;
  }
  ExtendResult failure{};
  ThreadRing* ring = AcquireRing(&failure);
  if (ring == nullptr) {
    CountSessionDiscard(failure.cause, failure.error);
    g_process->retry_cause.store(static_cast<std::uint32_t>(failure.cause),
                                 std::memory_order_relaxed);
    g_process->retry_at_ns.store(now_ns + RetryNs(failure.cause),
                                 std::memory_order_relaxed);
    return false;
  }
  OpenThreadCounters(ring->counters);
  t_state.ring = ring;
  WatchThreadEnd();
  WakePreparer();
  return true;
}

// Frees the streams that the thread has left. Requires: no interrupted hook of
// the thread is in progress.
void UnparkRings(ThreadRing& ring, std::uint64_t now_ns) noexcept {
  while (ring.parked != nullptr) {
    ThreadRing* left = ring.parked;
    ring.parked = left->parked;
    left->parked = nullptr;
    LeaveCurrent(*left, now_ns, /*nested=*/false);
    PutBack(*left);
  }
}

// Moves the thread to another stream: the preparer was preempted while it
// extended this one, and a hook must not wait. The counters move with the
// thread.
bool ChangeStream(ThreadRing& old, std::uint64_t now_ns, bool nested) noexcept {
  ExtendResult failure{};
  ThreadRing* ring = AcquireRing(&failure);
  if (ring == nullptr) return false;
  ring->counters = old.counters;
  memset(&old.counters, 0, sizeof(old.counters));
  LeaveCurrent(old, now_ns, nested);
  old.pos = nullptr;
  old.end = nullptr;
  old.live = 0;
  ring->parked = &old;  // with the rings that it had parked itself
  t_state.ring = ring;
  if (!nested) UnparkRings(*ring, now_ns);
  g_session->late_sub_buffers.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool SwitchSubBuffer(ThreadRing& ring, bool nested) noexcept {
  const std::uint64_t now_ns = ClockNow();
  SubBuffer next;
  const ExtendResult result = TakeNext(ring, &next);
  if (!result.ok && result.cause == lf::DiscardCause::kNoSubBuffer &&
      ChangeStream(ring, now_ns, nested)) {
    return true;
  }
  if (!result.ok) {
    // By the format's rule, discarded records come after the packet's last one:
    // reject also later records that would fit.
    ring.end = ring.pos;
    ring.retry_cause = result.cause;
    ring.retry_at_ns = result.cause == lf::DiscardCause::kNoSubBuffer
                           ? 0
                           : now_ns + RetryNs(result.cause);
    CountDiscard(ring, result.cause);
    if (result.error != 0) {
      g_session->last_errno.store(static_cast<std::uint32_t>(result.error),
                                  std::memory_order_relaxed);
    }
    return false;
  }
  ring.retry_at_ns = 0;
  LeaveCurrent(ring, now_ns, nested);
  if (!nested) UnparkRings(ring, now_ns);
  Activate(ring, next, now_ns);
  WakePreparer();
  return true;
}

// Closes the packet of the calling thread, which has a ring, and frees the
// stream.
void GiveRingBack() noexcept {
  ThreadRing* ring = t_state.ring;
  CloseThreadCounters(ring->counters);
  ForgetDumpState();
  // The next thread of the stream uses the rest of the sub-buffer.
  if (ring->head != nullptr) {
    const auto used =
        static_cast<std::uint64_t>(ring->pos - ring->current.address);
    const std::uint64_t align = PacketAlignBytes();
    const std::uint64_t kept = (used + align - 1) / align * align;
    if (ring->current.bytes - kept >= kLeftoverMinBytes) {
      ring->leftover = {ring->current.address + kept,
                        ring->current.bytes - kept, 0, 0};
      ring->current.bytes = kept;
      ring->head->packet_bits = kept * 8;
    }
  }
  const std::uint64_t now_ns = ClockNow();
  LeaveCurrent(*ring, now_ns, /*nested=*/false);
  UnparkRings(*ring, now_ns);
  ring->pos = nullptr;
  ring->end = nullptr;
  ring->live = 0;
  t_state.ring = &g_no_ring;
  PutBack(*ring);
  WakePreparer();
}

}  // namespace

__thread ThreadState t_state __attribute__((
    tls_model("initial-exec"), visibility("hidden"))) = {&g_no_ring, 0};

bool MakeRoom(std::size_t bytes, bool nested, std::uint32_t event_id) noexcept {
  ThreadRing* ring = t_state.ring;
  if (ring->live != 0 && ring->retry_at_ns != 0 &&
      ClockNow() < ring->retry_at_ns) {
    CountDiscard(*ring, ring->retry_cause);
    return false;
  }
  SignalBlock block;
  const SlowPathUse use;
  if (!use.is_open()) return false;
  if (!SessionIsRecording()) {
    // A control thread closes them itself, and may soon open them again.
    if (g_process->preparer_running.load(std::memory_order_relaxed) == 0) {
      CloseAllGates();
    }
    return false;
  }
  if (event_id >> 16 != SessionTag()) return false;
  ring = t_state.ring;
  if (ring->live == 0) return StartThread();
  const bool room = static_cast<std::size_t>(ring->end - ring->pos) >= bytes &&
                    ClockNow() >> kEpochShift == ring->epoch;
  // A handler may have switched sub-buffers before signals were blocked.
  return room || SwitchSubBuffer(*ring, nested);
}

void ReleaseRing() noexcept {
  if (g_process == nullptr) return;
  SignalBlock block;
  // Not the slow path: a thread that ends while the process leaves its
  // recording must wait until the control thread has stopped reading its
  // ThreadState.
  g_process->owners_lock.Lock();
  if (t_state.ring->live != 0) GiveRingBack();
  for (ThreadRing* ring = g_process->all_rings.load(std::memory_order_acquire);
       ring != nullptr; ring = ring->next_all) {
    if (ring->owner == &t_state) ring->owner = nullptr;
  }
  g_process->owners_lock.Unlock();
}

void TakeRingFromOwner(ThreadRing& ring) noexcept {
  __atomic_store_n(&ring.epoch, kPoisonedEpoch, __ATOMIC_RELAXED);
  __atomic_store_n(&ring.owner->ring, &g_no_ring, __ATOMIC_RELAXED);
}

void ResetAllRings() noexcept {
  const std::uint64_t now_ns = ClockNow();
  ThreadRing* const all = g_process->all_rings.load(std::memory_order_acquire);
  for (ThreadRing* ring = all; ring != nullptr; ring = ring->next_all) {
    if (ring->live != 0) CloseThreadCounters(ring->counters);
    LeaveCurrent(*ring, now_ns, /*nested=*/false);
    if (ring->leftover.address != nullptr) {
      munmap(ring->leftover.address, ring->leftover.bytes);
    }
    SubBuffer item;
    while (ring->ready.Pop(&item)) munmap(item.address, item.bytes);
    while (ring->retired.Pop(&item)) munmap(item.address, item.bytes);
  }
  g_process->free_rings = nullptr;
  for (ThreadRing* ring = all; ring != nullptr; ring = ring->next_all) {
    ThreadRing* const next = ring->next_all;
    memset(static_cast<void*>(ring), 0, sizeof(*ring));
    ring->next_all = next;
    PutBack(*ring);
  }
}

}  // namespace countrace::runtime
