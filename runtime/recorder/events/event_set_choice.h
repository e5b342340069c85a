// The events to count, and the ones that are multiplexed: `a,{b,c},{d}` is one
// event that always counts and two event sets that rotate.
//
// Thread: one at a time (as event_name.h).
#ifndef COUNTRACE_RUNTIME_RECORDER_EVENTS_EVENT_SET_CHOICE_H_
#define COUNTRACE_RUNTIME_RECORDER_EVENTS_EVENT_SET_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/event_sets.h"
#include "logformat/session_layout.h"
#include "runtime/recorder/events/event_name.h"

namespace countrace::runtime {

struct EventChoice {
  // Always-on events, then those of set 0, of set 1, and so on.
  std::vector<EventSpec> events;
  std::vector<std::size_t> set_sizes;  // empty: all always count

  logformat::EventSets sets(bool running_slot) const {
    return {events.size(), set_sizes, running_slot};
  }
};

// Two names of one event.
bool CountTheSame(const EventSpec& a, const EventSpec& b);

// "a,{b,c}" -> a, {b,c}. A comma between slashes or braces belongs to a name.
std::vector<std::string> SplitEvents(const std::vector<std::string>& lists);

// One entry for each event or `{...}`. A single `{...}` always counts.
// `running_slot`: of EventSets. Returns: INVALID_ARGUMENT as ParseEvent(); an
// unclosed brace; an empty set; an event given twice; more than fit in a dump
// or a session.
absl::StatusOr<EventChoice> ParseEventChoice(
    const std::vector<std::string>& texts, bool running_slot);

// The part of `choice` with the events for which `keep` is true. A set without
// events is removed; a single remaining set always counts.
EventChoice Keep(const EventChoice& choice, const std::vector<bool>& keep);

// "a,b": the events of a set.
std::string NamesOf(const EventChoice& choice, std::size_t set);

// The bytes of `.cpu_events`; empty if `control` has room for all.
std::string StoreCpuEvents(const EventChoice& choice,
                           logformat::SessionControl& control);
void StoreThreadEvents(const EventChoice& choice,
                       logformat::SessionControl& control);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_EVENTS_EVENT_SET_CHOICE_H_
