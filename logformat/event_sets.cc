#include "logformat/event_sets.h"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace countrace::logformat {

std::size_t EventSets::always_on() const {
  return events - std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
}

std::size_t EventSets::largest() const {
  return rotates() ? *std::max_element(sizes.begin(), sizes.end()) : 0;
}

std::size_t EventSets::slots() const {
  if (!rotates()) return events;
  return always_on() + largest() + (running_slot ? 1 : 0);
}

std::size_t EventSets::first_event(std::size_t mmcr) const {
  const auto end =
      sizes.begin() + static_cast<std::ptrdiff_t>(std::min(mmcr, sizes.size()));
  return always_on() + std::accumulate(sizes.begin(), end, std::size_t{0});
}

std::optional<std::size_t> EventSets::SetOf(std::size_t event) const {
  std::size_t first = always_on();
  if (!rotates() || event < first) return std::nullopt;
  for (std::size_t set = 0; set + 1 < sizes.size(); ++set) {
    first += sizes[set];
    if (event < first) return set;
  }
  return sizes.size() - 1;
}

std::optional<std::size_t> EventSets::EventAt(std::size_t mmcr,
                                              std::size_t slot) const {
  if (slot < always_on()) return slot;
  if (mmcr >= sizes.size() || slot - always_on() >= sizes[mmcr]) {
    return std::nullopt;
  }
  return first_event(mmcr) + slot - always_on();
}

bool EventSets::valid() const {
  const auto in_sets =
      std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  return events <= (running_slot ? kMaxEvents : kMaxCounters) &&
         in_sets <= events &&
         sizes.size() <= (running_slot ? kMaxEventSets : kSessionEventSets) &&
         sizes.size() != 1 &&
         std::find(sizes.begin(), sizes.end(), 0u) == sizes.end() &&
         slots() <= (running_slot ? kMaxDumpValues : kMaxCounters);
}

std::string SetSizesText(const EventSets& sets) {
  std::string text;
  for (const std::size_t size : sets.sizes) {
    if (!text.empty()) text += ',';
    text += std::to_string(size);
  }
  return text;
}

std::optional<std::vector<std::size_t>> ParseSetSizes(std::string_view text) {
  std::vector<std::size_t> sizes;
  while (!text.empty()) {
    std::size_t size = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, size);
    if (parsed.ec != std::errc() || size == 0 || size > kMaxDumpValues ||
        text.front() == '0' || sizes.size() == kMaxEventSets) {
      return std::nullopt;
    }
    sizes.push_back(size);
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    if (text.empty()) break;
    if (text.front() != ',' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  return sizes;
}

std::string SetText(const EventSets& sets, std::size_t mmcr,
                    const std::vector<std::string>& names) {
  std::string text;
  const std::size_t first = sets.first_event(mmcr);
  for (std::size_t i = 0; i < sets.sizes[mmcr]; ++i) {
    if (i != 0) text += ',';
    if (first + i < names.size()) text += names[first + i];
  }
  return text;
}

}  // namespace countrace::logformat
