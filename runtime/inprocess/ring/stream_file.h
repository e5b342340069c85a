// Extends a thread's stream file by one sub-buffer: writes zeros, maps them,
// makes them resident. No descriptor stays open: programs close descriptors
// that are not theirs, and each thread would need one. A stream with a tail
// (stream_tail.h) does not open its file any more.
#ifndef COUNTRACE_RUNTIME_INPROCESS_RING_STREAM_FILE_H_
#define COUNTRACE_RUNTIME_INPROCESS_RING_STREAM_FILE_H_

#include "logformat/packet_layout.h"
#include "runtime/inprocess/ring/ring_layout.h"

namespace countrace::runtime {

struct ExtendResult {
  bool ok;
  logformat::DiscardCause cause;  // !ok
  int error;                      // errno, 0 if none
};

// Creates the file of `ring` under the first free name thread-PID-N; if the
// trace is out of reach, takes a spare stream. Requires: all signals blocked.
ExtendResult CreateStreamFile(ThreadRing& ring) noexcept;

// Appends the next sub-buffer of the file; its size grows with the stream.
// Requires: ring.extending held, all signals blocked.
ExtendResult ExtendStreamFile(ThreadRing& ring, SubBuffer* out) noexcept;

// Number of sub-buffers to keep ready for a stream, by the number it has used.
// `all`: its thread cannot make one itself.
std::uint32_t ReadyTarget(const ThreadRing& ring, bool all) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_RING_STREAM_FILE_H_
