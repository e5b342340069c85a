// HOT. The ring one thread writes its event records into: a chain of
// sub-buffers, each a mapped packet of the thread's stream file.
//
//   ready --(owner: Activate)--> current --(owner: Close)--> retired
//     ^                                                         |
//     |                                                 (preparer: unmap)
//     +--(preparer: extend the file, map, make resident)
//
// One writer: the owner thread and the signal handlers that interrupt it.
// Reserve moves `pos` with a compare-exchange that is atomic against those
// handlers only (no lock prefix); the record's header word is stored last. A
// handler that comes between finds a reserved hole before its own records.
#ifndef COUNTRACE_RUNTIME_INPROCESS_THREAD_RING_H_
#define COUNTRACE_RUNTIME_INPROCESS_THREAD_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "logformat/packet_layout.h"
#include "runtime/inprocess/thread_counters.h"
#include "runtime/inprocess/trace_clock.h"

namespace countrace::runtime {

// A mapped part of the stream file.
struct SubBuffer {
  std::byte* address;
  std::uint64_t bytes;          // multiple of kPacketAlignBytes
  std::uint64_t content_bytes;  // once closed or left
  std::uint64_t end_ns;         // time at which it was left
};

// Fixed-size queue with one producer and one consumer thread.
template <std::uint32_t kCapacity>
struct SubBufferQueue {
  std::atomic<std::uint32_t> produced;
  std::atomic<std::uint32_t> consumed;
  SubBuffer items[kCapacity];

  std::uint32_t size() const noexcept {
    return produced.load(std::memory_order_acquire) -
           consumed.load(std::memory_order_acquire);
  }
  bool Push(const SubBuffer& item) noexcept {
    if (size() == kCapacity) return false;
    const std::uint32_t at = produced.load(std::memory_order_relaxed);
    items[at % kCapacity] = item;
    produced.store(at + 1, std::memory_order_release);  // pairs with size()
    return true;
  }
  bool Pop(SubBuffer* item) noexcept {
    if (size() == 0) return false;
    const std::uint32_t at = consumed.load(std::memory_order_relaxed);
    *item = items[at % kCapacity];
    consumed.store(at + 1, std::memory_order_release);  // pairs with size()
    return true;
  }
};

inline constexpr std::uint32_t kMaxReady = 16;
inline constexpr std::uint32_t kMaxDeferred = 8;
inline constexpr unsigned kEpochShift = 46;

struct ThreadState;

struct alignas(128) ThreadRing {
  // Changed by the owner thread and its signal handlers only.
  std::byte* pos;
  std::byte* end;
  // ns >> kEpochShift of the current packet. Poisoned when the ring is taken
  // away, so that the owner takes the slow path.
  std::uint64_t epoch;
  ThreadCounters counters;
  logformat::PacketHead* head;  // of the current packet; null: none yet
  SubBuffer current;
  SubBuffer leftover;  // rest of a sub-buffer whose thread ended
  // Sub-buffers that were left while an interrupted hook was still writing a
  // record in them. They are closed and unmapped when no hook of the thread is
  // in progress.
  SubBuffer deferred[kMaxDeferred];
  std::uint32_t deferred_count;
  std::uint32_t live;  // 0: wiped by a fork, or free
  std::int32_t pid;
  std::int32_t tid;
  std::uint64_t sequence;
  std::uint64_t discarded[logformat::kDiscardCauses];
  std::uint64_t retry_at_ns;  // after a failed switch
  logformat::DiscardCause retry_cause;
  ThreadRing* next_free;  // guarded by ProcessState::lock
  // The thread that may be writing into the ring; null: none. Changed in the
  // slow path or under ProcessState::owners_lock.
  ThreadState* owner;
  // A stream that this thread left while an interrupted hook was still writing
  // into it. Released when no hook of the thread is in progress.
  ThreadRing* parked;

  // Shared by owner and preparer.
  alignas(64) SubBufferQueue<kMaxReady> ready;  // preparer -> owner
  SubBufferQueue<kMaxReady> retired;            // owner -> preparer
  std::atomic<std::uint32_t> activations;       // of this stream so far
  // The thread that holds it extends the file; the owner only tries, and never
  // waits.
  std::atomic<std::uint32_t> extending;
  std::uint64_t file_bytes;  // guarded by `extending`
  std::uint32_t stream;      // file thread-PID-STREAM; constant
  std::atomic<std::uint32_t> created;
  ThreadRing* next_all;  // constant once published
};

struct ThreadState {
  ThreadRing* ring;    // never null: kNoRing before the thread's first record
  std::uint32_t busy;  // 1 while a hook of this thread reserves or fills
};
inline constexpr std::uint64_t kPoisonedEpoch = ~std::uint64_t{0};
// Initial-exec: reading it calls nothing and allocates nothing, also in a
// signal handler.
extern __thread ThreadState t_state
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// --- Hot path (inline) ---

// Compare-exchange that a signal handler of this thread cannot split. No other
// thread writes `*word`.
inline bool ExchangeIfEqual(std::byte** word, std::byte* expected,
                            std::byte* desired) noexcept {
#if defined(__x86_64__)
  bool equal;
  __asm__ volatile("cmpxchgq %3, %1"
                   : "=@ccz"(equal), "+m"(*word), "+a"(expected)
                   : "r"(desired)
                   : "memory");
  return equal;
#else
  return __atomic_compare_exchange_n(word, &expected, desired, false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
}

inline void StoreHeader(std::byte* at, std::uint64_t word) noexcept {
  // Release: after a crash, a reader of the file finds a record's body if it
  // finds its header. Costs nothing on x86.
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(at), word,
                   __ATOMIC_RELEASE);
}

// --- Slow path ---

// Makes room for a record of `bytes`: first record of a thread, full
// sub-buffer, new epoch. True: try again; false: the record was discarded and
// counted, or the recording has ended. Async-signal-safe, preserves errno.
// `nested`: a hook of this thread was interrupted while it wrote a record.
// `event_id`: the site's id. An id of an earlier recording (the hook was held
// up between its gate and here) is rejected.
bool MakeRoom(std::size_t bytes, bool nested, std::uint32_t event_id) noexcept;

// Closes the packet of the calling thread, which ends, and frees its stream for
// others.
void ReleaseRing() noexcept;

// --- Leaving a recording: control thread, owners_lock held, slow path closed -

// Takes the ring from its owner, which may still be writing a record into it.
void TakeRingFromOwner(ThreadRing& ring) noexcept;

// Closes the packets of all rings and unmaps everything. Requires: all rings
// were taken, and no owner is busy.
void ResetAllRings() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_THREAD_RING_H_
