// Dumps of event sets in one shape: a value for each event of the session and,
// for a CPU, the running time of each set. Values that a dump lacks are absent.
//
// Thread: one.
#ifndef COUNTRACE_RMAP_COUNTERS_EVENT_SET_DUMPS_H_
#define COUNTRACE_RMAP_COUNTERS_EVENT_SET_DUMPS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "logformat/event_sets.h"
#include "logformat/records.h"

namespace countrace::rmap {

// Events, and the running times of sets.
inline constexpr std::size_t kMaxMeasures =
    logformat::kMaxEvents + logformat::kMaxEventSets;
static_assert(kMaxMeasures <= 32, "one bit of EventRecord::present for each");

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
  // Bits of the measures that belong to a set, or are a set's running time.
  std::uint32_t rotating() const { return rotating_; }
  // The bits of set `set`.
  std::uint32_t of_set(std::size_t set) const {
    return set < of_set_.size() ? of_set_[set] : 0;
  }

  // Returns `record` with its counters and present bits by measure; valid until
  // the next call. Requires: rotates(), record.counters != nullptr.
  logformat::EventRecord Spread(const logformat::EventRecord& record);

 private:
  logformat::EventSets sets_;
  std::size_t measures_;
  std::uint32_t rotating_ = 0;
  std::array<std::uint32_t, logformat::kMaxEventSets> of_set_{};
  std::array<std::uint64_t, kMaxMeasures> values_{};
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COUNTERS_EVENT_SET_DUMPS_H_
