// The width of a counter, after which it wraps to 0, and its highest rate.
//
// Counters of the kernel's perf events are 64 bits wide on any hardware.
// Hardware counters that are read directly are narrower: 32 bits on POWER2, 40
// or 48 on others. A trace stores the width of each event that has fewer than
// 64 bits (FORMAT.md, 4.7). Thread: any.
#ifndef COUNTRACE_LOGFORMAT_COUNTER_LIMIT_H_
#define COUNTRACE_LOGFORMAT_COUNTER_LIMIT_H_

#include <cstdint>
#include <optional>

namespace countrace::logformat {

inline constexpr std::uint32_t kCounterBits = 64;

struct CounterLimit {
  std::uint32_t width =
      kCounterBits;              // bits, 1 to 64; values are modulo 2^width
  std::uint64_t per_second = 0;  // highest rate; 0: not known

  bool narrow() const { return width < kCounterBits; }
  bool any() const { return narrow() || per_second != 0; }
  std::uint64_t mask() const {
    return narrow() ? (std::uint64_t{1} << width) - 1 : ~std::uint64_t{0};
  }
  // The most it can count in `ns`, rounded up.
  __extension__ unsigned __int128 Most(std::uint64_t ns) const {
    __extension__ using Wide = unsigned __int128;
    return (Wide{per_second} * ns + 999'999'999) / 1'000'000'000;
  }
  // Time in which it can count 2^width, rounded down. The number of wraps
  // between two values further apart is unknown. nullopt: longer than any
  // trace, or the highest rate is not known.
  std::optional<std::uint64_t> WrapNs() const {
    __extension__ using Wide = unsigned __int128;
    if (per_second == 0) return std::nullopt;
    const Wide ns = (Wide{mask()} + 1) * 1'000'000'000 / per_second;
    if (ns > Wide{~std::uint64_t{0}}) return std::nullopt;
    return static_cast<std::uint64_t>(ns);
  }
  friend bool operator==(const CounterLimit&, const CounterLimit&) = default;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_COUNTER_LIMIT_H_
