// Dumps of event sets in one shape: a value for each event of the session and,
// for a CPU, the running time of each set. Values that a dump lacks are absent.
//
// Thread: one.
#ifndef COUNTRACE_RMAP_COUNTERS_EVENT_SET_DUMPS_H_
#define COUNTRACE_RMAP_COUNTERS_EVENT_SET_DUMPS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "logformat/event_sets.h"
#include "logformat/records.h"
#include "rmap/counters/measure_set.h"

namespace countrace::rmap {

class EventSetDumps {
 public:
  explicit EventSetDumps(logformat::EventSets sets);

  bool rotates() const { return sets_.rotates(); }
  // Number of values of a dump in that shape: all events, then the sets.
  std::size_t measures() const { return measures_; }
  std::size_t running_of(std::size_t set) const { return sets_.events + set; }
  // running_of() the set of each event; meaningless for always-counted events.
  std::vector<std::size_t> running_places() const;
  const logformat::EventSets& sets() const { return sets_; }
  // As those of sets(), which add them up. Requires: `set` exists.
  std::size_t first_event(std::size_t set) const { return first_events_[set]; }
  // The measures that belong to a set, or are a set's running time.
  const MeasureSet& rotating() const { return rotating_; }
  // Those of set `set`.
  const MeasureSet& of_set(std::size_t set) const {
    return set < of_set_.size() ? of_set_[set] : none_;
  }

  // Returns `record` with its counters by measure, and with the present bits of
  // the first 32 measures (a thread's dump: the first 16, and behind them which
  // of these perf multiplexed); valid until the next call. Requires: rotates(),
  // record.counters != nullptr.
  logformat::EventRecord Spread(const logformat::EventRecord& record);
  // The measures in that dump.
  const MeasureSet& present() const { return present_; }
  // All measures in the dump of `record`, which is without sets, or as Spread()
  // returned it last.
  MeasureSet PresentIn(const logformat::EventRecord& record) const {
    if (record.counters == nullptr) return MeasureSet();
    return rotates() ? present_ : MeasureSet(record.present);
  }

 private:
  logformat::EventSets sets_;
  std::size_t measures_, always_on_, slots_;
  std::vector<std::size_t> first_events_;  // by set
  MeasureSet rotating_, none_;
  std::vector<MeasureSet> of_set_;
  MeasureSet present_;  // of the latest Spread()
  std::vector<std::uint64_t> values_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COUNTERS_EVENT_SET_DUMPS_H_
