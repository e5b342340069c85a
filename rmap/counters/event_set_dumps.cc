#include "rmap/counters/event_set_dumps.h"

#include <optional>
#include <utility>

namespace countrace::rmap {

EventSetDumps::EventSetDumps(logformat::EventSets sets)
    : sets_(std::move(sets)),
      measures_(sets_.events + (sets_.running_slot ? sets_.sizes.size() : 0)) {
  for (std::size_t set = 0; set < sets_.sizes.size(); ++set) {
    for (std::size_t i = 0; i < sets_.sizes[set]; ++i) {
      of_set_[set] |= 1u << (sets_.first_event(set) + i);
    }
    if (sets_.running_slot) of_set_[set] |= 1u << running_of(set);
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
  spread.present = 0;
  const std::size_t slots = sets_.slots();
  for (std::size_t slot = 0; slot < slots; ++slot) {
    if (!(record.present >> slot & 1u)) continue;
    std::optional<std::size_t> at = sets_.EventAt(record.mmcr, slot);
    if (sets_.running_slot && slot + 1 == slots &&
        record.mmcr < sets_.sizes.size()) {
      at = running_of(record.mmcr);
    }
    if (!at) continue;
    values_[*at] = record.counters[slot];
    spread.present |= 1u << *at;
    // Thread dumps: perf multiplexed this counter.
    if (!sets_.running_slot && record.present >> (16 + slot) & 1u) {
      spread.present |= 1u << (16 + *at);
    }
  }
  // The counts of a set without its running time cannot be used.
  if (sets_.running_slot && record.mmcr < sets_.sizes.size() &&
      !(spread.present >> running_of(record.mmcr) & 1u)) {
    spread.present &= ~of_set(record.mmcr);
  }
  spread.counters = values_.data();
  return spread;
}

}  // namespace countrace::rmap
