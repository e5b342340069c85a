// Attributes the counts of an interval between two dumps of a CPU.
//
// Usually one dispatch fills the interval and gets all counts. Where the kernel
// does not show every switch, several dispatches share it, with known times
// only (event switch_in). Counts that cannot be split are unattributed: the sum
// over the accounts is always the interval's count.
//
// Writes CpuState::counters, the counts of accounts, KernelCounts of threads
// and the slices of processes: what a row counted in one rotation of an event
// set on a CPU is a slice of that row (scaled_count.h; set_turns.cc). Thread:
// one.
#ifndef COUNTRACE_RMAP_DISPATCH_INTERVAL_COUNTS_H_
#define COUNTRACE_RMAP_DISPATCH_INTERVAL_COUNTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "logformat/records.h"
#include "rmap/counters/event_set_dumps.h"
#include "rmap/state/cpu_state.h"

namespace countrace::rmap {

enum class CounterKind : std::uint8_t {
  kClock,         // counts ns of the CPU: a dispatch's share is its time
  kRunTime,       // counts ns of threads; idle and interrupts have none
  kSwitches,      // one for each switch: a dispatch's share is 1
  kFaults,        // as many as fault records; an idle CPU has none
  kFaultsOfMode,  // the same, of one mode: at most as many
  kBusy,          // an idle CPU has none
  kOther,
};

// The kinds of the events, then of the running times of `sets` sets: clocks.
std::vector<CounterKind> CounterKinds(const std::vector<std::string>& events,
                                      std::size_t sets = 0);

inline bool IsSwitch(const logformat::EventRecord& record) {
  return record.event_id ==
         static_cast<std::uint16_t>(logformat::CpuEvent::kDispatch);
}

// Makes `record` the first dump of `cpu`. `rotating`: see AttributeCounts().
void BeginCounts(CpuState& cpu, const logformat::EventRecord& record,
                 std::size_t events, std::uint32_t rotating);
// The CPU was offline: closes its counts so far. BeginCounts() follows.
void EndCounts(CpuState& cpu, std::size_t events);
// From here on the dumps belong to another MMCR: no delta covers the change.
// Returns the bits of the counters that were counted before.
std::uint32_t ChangeCounts(CpuState& cpu, std::uint32_t mmcr,
                           std::size_t events);
// The next delta of these counters (bits) is only a lower bound.
void DoubtCounts(CpuState& cpu, std::uint32_t counters);
// A dispatch begins: its counts start at 0.
void BeginDispatchCounts(CpuState& cpu);

// `faults` records of `thread` (null: it is not counted) came since the last
// dump, while another thread had the CPU, or an unknown one.
void AddStrayFaults(CpuState& cpu, ThreadState* thread, std::uint64_t faults);
// Adds time that was attributed up to an instant without a dump.
void AddUncounted(CpuState& cpu, const AttributedInterval& attributed);
// The dispatch ends without a dump: its parts do not belong to the next one.
void EndParts(CpuState& cpu);

// The begin of the interval that the next dump covers, and `last` ends.
inline std::uint64_t BeginOf(const CpuState& cpu,
                             const AttributedInterval& last) {
  return cpu.counters.uncounted.empty()
             ? last.begin_ns
             : cpu.counters.uncounted.front().begin_ns;
}

// `count` is attributed to this interval by a dump that names no thread
// (UnconfirmedTime).
void NoteUnconfirmedCount(CpuState& cpu, const AttributedInterval& interval,
                          std::size_t event, std::uint64_t count);
// Its owner is not known after all.
void TakeBackCounts(CpuState& cpu, std::span<const CounterKind> kinds);

// Attributes the counts since the last dump of `cpu` to `last`, the dispatch
// that ends with this dump, and to the dispatches in `uncounted`, which it
// empties. `record`'s counters become the last ones. A counter that went back
// has an unknown count: nothing is attributed, and the threads that ran have
// lower bounds only, as with `doubted`. Returns the bits of these counters.
// `rotating`: bits of multiplexed counters; between a dump without such a
// counter and the next one with it, nothing is attributed.
std::uint32_t AttributeCounts(CpuState& cpu,
                              const logformat::EventRecord& record,
                              std::span<const CounterKind> kinds,
                              const AttributedInterval& last,
                              std::uint32_t rotating = 0);

// Ends the rotation of the set in force on `cpu`, if there is one.
void EndTurn(CpuState& cpu, const EventSetDumps& dumps);
// The same at the end of the trace: adds the slices that wait for the second
// rotation of their round.
void EndRounds(CpuState& cpu, const EventSetDumps& dumps);
// Called with each dump (Spread()) of the CPU before its counts are attributed:
// ends the rotation if another set, or none, is counted now.
void FollowTurn(CpuState& cpu, const EventSetDumps& dumps,
                const logformat::EventRecord& record);

// --- cut_counts.cc: intervals that an edge of the tables cuts ---------------
// The range begins: forgets all counts, and what happened since the last dump.
void CutCounts(CpuState& cpu, std::uint64_t time_ns);

// What a counter with value `value` at the first dump has counted since the
// tables began, as far as records show it.
std::uint64_t CountSinceCut(CpuState& cpu, CounterKind kind, std::size_t event,
                            std::uint64_t value,
                            const AttributedInterval& last);

// The range ends with `last`: attributes what records show of the counts since
// the last dump. `record` is the next one, perhaps with a dump.
void AttributeCountsUpTo(CpuState& cpu, const logformat::EventRecord& record,
                         std::span<const CounterKind> kinds,
                         const AttributedInterval& last,
                         std::uint32_t rotating);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_DISPATCH_INTERVAL_COUNTS_H_
