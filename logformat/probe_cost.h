// What a probe (uprobe, return probe, USDT probe, on a function of the kernel)
// takes from the thread that hits it, as the recorder measured it on that
// machine.
#ifndef COUNTRACE_LOGFORMAT_PROBE_COST_H_
#define COUNTRACE_LOGFORMAT_PROBE_COST_H_

#include <cstdint>

namespace countrace::logformat {

// The cost of one call of a segment (its enter and its exit), or of one hit of
// a point.
struct ProbeCost {
  // ns: the median, and the limits of the cost of a call elsewhere.
  struct Range {
    std::uint32_t ns = 0, lo = 0, hi = 0;
    bool operator==(const Range&) const = default;
  };
  static constexpr std::uint32_t kUnknown = 0xffffffff;

  // Between the times of the two records, so in the segment's own time; and
  // before and after them, so in the time of the code around it. A point has
  // the second one only.
  Range inside, outside;

  bool operator==(const ProbeCost&) const = default;
};

// It could not be measured: any cost is possible.
inline constexpr ProbeCost kUnknownProbeCost = {{0, 0, ProbeCost::kUnknown},
                                                {0, 0, ProbeCost::kUnknown}};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_PROBE_COST_H_
