// The files of this process's streams: TRACE/thread-PID-N.
//
// Async-signal-safe. Thread: any; requires: all signals blocked.
#ifndef COUNTRACE_RUNTIME_INPROCESS_RING_STREAM_NAMES_H_
#define COUNTRACE_RUNTIME_INPROCESS_RING_STREAM_NAMES_H_

#include <cstdint>

namespace countrace::runtime {

// Creates the file of the first free name; *stream is its N. Returns its
// descriptor or -errno.
long CreateNextStream(std::uint32_t* stream) noexcept;

// Opens a file that exists. Returns its descriptor or -errno.
long OpenStream(std::uint32_t stream) noexcept;

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_INPROCESS_RING_STREAM_NAMES_H_
