// Rings that no thread writes into: those of ended threads, whose streams go
// on, and new ones. Async-signal-safe. Requires of each: all signals blocked,
// or a thread that makes no system calls (system_calls.h).
#ifndef COUNTRACE_RUNTIME_INPROCESS_RING_FREE_RINGS_H_
#define COUNTRACE_RUNTIME_INPROCESS_RING_FREE_RINGS_H_

#include "runtime/inprocess/ring/ring_layout.h"

namespace countrace::runtime {

// Takes a ring from the free list. If it is empty or if `fresh`, makes a new
// one. Null: no memory.
ThreadRing* TakeRing(bool fresh) noexcept;
void PutBack(ThreadRing& ring) noexcept;

// Takes one whose first sub-buffer needs no system call; null: there is none.
ThreadRing* TakeReadyRing() noexcept;

// Makes `count` of these, for threads that start under a seccomp filter. True
// if it did something. Preparer only, or before the filter.
bool KeepReadyRings(std::uint32_t count) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_RING_FREE_RINGS_H_
