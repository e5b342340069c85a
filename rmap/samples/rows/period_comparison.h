// Do the two periods of a sampled event agree? If one of them beats with a loop
// of the program, it sees some of the loop's functions too often.
//
// In: Samples. Out: a test of homogeneity for each event that was sampled with
// two periods (Pearson's chi-squared). Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_ROWS_PERIOD_COMPARISON_H_
#define COUNTRACE_RMAP_SAMPLES_ROWS_PERIOD_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "rmap/result/samples.h"
#include "rmap/samples/names/frame_places.h"

namespace countrace::rmap {

// One comparison of a thousand is below, where the periods agree.
inline constexpr double kPeriodsDisagree = 0.001;

struct PeriodComparison {
  std::uint32_t event = 0;  // of Samples::events
  std::uint64_t hits[2] = {0, 0};
  double chi_squared = 0;
  // 0: there is nothing to compare, as fewer than two parts have enough hits.
  std::uint32_t degrees_of_freedom = 0;
  double p = 1;  // of such a difference, or a larger one, by chance
  // The part that differs most, "f" or "f, called by g", and its share of each
  // period's hits.
  std::string most;
  double share[2] = {0, 0};

  bool disagree() const { return p < kPeriodsDisagree; }
};

// Parts are functions of the program, the innermost of a stack that is not the
// kernel's, by the one that called it, where the test's rule allows it: at
// least 5 hits are expected of either period. What has fewer goes together.
// `chosen`: which of Samples::contexts count; empty: all. `places`: functions.
std::vector<PeriodComparison> ComparePeriods(
    const Samples& samples, FramePlaces& places,
    const std::vector<bool>& chosen = {});

// The test alone: of a part's hits by either period.
struct HitsOfPeriods {
  std::uint64_t hits[2] = {0, 0};
};
// Sets chi_squared, degrees_of_freedom and p. Returns: the index of the part
// that differs most. Requires: a hit of either period, and in each part.
std::size_t TestHomogeneity(const std::vector<HitsOfPeriods>& parts,
                            PeriodComparison& out);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_ROWS_PERIOD_COMPARISON_H_
