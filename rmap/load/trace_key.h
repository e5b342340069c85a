// The key of a loaded trace: no two have the same.
#ifndef COUNTRACE_RMAP_LOAD_TRACE_KEY_H_
#define COUNTRACE_RMAP_LOAD_TRACE_KEY_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "logformat/read/trace_reader.h"

namespace countrace::rmap {

// The trace's UUID, in which the last 7 bytes are XORed with its end, ns:
// snapshots and parts of a chain have the UUID of their recording.
inline std::array<std::uint8_t, 16> TraceKeyOf(
    const logformat::TraceReader& trace) {
  std::array<std::uint8_t, 16> key = trace.info().uuid;
  std::uint64_t end_ns = trace.end_ns();
  for (std::size_t i = 15; i >= 9; --i, end_ns >>= 8) {
    key[i] ^= static_cast<std::uint8_t>(end_ns);
  }
  return key;
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_LOAD_TRACE_KEY_H_
