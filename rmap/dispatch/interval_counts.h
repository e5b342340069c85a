// To whom the counts of an interval between two dumps of a CPU go.
//
// Usually one stay fills the interval and takes them all. Where the kernel does
// not show every switch, several stays share it, of which only the times are
// known (event switch_in). What cannot be told apart is unattributed: the sum
// over the accounts is the interval's count, always.
//
// Writes CpuState::counters, the counts of accounts, KernelCounts of threads
// and the slices of processes: each turn of an event set on a CPU makes what a
// row counted in it a slice of that row (scaled_count.h; set_turns.cc). Thread:
// one.
#ifndef COUNTRACE_RMAP_DISPATCH_INTERVAL_COUNTS_H_
#define COUNTRACE_RMAP_DISPATCH_INTERVAL_COUNTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "rmap/counters/event_set_dumps.h"
#include "rmap/state/cpu_state.h"

namespace countrace::rmap {

enum class CounterKind : std::uint8_t {
  kClock,     // counts ns of the CPU: each stay's share is its time
  kSwitches,  // one for each switch: each stay's share is 1
  kFaults,    // what fault records say; an idle CPU takes none
  kBusy,      // an idle CPU takes none
  kOther,
};

// Of the events, then of the running times of `sets` sets: clocks.
std::vector<CounterKind> CounterKinds(const std::vector<std::string>& events,
                                      std::size_t sets = 0);

// Takes `record` as the first dump of `cpu`. `rotating`: as of ChargeCounts().
void BeginCounts(CpuState& cpu, const logformat::EventRecord& record,
                 std::size_t events, std::uint32_t rotating);
// The CPU was gone: closes what it counted before, which BeginCounts() follows.
void EndCounts(CpuState& cpu, std::size_t events);
// The dumps are those of another MMCR from here on: no delta reaches back.
// Returns the bits of the counters that were counted before.
std::uint32_t ChangeCounts(CpuState& cpu, std::uint32_t mmcr,
                           std::size_t events);
// The next delta of these counters (bits) is only a lower bound.
void DoubtCounts(CpuState& cpu, std::uint32_t counters);
// A dispatch begins: nothing is counted in it so far.
void BeginDispatchCounts(CpuState& cpu);

// Adds what was charged up to an instant without a dump.
void AddUncounted(CpuState& cpu, const Charged& charged);
// The stay ends without a dump: its parts are not the next one's.
void EndParts(CpuState& cpu);

// Gives the counts since the last dump of `cpu` to `last`, the stay that ends
// with this one, and to the stays in `uncounted`, which it empties. Takes
// `record`'s counters as the new last ones. What a counter that went back has
// counted is unknown: nothing is charged, and who was there has bounds only, as
// with `doubted`. Returns the bits of those that did. `rotating`:
// bits of the counters that are counted in turns: between a dump without one
// and the next with it nothing is charged.
std::uint32_t ChargeCounts(CpuState& cpu, const logformat::EventRecord& record,
                           std::span<const CounterKind> kinds,
                           const Charged& last, std::uint32_t rotating = 0);

// Ends the turn of the set in force on `cpu`, if there is one.
void EndTurn(CpuState& cpu, const EventSetDumps& dumps);
// Called with each dump (Spread()) of the CPU before it is charged: ends the
// turn if another set, or none, is counted now.
void FollowTurn(CpuState& cpu, const EventSetDumps& dumps,
                const logformat::EventRecord& record);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_DISPATCH_INTERVAL_COUNTS_H_
