// To whom the counts of an interval between two dumps of a CPU go.
//
// Usually one stay fills the interval and takes them all. Where the kernel does
// not show every switch, several stays share it, of which only the times are
// known (event switch_in). What cannot be told apart is unattributed: the sum
// over the accounts is the interval's count, always.
#ifndef COUNTRACE_RMAP_DISPATCH_INTERVAL_COUNTS_H_
#define COUNTRACE_RMAP_DISPATCH_INTERVAL_COUNTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "logformat/read/trace_reader.h"
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

// Adds what was charged up to an instant without a dump.
void AddUncounted(CpuState& cpu, const Charged& charged);
// The stay ends without a dump: its parts are not the next one's.
void EndParts(CpuState& cpu);

// Gives the counts since the last dump of `cpu` to `last`, the stay that ends
// with this one, and to the stays in `cpu.uncounted`, which it empties. Takes
// `record`'s counters as the new last ones. Of a counter that went back nobody
// knows what it counted: nothing is charged, and whoever was there has bounds
// only, as with `cpu.doubted`. Returns the bits of those that did. `rotating`:
// bits of the counters that are counted in turns: between a dump without one
// and the next with it nothing is charged.
std::uint32_t ChargeCounts(CpuState& cpu, const logformat::EventRecord& record,
                           std::span<const CounterKind> kinds,
                           const Charged& last, std::uint32_t rotating = 0);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_DISPATCH_INTERVAL_COUNTS_H_
