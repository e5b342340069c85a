// Which events count at once, and the fewest sets in which all of them do. One
// search for every machine: a judge answers whether some events fit, from the
// rules of a vocabulary or by trying it (counter_trial.h).
//
// Thread: any; no state but the judge's.
#ifndef COUNTRACE_RUNTIME_RECORDER_EVENTS_COUNTER_SETS_H_
#define COUNTRACE_RUNTIME_RECORDER_EVENTS_COUNTER_SETS_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "logformat/vocabularies/vocabulary.h"

namespace countrace::runtime {

// Indices of events. Requires of a judge: a part of what fits fits.
using EventIndices = std::vector<std::size_t>;
using Judge = std::function<bool(const EventIndices& events)>;

// Splits `events` into sets that fit, in the order of the indices. An event
// that does not fit alone is left out. The fewest sets up to kExactEvents; of
// more, each goes into the first set that takes it (after 5,000 questions to
// the judge, into the last or a new one), so put those first that few counters
// take.
inline constexpr std::size_t kExactEvents = 12;
std::vector<EventIndices> FewestSets(const EventIndices& events,
                                     const Judge& fits);

// The smallest part of `events` that does not fit; empty: all fit, or it is not
// found with 5,000 questions to the judge.
EventIndices SmallestConflict(const EventIndices& events, const Judge& fits);

// The rules of a PMU: the rows of events (logformat::FindEvent()) of which one
// each can be chosen so that every event has a counter of its own, and every
// unit one group.
using EventRows = std::vector<logformat::VocabularyEvent>;
bool CountTogether(const std::vector<EventRows>& events);
// The number of counters and groups that an event can choose from.
std::size_t ChoicesOf(const EventRows& rows);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_EVENTS_COUNTER_SETS_H_
