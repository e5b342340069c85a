#include "rmap/diff/power.h"

#include <boost/math/distributions/non_central_t.hpp>
#include <catch2/catch.hpp>
#include <cstdio>
#include <random>
#include <vector>

#include "rmap/diff/difference.h"
#include "rmap/result/student_t.h"

namespace countrace::rmap::diff {
namespace {

TEST_CASE("power: the shift is found with the stated probability",
          "[rmap][diff]") {
  for (const double df : {1., 2., 3., 4., 6.5, 8., 18., 300.}) {
    for (const double tail : {0.05, 0.005, 0.0005}) {
      CAPTURE(df, tail);
      const double shift = DetectableShift(tail, df);
      const boost::math::non_central_t_distribution<double> of_change(df,
                                                                      shift);
      const double found =
          cdf(complement(of_change, TwoSidedQuantile(tail, df)));
      CHECK(found == Approx(kPower).margin(df < 3 ? 0.04 : 0.01));
    }
  }
}

TEST_CASE("power: the number of runs is the smallest that finds the change",
          "[rmap][diff][property]") {
  std::mt19937_64 random(6);
  for (const double deviation : {0.01, 0.02, 0.03}) {
    const std::size_t runs = RunsToFind(0.05, deviation, 0.05);
    constexpr int kComparisons = 4000;
    const auto found_with = [&](std::size_t number) {
      int found = 0;
      for (int i = 0; i < kComparisons; ++i) {
        std::normal_distribution<double> before(1000, 1000 * deviation);
        std::normal_distribution<double> after(1050, 1000 * deviation);
        Sample a, b;
        for (std::size_t run = 0; run < number; ++run) {
          a.values.push_back(before(random));
          b.values.push_back(after(random));
        }
        a.resolution = b.resolution = 0.001;
        found += Difference(a, b).VerdictAt(0.05) == Verdict::kBeyondNoise;
      }
      return found / double{kComparisons};
    };
    const double enough = found_with(runs);
    std::printf("deviation %.2f: %zu runs find 5 %% in %.3f\n", deviation, runs,
                enough);
    CAPTURE(deviation, runs);
    CHECK(enough > kPower - 0.03);
    if (runs > 2) CHECK(found_with(runs - 1) < kPower);
  }
}

}  // namespace
}  // namespace countrace::rmap::diff
