#include "rmap/counters/event_set_dumps.h"

#include <utility>

namespace countrace::rmap {

EventSetDumps::EventSetDumps(logformat::EventSets sets)
    : sets_(std::move(sets)),
      measures_(sets_.events + (sets_.running_slot ? sets_.sizes.size() : 0)),
      always_on_(sets_.always_on()),
      slots_(sets_.slots()),
      of_set_(sets_.sizes.size()),
      values_(measures_) {
  for (std::size_t set = 0; set < sets_.sizes.size(); ++set) {
    first_events_.push_back(sets_.first_event(set));
    for (std::size_t i = 0; i < sets_.sizes[set]; ++i) {
      of_set_[set].Add(first_event(set) + i);
    }
    if (sets_.running_slot) of_set_[set].Add(running_of(set));
    rotating_ |= of_set_[set];
  }
}

std::vector<std::size_t> EventSetDumps::running_places() const {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; rotates() && i < sets_.events; ++i) {
    places.push_back(running_of(sets_.SetOf(i).value_or(0)));
  }
  return places;
}

logformat::EventRecord EventSetDumps::Spread(
    const logformat::EventRecord& record) {
  logformat::EventRecord spread = record;
  present_ = MeasureSet();
  std::uint32_t multiplexed = 0;
  const bool known = record.mmcr < sets_.sizes.size();
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    if (!(record.present >> slot & 1u)) continue;
    std::size_t at = slot;
    if (slot >= always_on_) {
      if (!known) break;
      const std::size_t in_set = slot - always_on_;
      if (sets_.running_slot && slot + 1 == slots_) {
        at = running_of(record.mmcr);
      } else if (in_set < sets_.sizes[record.mmcr]) {
        at = first_event(record.mmcr) + in_set;
      } else {
        continue;
      }
    }
    values_[at] = record.counters[slot];
    present_.Add(at);
    // Thread dumps: perf multiplexed this counter.
    if (!sets_.running_slot && record.present >> (16 + slot) & 1u) {
      multiplexed |= 1u << (16 + at);
    }
  }
  // The counts of a set without its running time cannot be used.
  if (sets_.running_slot && known && !present_.Has(running_of(record.mmcr))) {
    present_ -= of_set(record.mmcr);
  }
  // Two rotations of one set in a row differ.
  if (!sets_.running_slot &&
      (record.present & logformat::kOddRotationBit) != 0) {
    spread.mmcr |= 1u << 31;
  }
  spread.present = static_cast<std::uint32_t>(present_.word(0)) | multiplexed;
  spread.counters = values_.data();
  return spread;
}

}  // namespace countrace::rmap
