// Perf's names of events.
#ifndef COUNTRACE_RMAP_METRICS_EVENT_NAMES_H_
#define COUNTRACE_RMAP_METRICS_EVENT_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace countrace::rmap::metrics {

// Perf's generic events: hardware, software and cache, in one spelling each.
const std::vector<std::string>& GenericEvents();
// One name for all spellings of an event: "cs:u" -> "context-switches:u".
std::string CanonicalEvent(std::string_view name);
// A generic event with or without a modifier, a raw code (r01c2), a tracepoint
// or a vendor's event (with ':' or '/').
bool IsEventName(std::string_view name);

}  // namespace countrace::rmap::metrics

#endif  // COUNTRACE_RMAP_METRICS_EVENT_NAMES_H_
