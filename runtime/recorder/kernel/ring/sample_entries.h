// Entries of a RecordBatch that become records only when they are stored: what
// of them is stored depends on whose they are.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_RING_SAMPLE_ENTRIES_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_RING_SAMPLE_ENTRIES_H_

#include <cstddef>
#include <cstdint>

#include "logformat/packet_layout.h"

namespace countrace::runtime {

// Words: tid and pid as in KernelHookRecord::ids with the event's index as the
// number, period, sizes, then the call chain as perf has it, innermost first.
// With a stack that is to be unwound: the chain is the kernel's, and the
// registers of base/code/user_registers.h and the stack's bytes follow. With
// --data the words of SampleDataWords are last.
inline constexpr std::uint16_t kSampleEntry = 0xfffe;
inline constexpr std::size_t kSampleHeadWords = 3;
// How much of them an entry has, in one word.
struct SampleSizes {
  std::uint16_t chain = 0;        // words
  std::uint8_t registers = 0;     // words
  bool stack_is_cut : 1 = false;  // all the bytes that were asked for
  std::uint8_t data : 7 = 0;      // words: 0 or kSampleDataWords
  std::uint32_t stack_bytes = 0;
};
static_assert(sizeof(SampleSizes) == 8);
struct SampleDataWords {
  std::uint64_t address;        // 0: the event gave none
  std::uint64_t stack_pointer;  // of user code; 0: not known
  std::uint64_t source, weight;
};
inline constexpr std::size_t kSampleDataWords = sizeof(SampleDataWords) / 8;
// Words: pid, start, bytes, offset in the file, build id (20 bytes in 3 words,
// the size in the top byte, below it 1 if it is code), then the path with its
// NUL. A size of 0: MappedFileNumber is in the place of the build id.
inline constexpr std::uint16_t kMappingEntry = 0x0ff0;
inline constexpr std::size_t kMappingHeadWords = 7;
inline constexpr std::size_t kMappingIsCode = 22;  // byte of the three words
struct MappedFileNumber {
  std::uint32_t device_major, device_minor;
  std::uint64_t inode;
  std::uint32_t generation;  // numbers are used again
};
inline constexpr std::size_t kFileNumberBytes = 20;  // without what pads it
// Words: pid. The process has a new program: its mappings are gone.
inline constexpr std::uint16_t kNewProgramEntry = 0x0ff1;

constexpr bool IsSamplingEntry(std::uint16_t event_id) {
  return event_id == kSampleEntry || event_id == kMappingEntry ||
         event_id == kNewProgramEntry;
}

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_RING_SAMPLE_ENTRIES_H_
