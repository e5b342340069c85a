// Intervals that hold a truth: the limits of a number, and sums of them.
//
// Thread: any; no state.
#ifndef COUNTRACE_RMAP_RESULT_LIMITS_H_
#define COUNTRACE_RMAP_RESULT_LIMITS_H_

#include <algorithm>
#include <cstdint>

namespace countrace::rmap {

struct Bounds {
  // As a limit or an amount: there is none. It stays that in all sums.
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t lo = 0, hi = kNone;
};

constexpr std::uint64_t AddBounded(std::uint64_t a, std::uint64_t b) {
  return a > Bounds::kNone - b ? Bounds::kNone : a + b;
}
// No amount is negative.
constexpr std::uint64_t Less(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : 0;
}

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

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_RESULT_LIMITS_H_
