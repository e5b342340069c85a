// Entries of a RecordBatch that become records only when they are stored: what
// of them is stored depends on whose they are.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_ENTRIES_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_ENTRIES_H_

#include <cstdint>

#include "logformat/packet_layout.h"

namespace countrace::runtime {

// Words: tid and pid as in KernelHookRecord::ids with the event's index as the
// number, period, sizes, then the call chain as perf has it, innermost first.
// With a stack that is to be unwound: the chain is the kernel's, and the
// registers of base/code/user_registers.h and the stack's bytes follow.
inline constexpr std::uint16_t kSampleEntry = 0xfffe;
inline constexpr std::size_t kSampleHeadWords = 3;
// How much of them an entry has, in one word.
struct SampleSizes {
  std::uint16_t chain = 0;     // words
  std::uint8_t registers = 0;  // words
  bool stack_is_cut = false;   // all the bytes that were asked for
  std::uint32_t stack_bytes = 0;
};
static_assert(sizeof(SampleSizes) == 8);
// Words: pid, start, bytes, offset in the file, build id (20 bytes in 3 words,
// the size in the top byte), then the path with its NUL.
inline constexpr std::uint16_t kMappingEntry = 0x0ff0;
inline constexpr std::size_t kMappingHeadWords = 7;
// Words: pid. The process has a new program: its mappings are gone.
inline constexpr std::uint16_t kNewProgramEntry = 0x0ff1;

constexpr bool IsSamplingEntry(std::uint16_t event_id) {
  return event_id == kSampleEntry || event_id == kMappingEntry ||
         event_id == kNewProgramEntry;
}

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_SAMPLE_ENTRIES_H_
