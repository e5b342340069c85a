// The messages of `record` at the end: losses by cause, each with the option or
// command that avoids it. Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_SESSION_RECORD_MESSAGES_H_
#define COUNTRACE_RUNTIME_RECORDER_SESSION_RECORD_MESSAGES_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "logformat/packet_layout.h"

namespace countrace::runtime {

struct LossFacts {
  std::array<std::uint64_t, logformat::kDiscardCauses> discarded{};
  std::uint64_t overwritten =
      0;  // part of trace_full: overwritten by a flight recording
  std::uint32_t last_errno = 0;  // errno behind disk_full and no_resource
  std::uint64_t sub_buffer_bytes = 0;
  std::uint32_t sub_buffers = 0;
  std::uint64_t max_bytes = 0;
  std::uint64_t kernel_ring_bytes = 0;
  std::string path;
};

// One message for each cause that lost something.
std::vector<std::string> DescribeLosses(const LossFacts& facts);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SESSION_RECORD_MESSAGES_H_
