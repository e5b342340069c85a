#include "runtime/inprocess/ring/thread_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/posix/own_call.h"
#include "logformat/discard_errors.h"
#include "runtime/inprocess/counters/dump_decision.h"
#include "runtime/inprocess/process/hook_objects.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/process/start_values.h"
#include "runtime/inprocess/process/system_calls.h"
#include "runtime/inprocess/process/trace_clock.h"
#include "runtime/inprocess/ring/free_rings.h"
#include "runtime/inprocess/ring/preparer_wake.h"
#include "runtime/inprocess/ring/ring_packets.h"
#include "runtime/inprocess/ring/spare_streams.h"
#include "runtime/inprocess/ring/stream_file.h"
#include "runtime/inprocess/ring/thread_end.h"

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
  const std::uint64_t page = PageBytes();
  return page > lf::kPacketAlignBytes ? page : lf::kPacketAlignBytes;
}

std::uint64_t RetryNs(lf::DiscardCause cause) noexcept {
  return cause == lf::DiscardCause::kTraceFull &&
                 g_settings->mode == lf::SessionMode::kFlight
             ? kFlightRetryNs
             : kRetryNs;
}

ExtendResult TakeNext(ThreadRing& ring, SubBuffer* next) noexcept {
  if (ring.leftover.address != nullptr) {
    *next = ring.leftover;
    ring.leftover = {};
    return {true, lf::DiscardCause::kNoSubBuffer, 0};
  }
  if (ring.ready.Pop(next)) return {true, lf::DiscardCause::kNoSubBuffer, 0};
  if (!MayCall()) return {false, lf::DiscardCause::kNoSubBuffer, 0};
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

// Gets the first sub-buffer of `ring` for the calling thread.
ExtendResult OpenRing(ThreadRing& ring, SubBuffer* first) noexcept {
  ring.pid = g_process->pid.load(std::memory_order_relaxed);
  ring.tid = static_cast<std::int32_t>(base::OwnCall(SYS_gettid));
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

// Gives a thread that must make no system calls a stream that the preparer has
// made ready.
bool StartConfinedThread() noexcept {
  const std::int32_t tid = StoredTid();
  const bool served = g_process->pid.load(std::memory_order_relaxed) != 0 &&
                      g_process->preparer_running.load() != 0 && tid != 0;
  ThreadRing* const ring = served ? TakeReadyRing() : nullptr;
  SubBuffer first;
  if (ring == nullptr || !TakeNext(*ring, &first).ok) {
    CountSessionDiscard(
        served ? lf::DiscardCause::kNoSubBuffer : lf::DiscardCause::kNoResource,
        served ? 0 : lf::kNoCallsAllowed);
    return false;
  }
  ring->pid = g_process->pid.load(std::memory_order_relaxed);
  ring->tid = tid;
  ring->retry_at_ns = 0;
  Activate(*ring, first, ClockNow());
  t_place = ThreadPlace::kConfined;
  ring->owner = &t_state;
  ring->live = 1;
  t_state.ring = ring;
  WatchThreadEnd();
  return true;
}

bool StartThread() noexcept {
  if (!MayCall()) return StartConfinedThread();
  t_place = ThreadPlace::kFree;
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
      MayCall() && ChangeStream(ring, now_ns, nested)) {
    return true;
  }
  if (!result.ok) {
    // By the format's rule, discarded records come after the packet's last one:
    // reject also later records that would fit.
    CloseToHandlers(ring);
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
  CloseToHandlers(ring);
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
  CloseToHandlers(*ring);
  if (MayCall()) CloseThreadCounters(ring->counters);
  ForgetDumpState();
  // The next thread of the stream uses the rest of the sub-buffer.
  if (ring->head != nullptr && ring->head->content_bits == 0) {
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

// While it lives, a handler does not enter the slow path. Needed where signals
// could not be blocked; else it changes nothing.
class SwitchingScope {
 public:
  SwitchingScope() noexcept : interrupted_(t_state.switching) {
    t_state.switching = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~SwitchingScope() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    t_state.switching = interrupted_;
  }
  SwitchingScope(const SwitchingScope&) = delete;
  SwitchingScope& operator=(const SwitchingScope&) = delete;
  bool interrupted() const noexcept { return interrupted_; }

 private:
  bool interrupted_;
};

}  // namespace

__thread ThreadState t_state __attribute__((
    tls_model("initial-exec"), visibility("hidden"))) = {&g_no_ring, 0, false};

bool MakeRoom(std::size_t bytes, bool nested, std::uint32_t event_id) noexcept {
  ThreadRing* ring = t_state.ring;
  if (ring->live != 0 && ring->retry_at_ns != 0 &&
      ClockNow() < ring->retry_at_ns) {
    CountDiscard(*ring, ring->retry_cause);
    return false;
  }
  // The check is not repeated behind it: a filter that another thread sets for
  // all meanwhile judges a sigprocmask, which the C library needs itself.
  SignalBlock block;
  const SlowPathUse use;
  if (!use.is_open()) return false;
  const SwitchingScope scope;
  if (scope.interrupted()) {
    CountSessionDiscard(lf::DiscardCause::kNoSubBuffer, 0);
    return false;
  }
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

void OpenStreamNow() noexcept {
  const SlowPathUse use;
  if (use.is_open() && t_state.ring->live == 0) StartThread();
}

void ReleaseRing() noexcept {
  if (g_process == nullptr) return;
  SignalBlock block;
  // Not the slow path: a thread that ends while the process leaves its
  // recording must wait until the control thread has stopped reading its
  // ThreadState.
  const SwitchingScope scope;
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
      base::OwnCall(SYS_munmap, ring->leftover.address, ring->leftover.bytes);
    }
    SubBuffer item;
    while (ring->ready.Pop(&item))
      base::OwnCall(SYS_munmap, item.address, item.bytes);
    while (ring->retired.Pop(&item)) {
      StoreChecksum(item);
      base::OwnCall(SYS_munmap, item.address, item.bytes);
    }
    DropTail(ring->tail);
  }
  DropSpareStreams();
  g_process->free_rings = nullptr;
  for (ThreadRing* ring = all; ring != nullptr; ring = ring->next_all) {
    ThreadRing* const next = ring->next_all;
    memset(static_cast<void*>(ring), 0, sizeof(*ring));
    ring->next_all = next;
    PutBack(*ring);
  }
}

}  // namespace countrace::runtime
