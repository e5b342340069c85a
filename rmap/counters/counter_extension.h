// Counters of less than 64 bits, continued: what reconstruction gets are values
// that never begin again at 0.
//
// A delta is taken modulo 2^width. It is what was counted if the two dumps lie
// no further apart than the counter can wrap in at its stated rate; else it is
// a lower bound. One that the counter could not count in that time shows that
// somebody reset or took it: the value then stands still, and what was counted
// is unknown. Both are doubts, by event and interval. Deltas of a counter that
// is counted in turns lie in one turn.
//
// In: dumps of a CPU, or of a thread, in time order, by measure
// (event_set_dumps.h). Thread: one.
#ifndef COUNTRACE_RMAP_COUNTERS_COUNTER_EXTENSION_H_
#define COUNTRACE_RMAP_COUNTERS_COUNTER_EXTENSION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "rmap/counters/counter_doubts.h"
#include "rmap/counters/event_set_dumps.h"

namespace countrace::rmap {

class CounterExtension {
 public:
  // `rotating`: bits of the measures that are counted in turns.
  CounterExtension(std::vector<logformat::CounterLimit> limits,
                   std::size_t measures, std::uint32_t rotating);

  // False: all counters are 64 bits wide and as fast as they like. Extend() is
  // not needed.
  bool active() const { return limited_ != 0; }

  // `record` with its values continued; they are valid until the next call for
  // the same CPU or thread. `time_ns`: when; `time_sure`: false if the record's
  // own time is another. Requires: record.counters != nullptr.
  logformat::EventRecord Extend(const logformat::EventRecord& record,
                                std::uint64_t time_ns, bool time_sure);
  // The counters of `cpu` begin anew with its next dump.
  void Restart(std::int32_t cpu);
  // Bits of the measures whose step to that record is doubtful.
  std::uint32_t doubted() const { return doubted_; }
  const CounterDoubts& doubts() const { return doubts_; }

 private:
  struct Source {
    std::int32_t pid = -1, tid = -1;
    std::uint32_t mmcr = 0;
    std::uint32_t seen = 0;    // a delta can be taken from `raw`
    std::uint32_t unsure = 0;  // nobody knows when `raw` was
    std::array<std::uint64_t, kMaxMeasures> raw{}, extended{}, at_ns{};
  };
  Source* SourceOf(const logformat::EventRecord& record);
  // Continues measure `i` by what it counted since.
  void Step(Source& source, std::size_t i, const logformat::EventRecord& record,
            std::uint64_t time_ns, bool time_sure);

  std::vector<logformat::CounterLimit> limits_;  // by measure
  std::uint32_t limited_ = 0;
  std::uint32_t rotating_;
  std::uint32_t doubted_ = 0;
  CounterDoubts doubts_;
  std::vector<std::unique_ptr<Source>> cpus_;  // null: no dump yet
  std::vector<Source> streams_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COUNTERS_COUNTER_EXTENSION_H_
