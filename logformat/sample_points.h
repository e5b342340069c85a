// The kernel's points that samples are made of (FORMAT.md 4.8). Their provider
// and the names and types of their values say which they are.
#ifndef COUNTRACE_LOGFORMAT_SAMPLE_POINTS_H_
#define COUNTRACE_LOGFORMAT_SAMPLE_POINTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "logformat/trace_info.h"

namespace countrace::logformat {

inline constexpr char kSampleProvider[] = "sample";

enum class SamplePoint : std::uint8_t {
  kNone,
  kSample,       // one for each sampled event, which it is named after
  kFrame,        // a frame of stacks: an address, and the frame that called it
  kFile,         // where addresses lie: a mapped file, or a kind of memory
  kSymbol,       // a function that only the recorded machine could name
  kTimedSymbol,  // the same, for a time: others had its memory before or after
  kCount,  // of a CPU: what the event counted in all, and hits without samples
  kShort,  // of a CPU: time off CPU without a stack
  kArea,   // memory in which data addresses lie: one mapping of a process
};

// What a sample has beside its stack (`record --data`).
enum class SampleData : std::uint8_t {
  kNone,
  kAddress,  // area, address
  kSource,   // and data_source.h's word, and the weight
};

// The event of stacks off CPU: its periods are ns, each the whole of a wait, so
// its sums are no estimates.
inline constexpr char kOffCpuEvent[] = "off-cpu";
// That of who ended such a wait: ns from its begin to the wake-up.
inline constexpr char kOffCpuWakerEvent[] = "off-cpu-waker";

inline bool IsOffCpu(std::string_view event) {
  return event == kOffCpuEvent || event == kOffCpuWakerEvent;
}

// The files that are none (SamplePoint::kFile): their addresses are absolute,
// but for the vdso, where they count from its begin.
inline constexpr char kKernelCode[] = "[kernel]";
inline constexpr char kVdsoCode[] = "[vdso]";
inline constexpr char kJitCode[] = "[jit]";  // executable, without a file
// What probes and BPF programs of the recording took: in no trace.
inline constexpr char kRecordingCode[] = "[recording]";
inline constexpr char kUnknownCode[] = "[unknown]";  // no mapping is known
// Memory that is no file's (SamplePoint::kArea); a name of the kernel's, as
// "[vvar]" or "/memfd:x (deleted)", is kept.
inline constexpr char kAnonymousMemory[] = "[anon]";
inline constexpr char kHeapMemory[] = "[heap]";  // what brk(2) has made
inline constexpr char kStackMemory[] = "[stack]";
// At the outer end of a stack that was unwound by DWARF: it went on behind the
// copied bytes; no rules led on. Their address is 0.
inline constexpr char kTruncatedStack[] = "[truncated stack]";
inline constexpr char kStackNotUnwound[] = "[stack not unwound]";
// An absent text: babeltrace2 2.0.4 shows an empty one as that before it.
inline constexpr char kNoText[] = "-";

// The point without its id; `name`, `location` and `data` are used by kSample
// alone.
HookInfo DescribeSamplePoint(SamplePoint point, const std::string& name,
                             const std::string& location,
                             SampleData data = SampleData::kNone);
SamplePoint SamplePointOf(const HookInfo& hook);
// Requires: a point that is SamplePoint::kSample.
SampleData SampleDataOf(const HookInfo& hook);

// An event may have two points, one for each of two periods (FORMAT.md 4.8):
// both then have this `location`, of both.
std::string TwoPeriodsText(std::uint64_t one, std::uint64_t other);
bool IsOfTwoPeriods(const std::string& location);

// Numbers of a point's values that come before its texts.
inline constexpr std::size_t kSampleNumbers = 2;  // period, stack
// With SampleData: area, address; source, weight.
inline constexpr std::size_t kAddressNumbers = kSampleNumbers + 2;
inline constexpr std::size_t kSourceNumbers = kAddressNumbers + 2;
inline constexpr std::size_t kFrameNumbers = 4;   // id, parent, file, address
inline constexpr std::size_t kFileNumbers = 1;    // file
inline constexpr std::size_t kSymbolNumbers = 3;  // file, begin, bytes
// file, begin, bytes, from, until
inline constexpr std::size_t kTimedSymbolNumbers = 5;
// hook, counted, idle, outside, lost, throttled
inline constexpr std::size_t kCountNumbers = 6;
// hook, shorter, shorter_ns, lost_ns, unseen
inline constexpr std::size_t kShortNumbers = 5;
// area, file, start, bytes, offset, thread
inline constexpr std::size_t kAreaNumbers = 6;

// The body of a record behind its header word, texts cut to kMaxStringBytes.
// `ids`: KernelHookRecord::ids.
std::vector<std::byte> SampleRecordBody(std::uint64_t ids,
                                        std::span<const std::uint64_t> numbers,
                                        std::span<const std::string> texts);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_SAMPLE_POINTS_H_
