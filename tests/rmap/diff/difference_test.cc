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
  // Means 20 and 30, variances 10 and 40 of 5 runs each: relative squared
  // errors of the means 2 / 400 and 8 / 900, of the log ratio 5 / 360; df =
  // (5 / 360)^2 / ((2 / 400)^2 / 4 + (8 / 900)^2 / 4) = 7.418.
  const Difference difference(Runs({16, 18, 20, 22, 24}),
                              Runs({22, 26, 30, 34, 38}));
  CHECK(difference.value() == 10);
  CHECK(difference.noise_known());
  // t = ln 1.5 / sqrt(5 / 360) = 3.4405.
  CHECK(difference.p() == Approx(0.0098).margin(2e-4));
  const Interval interval = difference.At(0.05);
  // t for 7.418 degrees at 5 %: 2.338.
  const double factor = std::exp(2.338 * std::sqrt(5 / 360.0));
  CHECK(interval.low == Approx(30 / factor - 20).margin(5e-3));
  CHECK(interval.high == Approx(30 * factor - 20).margin(5e-3));
}

TEST_CASE("difference: what was not there before has no ratio",
          "[rmap][diff]") {
  // Variance 1 of 3 runs, and that of rounding: df 2 and 2.
  const Difference difference(Runs({0, 0, 0}), Runs({9, 10, 11}));
  const double error = std::sqrt(1 / 3.0 + 1 / 36.0);
  const double quartic = (1 / 9.0 + 1 / 1296.0) / 2;
  const double df = error * error * error * error / quartic;
  CHECK(df == Approx(2.331).margin(1e-3));
  // t for 2.331 degrees at 5 %: 3.771.
  CHECK(difference.At(0.05).high == Approx(10 + 3.771 * error).margin(2e-2));
  CHECK(difference.At(0.05).low == Approx(10 - 3.771 * error).margin(2e-2));
}

TEST_CASE("difference: no interval reaches below -100 %",
          "[rmap][diff][property]") {
  std::mt19937_64 random(5);
  std::lognormal_distribution<double> value(0, 1.5);
  for (int i = 0; i < 5000; ++i) {
    Sample before, after;
    before.values.resize(1 + random() % 6);
    after.values.resize(1 + random() % 6);
    for (double& run : before.values) run = 1000 * value(random);
    for (double& run : after.values) run = 100 * value(random);
    if (i % 3 == 0) before.above = 100 * value(random);
    if (i % 5 == 0) after.below = 100 * value(random);
    if (i % 7 == 0) after.of_turns = SamplingError::Of(50, 10);
    const Difference difference(before, after);
    if (!difference.noise_known()) continue;  // a difference of two estimates
    CHECK(difference.At(0.01).low >= -before.Mean() * 1.0000001);
  }
}

TEST_CASE("difference: 95 % of the intervals hold the true ratio",
          "[rmap][diff][property]") {
  std::mt19937_64 random(6);
  for (const double ratio : {0.2, 0.5, 1.0, 3.0}) {
    for (const double deviation : {0.05, 0.3, 1.0}) {
      for (const std::size_t runs : {2, 5, 10}) {
        const double sigma = std::sqrt(std::log1p(deviation * deviation));
        std::lognormal_distribution<double> noise(-sigma * sigma / 2, sigma);
        constexpr int kComparisons = 4000;
        int holds = 0;
        for (int i = 0; i < kComparisons; ++i) {
          Sample before, after;
          for (std::size_t run = 0; run < runs; ++run) {
            before.values.push_back(1e6 * noise(random));
            after.values.push_back(ratio * 1e6 * noise(random));
          }
          const Interval interval = Difference(before, after).At(0.05);
          const double change = (ratio - 1) * before.Mean();
          holds += interval.low <= change && change <= interval.high;
        }
        CAPTURE(ratio, deviation, runs);
        CHECK(holds >= kComparisons * (deviation < 1 ? 0.94 : 0.92));
        CHECK(holds <= kComparisons * 0.985);
      }
    }
  }
}

TEST_CASE("difference: one run against several takes their spread for both",
          "[rmap][diff]") {
  const Difference difference(Runs({10, 12, 14}), Runs({30}));
  // s = 2 of 12, relative error sqrt(1 + 1/3) / 6, two degrees of freedom:
  // 4.303.
  const double factor = std::exp(4.30265 / 6 * std::sqrt(4 / 3.0));
  const Interval interval = difference.At(0.05);
  CHECK(interval.low == Approx(30 / factor - 12));
  CHECK(interval.high == Approx(30 * factor - 12));
  CHECK(Difference(Runs({30}), Runs({10, 12, 14})).At(0.05).high ==
        Approx(12 * factor - 30));
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
  // By the ratio: before is 107 at most, after 123.
  CHECK(difference.At(0.05).low == Approx((sure.low + 100) / 1.07 - 100));
  CHECK(difference.At(0.05).high ==
        Approx((sure.high + 100) * 123 / 120 - 100));
  // A change must be larger by what may be missing to be found.
  const Sample whole = Runs({100, 102, 98});
  CHECK(*difference.Detectable(0.05) ==
        Approx(
            (*Difference(whole, Runs({120, 122, 118})).Detectable(0.05) + 100) *
                1.07 -
            100));
  before.above = 25;
  CHECK(Difference(before, after).p() == 1);
  CHECK(Difference(before, after).VerdictAt(0.05) == Verdict::kMayBeLoss);
  before.above = kInfinite;
  CHECK_FALSE(Difference(before, after).Detectable(0.05));
  CHECK(Difference(before, after).At(0.05).low == -100);
  CHECK(Difference(before, after).At(0.05).high ==
        Approx((sure.high + 100) * 123 / 120 - 100));
}

TEST_CASE("difference: runs that agree exactly are known to the resolution",
          "[rmap][diff]") {
  // Two runs that counted 3, two that counted 4: no proof.
  CHECK(Difference(Runs({3, 3}), Runs({4, 4})).p() > 0.05);
  CHECK(Difference(Runs({3, 3, 3, 3, 3}), Runs({4, 4, 4, 4, 4})).p() < 0.001);
  CHECK(Difference(Runs({3, 3, 3}), Runs({411, 411, 411})).p() < 1e-3);
  CHECK(Difference(Runs({5, 5}), Runs({5, 5})).p() == 1);
}

TEST_CASE(
    "difference: an interval holds 0 exactly if p says noise; sides "
    "exchanged give the reciprocal",
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
    CHECK(forth.p() == Approx(back.p()));
    // The ratio's reciprocal.
    const double a = before.Mean(), b = after.Mean();
    if (interval.high < 1e6 * a) {
      CHECK((a + interval.high) / a == Approx(b / (b + mirror.low)));
    }
    if (mirror.high < 1e6 * b) {
      CHECK((b + mirror.high) / b == Approx(a / (a + interval.low)));
    }
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
