// Whether events can be counted at the same time, found out by doing it: a PMU
// has few counters, some events fit into some of them only, and which of them
// others hold, only the kernel knows.
//
// Each trial opens, switches on and closes a group of perf events on one CPU;
// of the events only those of a PMU (EventSpec::is_hardware) matter. Thread:
// any. Used before a recording (countable_events.h) and by `countrace doctor`.
#ifndef COUNTRACE_RUNTIME_RECORDER_EVENTS_COUNTER_TRIAL_H_
#define COUNTRACE_RUNTIME_RECORDER_EVENTS_COUNTER_TRIAL_H_

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/recorder/events/event_name.h"
#include "runtime/recorder/events/event_set_choice.h"

namespace countrace::runtime {

// Whose events are tried.
struct TrialPlace {
  int tid = -1;                 // -1: all threads of the CPU; 0: the own thread
  int cpu = 0;                  // -1 with the own thread
  bool exclude_kernel = false;  // besides what the events say
};

// errno of opening `event` alone; 0: it opens.
int TryAlone(const EventSpec& event, const TrialPlace& place);

struct TrialResult {
  bool counts = false;  // all of them, at once
  // Otherwise the event that would not open beside those before it, and its
  // errno; 0 if all opened but the PMU did not take the group.
  std::size_t refused = 0;
  int error = 0;
};
TrialResult TryTogether(const std::vector<EventSpec>& events,
                        const TrialPlace& place);

// How many counters the PMU gives now: the largest number of usual hardware
// events, the same one again and again if it may be, that count at once. 0: no
// PMU.
std::size_t CountFreeCounters(const TrialPlace& place);

// Those of `events` that count at once if asked for in this order, by index.
std::vector<std::size_t> FittingTogether(const std::vector<EventSpec>& events,
                                         const TrialPlace& place);

// `choice` as it would fit, for -e: its sets that do not are split into
// several, and if there are none, its hardware events are made sets. Events
// that do not fit in any case are left out.
std::string InTurns(const EventChoice& choice, const TrialPlace& place);

// Indices of the events that are counted at the same time as set `set`, those
// always on first; without sets all.
std::vector<std::size_t> CountedWith(const logformat::EventSets& sets,
                                     std::size_t set);

// Why an event set is refused: "{a,b,c} cannot be counted at once: counters
// needed=3 free=2 (...)". `result`: of trying `tried`, the set's events and
// those always on. `free_counters`: CountFreeCounters().
std::string DescribeRefusal(const EventChoice& choice, std::size_t set,
                            const std::vector<EventSpec>& tried,
                            const TrialResult& result,
                            std::size_t free_counters);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_EVENTS_COUNTER_TRIAL_H_
