// How often 95 % intervals of estimates hold the truth, and how wide they are.
#ifndef COUNTRACE_TESTS_RMAP_INTERVAL_COVERAGE_H_
#define COUNTRACE_TESTS_RMAP_INTERVAL_COVERAGE_H_

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "rmap/result/scaled_count.h"

namespace countrace::test_support {

struct IntervalCoverage {
  int intervals = 0, held = 0, below = 0, above = 0;
  double off = 0, true_sum = 0, reach = 0;
  double wrong = 0, stated = 0;  // sums of squares

  void Add(const rmap::ScaledCount& count, std::uint64_t truth) {
    const auto interval = count.Interval95();
    if (!interval) return;
    ++intervals;
    below += truth < interval->lo ? 1 : 0;
    above += truth > interval->hi ? 1 : 0;
    held += interval->lo <= truth && truth <= interval->hi ? 1 : 0;
    const double error =
        static_cast<double>(count.value) - static_cast<double>(truth);
    off += error;
    wrong += error * error;
    stated += *count.standard_error * *count.standard_error;
    reach += static_cast<double>(interval->hi - interval->lo) / 2;
    true_sum += static_cast<double>(truth);
  }
  double percent() const { return 100.0 * held / intervals; }
  void Print(const char* name) const {
    std::printf(
        "%-28s %5d intervals: %.1f %% hold the truth (it is below %.1f %%, "
        "above %.1f %%), +-%.1f %% on average, stated error %.2f x the true "
        "one, "
        "bias %+.2f %%\n",
        name, intervals, percent(), 100.0 * below / intervals,
        100.0 * above / intervals, 100 * reach / true_sum,
        std::sqrt(stated / wrong), 100 * off / true_sum);
  }
  // `most`: more where time is in no rotation, since it may lack events.
  void Check(double most = 97) const {
    CHECK(percent() >= 93);
    CHECK(percent() <= most);
    // The stated error is the true one.
    CHECK(std::sqrt(stated / wrong) > 0.9);
    CHECK(std::sqrt(stated / wrong) < 1.1);
  }
};

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_INTERVAL_COVERAGE_H_
