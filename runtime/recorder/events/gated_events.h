// The events of a recording that counts one mode only: each counts user code or
// the kernel, as `:u` and `:k` behind its name say.
//
// In: events as the user chose them. Out: events of that mode, or what the
// machine cannot split. Thread: any.
#ifndef COUNTRACE_RUNTIME_RECORDER_EVENTS_GATED_EVENTS_H_
#define COUNTRACE_RUNTIME_RECORDER_EVENTS_GATED_EVENTS_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "logformat/gating.h"
#include "runtime/recorder/events/event_name.h"

namespace countrace::runtime {

// Clocks, switches, migrations and tracepoints: counted in the kernel, or
// always, whoever caused them.
bool IsSplitByMode(const EventSpec& event);

// Makes `events` count what `gating` counts; none at all if that is nothing.
// `chosen`: by name, else what cannot be split is left out without a word.
// `optional_from`: index of the first event that may be missing on this
// machine; moved with what is left out. Returns: INVALID_ARGUMENT an event that
// cannot be split, that counts the other mode, or that is in the set twice
// then.
absl::Status GateEvents(const logformat::Gating& gating, bool chosen,
                        std::vector<EventSpec>& events,
                        std::size_t& optional_from);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_EVENTS_GATED_EVENTS_H_
