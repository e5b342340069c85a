#include "rmap/diff/difference.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace countrace::rmap::diff {
namespace {

Sample Runs(std::vector<double> values) {
  Sample sample;
  sample.values = std::move(values);
  return sample;
}

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST_CASE("difference: Welch's t of samples worked by hand", "[rmap][diff]") {
  // Means 20 and 30, variances 10 and 40 of 5 runs each: the standard error is
  // sqrt(10), t = sqrt(10), df = 100 / (4 / 4 + 64 / 4) = 5.882.
  const Difference difference(Runs({16, 18, 20, 22, 24}),
                              Runs({22, 26, 30, 34, 38}));
  CHECK(difference.value() == 10);
  CHECK(difference.noise_known());
  CHECK(difference.p() == Approx(0.0199).margin(2e-4));
  const Interval interval = difference.At(0.05);
  // t for 5.882 degrees at 5 %: 2.459.
  CHECK(interval.low == Approx(10 - 2.459 * std::sqrt(10)).margin(2e-3));
  CHECK(interval.high == Approx(10 + 2.459 * std::sqrt(10)).margin(2e-3));
}

TEST_CASE("difference: one run against several takes their spread for both",
          "[rmap][diff]") {
  const Difference difference(Runs({10, 12, 14}), Runs({30}));
  // s = 2, error 2 * sqrt(1 + 1/3), two degrees of freedom: 4.303.
  const Interval interval = difference.At(0.05);
  CHECK(interval.low == Approx(18 - 4.30265 * 2 * std::sqrt(4 / 3.0)));
  CHECK(Difference(Runs({30}), Runs({10, 12, 14})).At(0.05).high ==
        Approx(-interval.low));
}

TEST_CASE("difference: one run each shows no noise, so there is no verdict",
          "[rmap][diff]") {
  const Difference difference(Runs({10}), Runs({30}));
  CHECK_FALSE(difference.noise_known());
  CHECK(difference.is_bare());
  CHECK(difference.p() == 1);
  CHECK(difference.VerdictAt(0.05) == Verdict::kNoiseUnknown);
  CHECK_FALSE(difference.Detectable(0.05));
  CHECK(Difference(Runs({10}), Runs({10})).VerdictAt(0.05) ==
        Verdict::kWithinNoise);
  // What may be missing can explain it, or cannot.
  Sample bounded = Runs({10});
  bounded.above = 25;
  CHECK(Difference(bounded, Runs({30})).VerdictAt(0.05) == Verdict::kMayBeLoss);
  bounded.above = 15;
  CHECK(Difference(bounded, Runs({30})).VerdictAt(0.05) ==
        Verdict::kNoiseUnknown);
}

Sample Estimate(double value, double standard_error, double freedom) {
  Sample sample = Runs({value});
  sample.of_turns = SamplingError::Of(standard_error, freedom);
  return sample;
}

TEST_CASE("difference: estimates of one run each, worked by hand",
          "[rmap][diff]") {
  // 30 + 40, and t for 100 degrees of freedom: 1.984.
  const Difference difference(Estimate(1000, 30, 100), Estimate(1150, 40, 200));
  CHECK(difference.At(0.05).low == Approx(150 - 1.98397 * 70).margin(1e-2));
  CHECK(difference.At(0.05).high == Approx(150 + 1.98397 * 70).margin(1e-2));
  // The intervals do not overlap; what the next two runs do is not known.
  CHECK(difference.VerdictAt(0.05) == Verdict::kNoiseUnknown);
  CHECK_FALSE(difference.noise_known());
  // An exact count against an estimate: only the estimate's error.
  CHECK(Difference(Runs({1000}), Estimate(1150, 40, 100)).At(0.05).low ==
        Approx(150 - 1.98397 * 40).margin(1e-2));
  // One slice: the variation is unknown.
  Sample one = Runs({1e9});
  one.of_turns = SamplingError::Of(std::nullopt, 1);
  const Difference unknown(Estimate(1000, 30, 100), one);
  CHECK(unknown.VerdictAt(0.05) == Verdict::kWithinNoise);
  CHECK(unknown.At(0.05).low == -kInfinite);
  CHECK(unknown.At(0.05).high == kInfinite);
}

TEST_CASE("difference: no verdict where the estimates' intervals overlap",
          "[rmap][diff][property]") {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> uniform(0, 1);
  int overlapping = 0, apart = 0;
  for (int i = 0; i < 5000; ++i) {
    const double error_before = 50 * uniform(random);
    const double error_after = 50 * uniform(random);
    const Sample before =
        Estimate(1000, error_before, 1.0 + static_cast<double>(random() % 300));
    const Sample after = Estimate(1000 + 400 * uniform(random), error_after,
                                  1.0 + static_cast<double>(random() % 300));
    const bool overlap = after.values[0] - after.of_turns.HalfWidth95() <=
                         before.values[0] + before.of_turns.HalfWidth95();
    const Difference difference(before, after);
    const Interval interval = difference.At(0.05);
    CAPTURE(error_before, error_after, after.values[0]);
    if (overlap) CHECK(interval.low <= 0);
    CHECK(difference.VerdictAt(0.05) ==
          (interval.low > 0 ? Verdict::kNoiseUnknown : Verdict::kWithinNoise));
    ++(overlap ? overlapping : apart);
  }
  CHECK(overlapping > 500);
  CHECK(apart > 500);
}

TEST_CASE("difference: of several runs, no surer than the estimates are",
          "[rmap][diff]") {
  // Runs that agree by chance.
  Sample before = Runs({1000, 1001, 1002}), after = Runs({1010, 1011, 1012});
  CHECK(Difference(before, after).p() < 0.01);
  for (Sample* side : {&before, &after}) {
    SamplingError error = SamplingError::Of(30, 100);
    error.Add(SamplingError::Of(30, 100));
    error.Add(SamplingError::Of(30, 100));
    error.Divide(3);
    side->of_turns = error;
  }
  CHECK(before.of_turns.StandardError() == Approx(30 / std::sqrt(3.0)));
  CHECK(before.of_turns.Freedom() == Approx(3 * 100));
  CHECK(Difference(before, after).p() > 0.5);
  // The spread of the runs is larger than the estimates' errors.
  before.values = {500, 1000, 1500};
  const Sample spread = Runs({500, 1000, 1500});
  CHECK(Difference(before, after).At(0.05).high >=
        Difference(spread, after).At(0.05).high);
}

TEST_CASE("difference: what may be missing widens the interval",
          "[rmap][diff]") {
  Sample before = Runs({100, 102, 98}), after = Runs({120, 122, 118});
  const Interval sure = Difference(before, after).At(0.05);
  REQUIRE(sure.low > 0);
  before.above = 7;  // so the difference can be 7 less
  after.above = 3;
  const Difference difference(before, after);
  CHECK(difference.At(0.05).low == Approx(sure.low - 7));
  CHECK(difference.At(0.05).high == Approx(sure.high + 3));
  // A change must be larger by what may be missing to be found.
  const Sample whole = Runs({100, 102, 98});
  CHECK(*difference.Detectable(0.05) ==
        Approx(*Difference(whole, Runs({120, 122, 118})).Detectable(0.05) + 7));
  before.above = 25;
  CHECK(Difference(before, after).p() == 1);
  CHECK(Difference(before, after).VerdictAt(0.05) == Verdict::kMayBeLoss);
  before.above = kInfinite;
  CHECK_FALSE(Difference(before, after).Detectable(0.05));
  CHECK(Difference(before, after).At(0.05).low == -kInfinite);
  CHECK(Difference(before, after).At(0.05).high == Approx(sure.high + 3));
}

TEST_CASE("difference: runs that agree exactly are known to the resolution",
          "[rmap][diff]") {
  // Two runs that counted 3, two that counted 4: no proof.
  CHECK(Difference(Runs({3, 3}), Runs({4, 4})).p() > 0.05);
  CHECK(Difference(Runs({3, 3, 3, 3, 3}), Runs({4, 4, 4, 4, 4})).p() < 0.001);
  CHECK(Difference(Runs({3, 3, 3}), Runs({411, 411, 411})).p() < 1e-6);
  CHECK(Difference(Runs({5, 5}), Runs({5, 5})).p() == 1);
}

TEST_CASE(
    "difference: an interval holds 0 exactly if p says noise; sides "
    "exchanged change the sign only",
    "[rmap][diff]") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0.0001, 0.5);
  for (int i = 0; i < 5000; ++i) {
    Sample before, after;
    before.values.resize(1 + random() % 6);
    after.values.resize(1 + random() % 6);
    for (double& value : before.values) value = 50 + 10 * normal(random);
    for (double& value : after.values) value = 60 + 5 * normal(random);
    before.resolution = after.resolution = 0.001;
    if (i % 3 == 0) before.above = 5 * uniform(random);
    if (i % 5 == 0) after.below = 5 * uniform(random);
    const double tail = uniform(random);
    const Difference forth(before, after), back(after, before);
    if (!forth.noise_known()) continue;
    const Interval interval = forth.At(tail), mirror = back.At(tail);
    const bool holds_0 = interval.low <= 0 && interval.high >= 0;
    CHECK(holds_0 == !(forth.p() < tail));
    CHECK(forth.p() == back.p());
    CHECK(mirror.low == -interval.high);
    CHECK(mirror.high == -interval.low);
  }
}

TEST_CASE("difference: discoveries of Benjamini and Hochberg's own example",
          "[rmap][diff]") {
  // Benjamini and Hochberg (1995), section 4: 15 comparisons, 4 discoveries.
  const std::vector<double> p_values = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201,
                                        0.0278, 0.0298, 0.0344, 0.0459, 0.3240,
                                        0.4262, 0.5719, 0.6528, 0.7590, 1.000};
  CHECK(Discoveries(p_values, 0.05) == 4);
  CHECK(Discoveries({}, 0.05) == 0);
  CHECK(Discoveries({0.06}, 0.05) == 0);
}

}  // namespace
}  // namespace countrace::rmap::diff
