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

inline bool IsFaults(CounterKind kind) {
  return kind == CounterKind::kFaults || kind == CounterKind::kFaultsOfMode;
}

// The kinds of the events, then of the running times of `sets` sets: clocks.
std::vector<CounterKind> CounterKinds(const std::vector<std::string>& events,
                                      std::size_t sets = 0);

inline bool IsSwitch(const logformat::EventRecord& record) {
  return record.event_id ==
         static_cast<std::uint16_t>(logformat::CpuEvent::kDispatch);
}

// A record of a CPU, perhaps with a dump, whose counters are by measure.
struct MeasuredDump {
  const logformat::EventRecord& record;
  // The measures in its dump; null: as the record's present bits say.
  const MeasureSet* present = nullptr;

  // Measures 64 * index to 64 * index + 63 that are in it, as bits.
  std::uint64_t word(std::size_t index) const {
    if (record.counters == nullptr) return 0;
    if (present != nullptr) return present->word(index);
    return index == 0 ? record.present : 0;
  }
  bool Has(std::size_t measure) const {
    return (word(measure / MeasureSet::kWordBits) >>
                (measure % MeasureSet::kWordBits) &
            1u) != 0;
  }
};

// Makes `dump` the first one of `cpu`. `rotating`: see AttributeCounts().
void BeginCounts(CpuState& cpu, const MeasuredDump& dump, std::size_t events,
                 const MeasureSet& rotating);
// The CPU was offline: closes its counts so far. BeginCounts() follows.
void EndCounts(CpuState& cpu, std::size_t events);
// From here on the dumps belong to another MMCR: no delta covers the change.
// Returns the counters that were counted before.
MeasureSet ChangeCounts(CpuState& cpu, std::uint32_t mmcr, std::size_t events);
// The next delta of these counters is only a lower bound.
void DoubtCounts(CpuState& cpu, const MeasureSet& counters);
// A dispatch begins: its counts start at 0.
void BeginDispatchCounts(CpuState& cpu, std::size_t events);

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
// empties. Its counters become the last ones. A counter that went back has an
// unknown count: nothing is attributed, and the threads that ran have lower
// bounds only, as with `doubted`. Adds these counters to `went_back`, and
// returns whether there are any. `rotating`: the multiplexed counters; between
// a dump without such a counter and the next one with it, nothing is
// attributed.
bool AttributeCounts(CpuState& cpu, const MeasuredDump& dump,
                     std::span<const CounterKind> kinds,
                     const AttributedInterval& last, const MeasureSet& rotating,
                     MeasureSet& went_back);

// Ends the rotation of the set in force on `cpu`, if there is one.
void EndTurn(CpuState& cpu, const EventSetDumps& dumps);
// The same at the end of the trace: adds the slices that wait for the second
// rotation of their round.
void EndRounds(CpuState& cpu, const EventSetDumps& dumps);
// Called with each dump (Spread()) of the CPU before its counts are attributed:
// ends the rotation if another set, or none, is counted now.
void FollowTurn(CpuState& cpu, const EventSetDumps& dumps,
                const MeasuredDump& dump);

// --- cut_counts.cc: intervals that an edge of the tables cuts ---------------
// The range begins: forgets all counts, and what happened since the last dump.
void CutCounts(CpuState& cpu, std::uint64_t time_ns);

// What a counter with value `value` at the first dump has counted since the
// tables began, as far as records show it.
std::uint64_t CountSinceCut(CpuState& cpu, CounterKind kind, std::size_t event,
                            std::uint64_t value,
                            const AttributedInterval& last);

// The range ends with `last`: attributes what records show of the counts since
// the last dump. `next`: of the next record, perhaps with a dump. `at_edge`:
// it has the time at which the range ends, so that all it counted is inside.
void AttributeCountsUpTo(CpuState& cpu, const MeasuredDump& next,
                         std::span<const CounterKind> kinds,
                         const AttributedInterval& last,
                         const MeasureSet& rotating, bool at_edge);

// A pause lies in the interval that ends with `last` and `dump`: the same, and
// what else it counted is skipped. `all_paused`: the pause fills it; `paused`:
// it goes on. Requires: no rotation is open (EndTurn()).
void AttributeCountsOutside(CpuState& cpu, const MeasuredDump& dump,
                            std::span<const CounterKind> kinds,
                            const AttributedInterval& last,
                            const MeasureSet& rotating, bool all_paused,
                            bool paused);
// A switch of a pause that is counted behind the last dump.
void SkipSwitch(CpuState& cpu, std::size_t event);

// The CPU has no last dump: attributes the page faults since the last one that
// have a record. `rotating`: see AttributeCounts(). Returns which counters have
// moved on so.
MeasureSet AttributeRecordedFaults(CpuState& cpu,
                                   std::span<const CounterKind> kinds,
                                   const MeasureSet& rotating);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_DISPATCH_INTERVAL_COUNTS_H_
