// Sums and limits of intervals that hold a truth, for the bounds of rows.
//
// Bounds::kNone is no upper limit, and stays it. Thread: any; no state.
#ifndef COUNTRACE_RMAP_TABLES_INPUT_INTERVAL_ARITHMETIC_H_
#define COUNTRACE_RMAP_TABLES_INPUT_INTERVAL_ARITHMETIC_H_

#include <algorithm>
#include <cstdint>

#include "rmap/result/bounds.h"
#include "rmap/result/scaled_count.h"
#include "rmap/state/unseen_state.h"

namespace countrace::rmap {

inline Bounds Around(std::uint64_t value, std::uint64_t less,
                     std::uint64_t more) {
  return {Less(value, less), AddBounded(value, more)};
}

inline Bounds AtMost(Bounds bounds, std::uint64_t hi) {
  return {std::min(bounds.lo, hi), std::min(bounds.hi, hi)};
}

// No more than `most`, but what was counted.
inline Bounds Capped(Bounds bounds, std::uint64_t value, std::uint64_t most) {
  bounds.hi = std::max(value, std::min(bounds.hi, most));
  return bounds;
}

// The same. A time for which the others leave no room is not sure: something
// was lost without a word.
inline Bounds WithRoom(Bounds bounds, std::uint64_t value, std::uint64_t most) {
  bounds = Capped(bounds, value, most);
  bounds.lo = std::min(bounds.lo, most);
  return bounds;
}

// whole - part.
inline Bounds Rest(Bounds whole, Bounds part) {
  return {Less(whole.lo, part.hi),
          whole.hi == Bounds::kNone ? Bounds::kNone : Less(whole.hi, part.lo)};
}

// What was counted, at least.
inline Bounds IntervalOf(const ScaledCount& scaled) {
  const auto interval = scaled.Interval95();
  if (!interval) return {scaled.counted, Bounds::kNone};
  return {interval->lo, interval->hi};
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_INPUT_INTERVAL_ARITHMETIC_H_
