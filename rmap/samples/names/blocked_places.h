// Names where threads were blocked, for rows of wakers.
//
// In: Report::samples and the stacks in WakerRow::places. Out: their functions.
// Thread: one.
#ifndef COUNTRACE_RMAP_SAMPLES_NAMES_BLOCKED_PLACES_H_
#define COUNTRACE_RMAP_SAMPLES_NAMES_BLOCKED_PLACES_H_

#include "rmap/result/tables.h"

namespace countrace::rmap {

// Sets BlockedPlace::functions, and joins places with the same ones; most time
// first.
void NameBlockedPlaces(Report& report);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_NAMES_BLOCKED_PLACES_H_
