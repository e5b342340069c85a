// Turns of event sets on a CPU: what each row counted in one of them becomes a
// slice of that row (scaled_count.h).
//
// Thread: one.
#ifndef COUNTRACE_RMAP_COUNTERS_SET_TURNS_H_
#define COUNTRACE_RMAP_COUNTERS_SET_TURNS_H_

#include "rmap/counters/event_set_dumps.h"
#include "rmap/state/cpu_state.h"

namespace countrace::rmap {

// Ends the turn of the set in force on `cpu`, if there is one.
void EndTurn(CpuState& cpu, const EventSetDumps& dumps);

// Called with each dump (Spread()) of the CPU before it is charged: ends the
// turn if another set, or none, is counted now.
void FollowTurn(CpuState& cpu, const EventSetDumps& dumps,
                const logformat::EventRecord& record);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COUNTERS_SET_TURNS_H_
