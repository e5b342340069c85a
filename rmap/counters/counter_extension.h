// Extends counters of less than 64 bits, so that the values for reconstruction
// never wrap.
//
// A delta is taken modulo 2^width. It equals the count if the time between the
// two dumps is at most the time in which the counter can wrap at its stated
// rate; else it is a lower bound. A delta that the counter cannot reach in that
// time shows that another program reset or used the counter: the value then
// stands still, and the count is unknown. Both are doubts, by event and
// interval. Deltas of a multiplexed counter lie in one rotation.
//
// In: dumps of a CPU, or of a thread, in time order, by measure
// (event_set_dumps.h). Thread: one.
#ifndef COUNTRACE_RMAP_COUNTERS_COUNTER_EXTENSION_H_
#define COUNTRACE_RMAP_COUNTERS_COUNTER_EXTENSION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "logformat/records.h"
#include "rmap/counters/counter_doubts.h"
#include "rmap/counters/measure_set.h"

namespace countrace::rmap {

class CounterExtension {
 public:
  // `rotating`: the multiplexed measures.
  CounterExtension(std::vector<logformat::CounterLimit> limits,
                   std::size_t measures, const MeasureSet& rotating);

  // False: all counters are 64 bits wide without a stated rate. Extend() is not
  // needed.
  bool active() const { return !limited_.empty(); }

  // Returns `record` with extended values, valid until the next call for the
  // same CPU or thread. `present`: EventSetDumps::PresentIn(). `time_sure`:
  // false if `time_ns` differs from the record's own time. Requires:
  // record.counters != nullptr.
  logformat::EventRecord Extend(const logformat::EventRecord& record,
                                const MeasureSet& present,
                                std::uint64_t time_ns, bool time_sure);
  // The counters of `cpu` start anew with its next dump.
  void Restart(std::int32_t cpu);
  // The measures whose delta up to that record is doubtful.
  const MeasureSet& doubted() const { return doubted_; }
  const CounterDoubts& doubts() const { return doubts_; }
  void ForgetDoubts() { doubts_ = CounterDoubts(); }

 private:
  struct Source {
    std::int32_t pid = -1, tid = -1;
    std::uint32_t mmcr = 0;
    MeasureSet seen;    // a delta can be taken from `raw`
    MeasureSet unsure;  // the time of `raw` is uncertain
    // By measure.
    std::vector<std::uint64_t> raw, extended, at_ns;
  };
  Source* SourceOf(const logformat::EventRecord& record);
  // Adds to measure `i` its count since the previous dump.
  void Step(Source& source, std::size_t i, const logformat::EventRecord& record,
            std::uint64_t time_ns, bool time_sure);

  std::vector<logformat::CounterLimit> limits_;  // by measure
  MeasureSet limited_, rotating_, doubted_;
  CounterDoubts doubts_;
  std::vector<std::unique_ptr<Source>> cpus_;  // null: no dump yet
  std::vector<Source> streams_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COUNTERS_COUNTER_EXTENSION_H_
