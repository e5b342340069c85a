// The slices of one row (scaled_count.h), by event. Only the events that were
// counted while the row ran are in it: of many sets, a thread that lives
// briefly sees few.
//
// Thread: one.
#ifndef COUNTRACE_RMAP_STATE_EVENT_SLICES_H_
#define COUNTRACE_RMAP_STATE_EVENT_SLICES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rmap/result/scaled_count.h"

namespace countrace::rmap {

class EventSlices {
 public:
  struct Entry {
    std::uint32_t event;
    SliceSums sums;
  };

  // Null: no rotation in which the row ran counted the event.
  const SliceSums* Find(std::size_t event) const {
    const auto at = Place(event);
    return at != entries_.end() && at->event == event ? &at->sums : nullptr;
  }
  SliceSums& At(std::size_t event) {
    auto at = Place(event);
    if (at == entries_.end() || at->event != event) {
      at = entries_.insert(at, {static_cast<std::uint32_t>(event), {}});
    }
    return entries_[static_cast<std::size_t>(at - entries_.cbegin())].sums;
  }
  // In ascending order of events.
  const std::vector<Entry>& entries() const { return entries_; }
  void clear() { entries_.clear(); }

 private:
  std::vector<Entry>::const_iterator Place(std::size_t event) const {
    return std::lower_bound(
        entries_.begin(), entries_.end(), event,
        [](const Entry& entry, std::size_t at) { return entry.event < at; });
  }

  std::vector<Entry> entries_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_EVENT_SLICES_H_
