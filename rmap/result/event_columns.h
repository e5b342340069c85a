// The events of a report: every row has one count for each, in this order.
#ifndef COUNTRACE_RMAP_RESULT_EVENT_COLUMNS_H_
#define COUNTRACE_RMAP_RESULT_EVENT_COLUMNS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace countrace::rmap {

// The source of a segment's count of an event.
enum class SegmentSource : std::uint8_t {
  kNone,         // no data in the trace
  kOnCpuTime,    // task-clock, cpu-clock: time between dispatch records
  kSwitches,     // context-switches: dispatch records that left the CPU inside
  kFaults,       // page-faults: fault records inside
  kThreadDumps,  // counters read at the hooks
  kKernelDumps   // the CPU's counters, dumped by the kernel at its hooks
};

struct EventColumn {
  std::string name;
  bool scaled = false;  // multiplexed: counts are estimates
  SegmentSource segment_source = SegmentSource::kNone;
};
using EventColumns = std::vector<EventColumn>;

// Absent: no column has this name.
inline std::optional<std::size_t> EventIndex(const EventColumns& events,
                                             std::string_view name) {
  const auto at = std::find_if(
      events.begin(), events.end(),
      [name](const EventColumn& event) { return event.name == name; });
  if (at == events.end()) return std::nullopt;
  return static_cast<std::size_t>(at - events.begin());
}

inline std::vector<std::string> EventNames(const EventColumns& events) {
  std::vector<std::string> names;
  names.reserve(events.size());
  for (const EventColumn& event : events) names.push_back(event.name);
  return names;
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_RESULT_EVENT_COLUMNS_H_
