// Streams for threads and forked children that start when the process can no
// longer create files (less_access.h). All have a tail (stream_tail.h).
//
// Async-signal-safe. Thread: any.
#ifndef COUNTRACE_RUNTIME_INPROCESS_RING_SPARE_STREAMS_H_
#define COUNTRACE_RUNTIME_INPROCESS_RING_SPARE_STREAMS_H_

#include "runtime/inprocess/ring/ring_layout.h"

namespace countrace::runtime {

// The process and the children that it forks share them.
inline constexpr std::uint32_t kSpareStreams = 64;

// Creates them, unless there are enough. Requires: all signals blocked.
void MakeSpareStreams() noexcept;

// Whether there were any, here or in a parent.
bool StreamsAreKept() noexcept;

// Gives `ring`, whose file `fd` is open, a tail if it has none.
void GiveTail(ThreadRing& ring, int fd) noexcept;

// Makes a spare stream that of `ring`. False: none is left.
bool TakeSpareStream(ThreadRing& ring) noexcept;

// At the end of a recording. Requires: no thread is in the slow path.
void DropSpareStreams() noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_RING_SPARE_STREAMS_H_
