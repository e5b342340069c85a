// Multiplexed event sets: which event each value of a dump belongs to.
//
// A session's events are listed once: first the always-on events, then those of
// set 0, of set 1, and so on. A dump of set k holds the always-on values, then
// the set's, then unused ones up to the size of the largest set. A CPU's dump
// has one value more: the time that set k was counted so far (FORMAT.md, 4.5).
// Without sets a dump holds one value for each event.
#ifndef COUNTRACE_LOGFORMAT_EVENT_SETS_H_
#define COUNTRACE_LOGFORMAT_EVENT_SETS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "logformat/packet_layout.h"

namespace countrace::logformat {

struct EventSets {
  std::size_t events = 0;          // of the session: always-on and in sets
  std::vector<std::size_t> sizes;  // of set 0, 1, ...; empty: no multiplexing
  bool running_slot = false;       // dumps end with the set's running time

  bool rotates() const { return !sizes.empty(); }
  std::size_t always_on() const;
  // Number of values in a dump; the same for every set.
  std::size_t slots() const;
  std::size_t largest() const;
  // Index of the first event of set `mmcr`.
  std::size_t first_event(std::size_t mmcr) const;
  // Set of an event; nullopt: it is always on.
  std::optional<std::size_t> SetOf(std::size_t event) const;
  // Event of a value of a dump of set `mmcr`; nullopt: unused, no such set, or
  // the running time.
  std::optional<std::size_t> EventAt(std::size_t mmcr, std::size_t slot) const;
  // False: more sets, events or values than the format allows (other limits
  // with a running slot: dumps of CPUs), an empty set, or a single set.
  bool valid() const;
};

// True if `.session` has no place for so many events or sets of CPUs: they are
// in `.cpu_events`, and the trace has a newer format.
inline bool AreMany(std::size_t events, std::size_t sets) {
  return events > kSessionEvents || sets > kSessionEventSets;
}

// "2,3": the sizes, as in the env block; "" without sets.
std::string SetSizesText(const EventSets& sets);
// Inverse; nullopt if `text` is not a list of sizes.
std::optional<std::vector<std::size_t>> ParseSetSizes(std::string_view text);

// "cycles,instructions": the events of set `mmcr` among all `names`.
std::string SetText(const EventSets& sets, std::size_t mmcr,
                    const std::vector<std::string>& names);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_EVENT_SETS_H_
