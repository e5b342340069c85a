// Whether events can be counted at the same time, found by trying it. A PMU has
// few counters, some events fit only some of them, and only the kernel has the
// list of used ones.
//
// Each trial opens, enables and closes a group of perf events on one CPU. Only
// events of a PMU (EventSpec::is_hardware) matter. Thread: any. Used before a
// recording (countable_events.h) and by `countrace doctor`.
#ifndef COUNTRACE_RUNTIME_RECORDER_EVENTS_COUNTER_TRIAL_H_
#define COUNTRACE_RUNTIME_RECORDER_EVENTS_COUNTER_TRIAL_H_

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/recorder/events/event_name.h"
#include "runtime/recorder/events/event_set_choice.h"

namespace countrace::runtime {

// Where the events are tried.
struct TrialPlace {
  int tid = -1;                 // -1: all threads of the CPU; 0: this thread
  int cpu = 0;                  // -1 with this thread
  bool exclude_kernel = false;  // in addition to the events' own
};

// errno of opening `event` alone; 0: it opens.
int TryAlone(const EventSpec& event, const TrialPlace& place);

struct TrialResult {
  bool counts = false;  // all of them at once
  // Otherwise the index of the event that did not open beside the earlier ones,
  // and its errno; 0 if all opened but the PMU did not take the group.
  std::size_t refused = 0;
  int error = 0;
};
TrialResult TryTogether(const std::vector<EventSpec>& events,
                        const TrialPlace& place);

// The number of counters that the PMU has free now: the largest number of usual
// hardware events that count at once; an event may be repeated. 0: no PMU.
std::size_t CountFreeCounters(const TrialPlace& place);

// Indices of the `events` that count at once if they are opened in this order.
std::vector<std::size_t> FittingTogether(const std::vector<EventSpec>& events,
                                         const TrialPlace& place);

// `choice` in a form that fits, for -e: a set that does not fit is split into
// the fewest (counter_sets.h); without sets, the hardware events are made sets.
// Events that never fit are left out.
std::vector<std::string> InRotation(const EventChoice& choice,
                                    const TrialPlace& place);

// Indices of the events that count at the same time as set `set`, the always-on
// ones first; without sets, all.
std::vector<std::size_t> CountedWith(const logformat::EventSets& sets,
                                     std::size_t set);

// The reason why an event set is refused: "{a,b,c} cannot be counted at once:
// counters needed=3 free=2 (...)". `result`: of trying `tried`, the set's
// events and the always-on ones, at `place`. Names the smallest part that
// cannot be counted, and a Disagreement().
std::string DescribeRefusal(const EventChoice& choice, std::size_t set,
                            const std::vector<EventSpec>& tried,
                            const TrialResult& result, const TrialPlace& place);

// "; their vocabulary says ...": it and the kernel, whose answer is `counts`,
// differ on `tried`. Empty: they agree, or no vocabulary has all.
std::string Disagreement(const std::vector<EventSpec>& tried, bool counts);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_EVENTS_COUNTER_TRIAL_H_
