// What one thread's ring consists of: sub-buffers, the queues between its owner
// and the preparer, the owner's position. thread_ring.h says how it is used.
#ifndef COUNTRACE_RUNTIME_INPROCESS_RING_RING_LAYOUT_H_
#define COUNTRACE_RUNTIME_INPROCESS_RING_RING_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "logformat/packet_layout.h"
#include "runtime/inprocess/counters/thread_counters.h"
#include "runtime/inprocess/ring/stream_tail.h"

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

inline constexpr unsigned kEpochShift = 46;
inline constexpr std::uint64_t kPoisonedEpoch = ~std::uint64_t{0};
inline constexpr std::uint32_t kMaxReady = 16;
inline constexpr std::uint32_t kMaxDeferred = 8;

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
  std::uint64_t file_bytes;  // of its sub-buffers; guarded by `extending`
  StreamTail tail;           // as well; once there is one, it is used
  std::uint32_t stream;      // file thread-PID-STREAM; constant
  std::atomic<std::uint32_t> created;
  ThreadRing* next_all;  // constant once published
};

// Whether the next sub-buffer needs no system call.
inline bool HasSubBuffer(const ThreadRing& ring) noexcept {
  return ring.leftover.address != nullptr || ring.ready.size() != 0;
}

struct ThreadState {
  ThreadRing* ring;    // never null: kNoRing before the thread's first record
  std::uint32_t busy;  // 1 while a hook of this thread reserves or fills
  // The slow path is in progress and could not block signals: a handler's
  // record that needs it is discarded.
  bool switching;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_RING_RING_LAYOUT_H_
