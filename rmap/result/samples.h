// What the samples of a trace add up to, before anything has a name.
//
// Thread: any (plain values).
#ifndef COUNTRACE_RMAP_RESULT_SAMPLES_H_
#define COUNTRACE_RMAP_RESULT_SAMPLES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "logformat/sample_points.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

struct SampledEvent {
  std::uint32_t hook_id = 0;
  std::string name;  // "cpu-clock"
  std::string rate;  // "199 Hz", "every 97", "every 1621 and 2621",
                     // "1.00 ms or longer"
  // With which it was sampled, each for itself: 1 or 2. Sums of periods and
  // counts are of all of them.
  std::uint32_t periods = 1;
  bool off_cpu = false;  // periods are whole waits, ns: sums are exact
  // What of their data was recorded (FORMAT.md 4.8).
  logformat::SampleData data = logformat::SampleData::kNone;
};

// Where addresses lie (logformat/sample_points.h).
struct CodeFile {
  std::string path;
  // Hexadecimal, or base/code/file_version.h's; empty: not known.
  std::string build_id;
};

// A node of the tree of stacks, over all processes.
struct StackFrame {
  std::uint32_t parent = 0;  // the frame that called it; an earlier one
  std::uint32_t file = 0;    // of Samples::files
  std::uint64_t address = 0;
  std::uint32_t symbol = 0;  // 1 + index in Samples::timed_symbols; 0: none
};

// A function that had its memory for a time.
struct TimedSymbol {
  std::uint32_t file = 0;
  std::uint64_t begin = 0, bytes = 0;
  std::uint64_t from_ns = 0, until_ns = 0;
  std::string name;
};

struct CodeSymbol {
  std::uint64_t bytes = 0;
  std::string name;
};

// What was open in the thread. Hook ids; 0: none.
struct SampleContext {
  ProcessIndex process{};
  ThreadIndex thread{};
  std::uint32_t segment = 0;      // of user code, the innermost
  std::uint32_t system_call = 0;  // the innermost
  auto operator<=>(const SampleContext&) const = default;
};

// Samples of one event with the same stack in the same context.
struct SampleSum {
  std::uint32_t event = 0;    // of Samples::events
  std::uint32_t context = 0;  // of Samples::contexts
  std::uint32_t frame = 0;    // innermost; 0: it has no stack
  std::uint64_t hits = 0;
  std::uint64_t second_hits = 0;  // of these, by the event's second period
  std::uint64_t periods = 0;      // sum
  double squared_periods = 0;     // sum of the squares
};

// One sample, in the order of the records.
struct TimedSample {
  std::uint64_t time_ns = 0;                        // CLOCK_MONOTONIC
  std::uint32_t event = 0, context = 0, frame = 0;  // as in SampleSum
  bool second = false;      // by the event's second period
  bool stack_lost = false;  // Samples::stacks_lost
  std::uint64_t period = 0;
};

// Memory in which data addresses lie: one mapping of a process.
struct DataArea {
  std::uint32_t file = 0;  // of Samples::files
  std::uint64_t start = 0, bytes = 0;
  std::uint64_t offset = 0;  // of `start`, in the file
  std::int32_t thread = 0;   // of a stack; 0: the first one of the process
};

// Samples of one event with the same data in the same context, as DataDetail
// has it.
struct DataSum {
  std::uint32_t event = 0;    // of Samples::events
  std::uint32_t context = 0;  // of Samples::contexts
  std::uint32_t area = 0;     // of Samples::areas
  std::uint64_t address = 0;
  std::uint64_t source = 0;  // perf_mem_data_src
  std::uint64_t hits = 0;
  std::uint64_t periods = 0;  // sum
  double squared_periods = 0;
  std::uint64_t weights = 0;  // sum
};

// The end of an event on one CPU; of each of its periods.
struct SampleCount {
  std::uint32_t event = 0;
  std::int32_t cpu = 0;
  std::uint64_t counted = 0;    // by the event itself
  std::uint64_t idle = 0;       // sums of periods: of samples on the idle CPU,
  std::uint64_t outside = 0;    // and of processes that are not counted
  std::uint64_t lost = 0;       // samples
  std::uint64_t throttled = 0;  // times that the kernel stopped it
};

// Waits of an event off CPU without a stack, on one CPU.
struct ShortWaits {
  std::uint32_t event = 0;
  std::uint64_t shorter = 0, shorter_ns = 0;  // below the limit
  std::uint64_t lost_ns = 0;                  // of stacks without room
  std::uint64_t unseen = 0;  // of unknown time: begin or end were not seen
};

// What the dispatches of a process limit: the amounts of clocks in it.
struct SampledProcess {
  ProcessIndex process{};
  std::uint64_t on_cpu_ns = 0;  // at most
};

struct Samples {
  std::vector<SampledEvent> events;
  std::vector<CodeFile> files;     // [0]: not known
  std::vector<StackFrame> frames;  // [0]: the root, no frame
  std::vector<SampleContext> contexts;
  std::vector<SampleSum> sums;
  // [0]: the event gave no address; [1]: the area's record is lost.
  std::vector<DataArea> areas;
  std::vector<DataSum> data_sums;  // of events with data; by DataDetail
  // Sums are of a range, of what a flight recording kept, or of what was read
  // before an interruption.
  bool of_part = false;
  // Of CPUs, any of which may have been a sample. Where it is not known when
  // they were lost (SamplesOfRange()), of the whole recording.
  std::uint64_t lost_records = 0;
  bool ends_lost = false;           // `counts` lack a CPU that has samples
  std::vector<SampleCount> counts;  // of the whole recording
  std::vector<ShortWaits> shorts;   // likewise
  // Their times are of what `sums` are of. Empty: not known.
  std::vector<SampledProcess> processes;
  std::uint64_t interrupts_ns = 0;  // recorded ones; in no process's time
  std::uint64_t cpu_ns = 0;         // of all CPUs
  // Functions that the recorder named: by file and first address.
  std::map<std::pair<std::uint32_t, std::uint64_t>, CodeSymbol> symbols;
  std::vector<TimedSymbol> timed_symbols;
  // Samples whose stack was defined in a part of the trace that is lost.
  std::uint64_t stacks_lost = 0;
  // What `sums` are of. Empty: not wanted, or more than
  // PipelineOptions::most_timed_samples.
  std::vector<TimedSample> timed;
};

// Gets each sample in the order of the records, once all were read.
using SampleCallback =
    std::function<void(const Samples& samples, const TimedSample& sample)>;

// The function that the recorder named there; null: none.
inline const CodeSymbol* RecordedSymbol(const Samples& samples,
                                        const StackFrame& frame) {
  auto after = samples.symbols.upper_bound({frame.file, frame.address});
  if (after == samples.symbols.begin()) return nullptr;
  --after;
  const auto& [at, symbol] = *after;
  const bool is_there =
      at.first == frame.file && frame.address - at.second < symbol.bytes;
  return is_there ? &symbol : nullptr;
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_RESULT_SAMPLES_H_
