// Calls that the tree of call paths has no node for, because it is full or they
// are nested too deeply: their sums by segment. Folding loses where they were
// made, not how many they are. Thread: one.
#ifndef COUNTRACE_RMAP_STATE_FOLDED_CALLS_H_
#define COUNTRACE_RMAP_STATE_FOLDED_CALLS_H_

#include <cstdint>
#include <map>

#include "rmap/state/statistics.h"

namespace countrace::rmap {

struct CallAmounts {
  std::uint64_t wall_ns = 0, on_cpu_ns = 0, switches = 0, faults = 0;

  void Add(const CallAmounts& more) {
    wall_ns += more.wall_ns;
    on_cpu_ns += more.on_cpu_ns;
    switches += more.switches;
    faults += more.faults;
  }
  void Subtract(const CallAmounts& less) {
    wall_ns -= less.wall_ns;
    on_cpu_ns -= less.on_cpu_ns;
    switches -= less.switches;
    faults -= less.faults;
  }
};

struct FoldedCall {
  CallAmounts amounts;
  bool end_inferred = false, on_cpu_exact = true;
  bool cut = false;  // it began before the tables' range
};

// The folded calls of one segment.
struct FoldedCalls {
  std::uint64_t calls = 0, begin_inferred = 0, end_inferred = 0;
  // Calls beyond the depth limit are counted without their times, which the
  // calls around them keep.
  bool times_bounded = false;
  DurationStatistics wall;  // of each call with times
  // As for nodes, without calls inside a call of the same segment. An inner
  // call is subtracted from `excl` before the outer one is added, so
  // intermediate values may have wrapped.
  CallAmounts incl, excl;
  bool on_cpu_exact = true;
};
using FoldedBySegment = std::map<std::uint32_t, FoldedCalls>;  // by hook id

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_FOLDED_CALLS_H_
