// The events of a recording that counts one mode only: each counts user code or
// the kernel, as `:u` and `:k` after its name do.
//
// In: the user's events. Out: events of that mode, or an error for an event
// that the machine cannot split. Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_EVENTS_GATED_EVENTS_H_
#define COUNTRACE_RUNTIME_RECORDER_EVENTS_GATED_EVENTS_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "logformat/rules/gating.h"
#include "runtime/recorder/events/event_name.h"

namespace countrace::runtime {

// False for clocks, switches, migrations and tracepoints: they are counted in
// the kernel, or always, whichever mode caused them.
bool IsSplitByMode(const EventSpec& event);

// Limits `events` to the execution that `gating` counts; removes all if it
// counts nothing. `chosen`: by name; otherwise events that cannot be split are
// removed silently. `optional_from`: index of the first event that may be
// missing on this machine; adjusted for removed events. Returns:
// INVALID_ARGUMENT an event that cannot be split, that counts the other mode,
// or that is then in the set twice.
absl::Status GateEvents(const logformat::Gating& gating, bool chosen,
                        std::vector<EventSpec>& events,
                        std::size_t& optional_from);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_EVENTS_GATED_EVENTS_H_
