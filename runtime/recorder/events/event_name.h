// Event names as perf spells them -> perf_event_attr fields.
//
// Accepts software, hardware and cache names, rNNN, tracepoints
// (`system:event`) and PMU events (`pmu/term=value,.../`), with `:u` and `:k`.
// Other names are looked up in libpfm4 (`skl::UOPS_ISSUED:ANY`), then in
// vocabularies (vocabulary_event.h). Thread: one at a time. Parsing opens no
// event; event_list.h lists those that open here.
#ifndef COUNTRACE_RUNTIME_RECORDER_EVENTS_EVENT_NAME_H_
#define COUNTRACE_RUNTIME_RECORDER_EVENTS_EVENT_NAME_H_

#include <linux/perf_event.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/session_layout.h"

namespace countrace::runtime {

enum class EventKind { kSoftware, kHardware, kCache, kRaw, kTracepoint, kPmu };
// "software", "hardware", ...
const char* EventKindName(EventKind kind);

struct EventSpec {
  std::string name;  // as the user wrote it
  EventKind kind = EventKind::kSoftware;
  std::uint32_t type = 0;  // perf_event_attr.type
  std::uint64_t config = 0, config1 = 0, config2 = 0;
  bool exclude_user = false;
  bool exclude_kernel = false;
  // The only ones to count it on; empty: each. Ascending.
  std::vector<std::uint32_t> cpus = {};

  bool IsOn(std::uint32_t cpu) const {
    return cpus.empty() || std::binary_search(cpus.begin(), cpus.end(), cpu);
  }
  bool is_page_faults() const {
    return type == PERF_TYPE_SOFTWARE && config == PERF_COUNT_SW_PAGE_FAULTS;
  }
  // kExecRuntimeEvent: perf has none, so its dummy, which counts nothing,
  // stands for it where events are tried.
  bool is_exec_runtime() const {
    return type == PERF_TYPE_SOFTWARE && config == PERF_COUNT_SW_DUMMY;
  }
  // Counted by a PMU, which has few counters, not by the kernel's software.
  bool is_hardware() const {
    return type != PERF_TYPE_SOFTWARE && type != PERF_TYPE_TRACEPOINT;
  }
};

// Returns: INVALID_ARGUMENT unknown event, PMU, term or modifier (the message
// names it and `countrace list events`), or an event in libpfm4 for a PMU that
// this machine lacks; PERMISSION_DENIED a tracepoint whose tracefs cannot be
// read.
absl::StatusOr<EventSpec> ParseEvent(std::string_view name);

// All of `names` in order. Returns also: INVALID_ARGUMENT an event given twice
// or more than kMaxCounters.
absl::StatusOr<std::vector<EventSpec>> ParseEvents(
    const std::vector<std::string>& names);

logformat::SessionEvent ToSessionEvent(const EventSpec& event);
// The fields of `event` in an attr that is otherwise zero (disabled = 0).
perf_event_attr ToPerfAttr(const EventSpec& event);

// Names with a fixed meaning, in listing order (one for each event).
struct NamedEvent {
  std::string name;
  EventKind kind;
};
std::vector<NamedEvent> FixedEventNames();

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_EVENTS_EVENT_NAME_H_
