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
#ifndef COUNTRACE_RUNTIME_INPROCESS_RING_THREAD_RING_H_
#define COUNTRACE_RUNTIME_INPROCESS_RING_THREAD_RING_H_

#include <cstddef>
#include <cstdint>

#include "runtime/inprocess/ring/ring_layout.h"

namespace countrace::runtime {

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

// Opens the calling thread's stream before its first record. Requires: all
// signals blocked, a recording.
void OpenStreamNow() noexcept;

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

#endif  // COUNTRACE_RUNTIME_INPROCESS_RING_THREAD_RING_H_
