// Fields of a tracepoint, from its tracefs `format` file.
//
// In: the text of events/SYSTEM/EVENT/format. Out: the position of each field
// in the raw bytes that perf stores with a sample (PERF_SAMPLE_RAW). Thread:
// any.
#ifndef COUNTRACE_RUNTIME_RECORDER_SYSTEM_TRACEPOINT_FORMAT_H_
#define COUNTRACE_RUNTIME_RECORDER_SYSTEM_TRACEPOINT_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::runtime {

struct TracepointField {
  std::string name;
  std::uint32_t offset = 0;  // bytes from the start of the raw data
  std::uint32_t size = 0;    // bytes
  bool is_signed = false;
  std::string type;  // "unsigned int", "char[16]", "__data_loc char[]"
};

// Returns: INVALID_ARGUMENT if no field line can be parsed.
absl::StatusOr<std::vector<TracepointField>> ParseTracepointFormat(
    std::string_view text);

// The fields of sched:sched_switch that the kernel recorder uses.
struct SwitchFormat {
  std::uint32_t prev_tid_offset = 0;  // 4 bytes
  std::uint32_t prev_state_offset = 0;
  std::uint32_t prev_state_size = 0;  // 4 or 8 bytes
  std::uint32_t next_tid_offset = 0;  // 4 bytes
  std::uint32_t raw_bytes = 0;        // raw data must be at least this long
};
// Returns: UNIMPLEMENTED if a field is missing or has an unknown size.
absl::StatusOr<SwitchFormat> ParseSwitchFormat(std::string_view text);

// The tracepoint's prev_state as logformat::SwitchState bits.
std::uint16_t MapSwitchState(std::uint64_t prev_state);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SYSTEM_TRACEPOINT_FORMAT_H_
