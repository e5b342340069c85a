// Estimates from the slices of multiplexed event sets: their standard error and
// interval.
#include "rmap/result/scaled_count.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

namespace countrace::rmap {
namespace {

TEST_CASE("scaled_count: a set that was counted all the time is exact",
          "[rmap]") {
  SliceSums sums;
  sums.Add({1000, 7}, {500, 1});
  const auto scaled = sums.Estimate(1500);
  REQUIRE(scaled);
  CHECK(scaled->value == 8);
  CHECK(scaled->standard_error == 0.0);
  CHECK(scaled->Interval95()->lo == 8);
  CHECK(scaled->Interval95()->hi == 8);
}

TEST_CASE("scaled_count: one slice, or one that outweighs, shows no variation",
          "[rmap]") {
  SliceSums one;
  one.Add({1000, 7});
  CHECK_FALSE(one.Estimate(2000)->standard_error);
  CHECK_FALSE(one.Estimate(2000)->Interval95());
  SliceSums outweighed;
  outweighed.Add({10'000'000, 5}, {2'000, 0});
  outweighed.Add({0, 0}, {1'000, 0});
  CHECK_FALSE(outweighed.Estimate(20'000'000)->standard_error);
  SliceSums least;  // 42^2 / 1176 = 1.5 slices
  least.Add({1, 0}, {1, 0});
  least.Add({3, 1}, {3, 0});
  least.Add({34, 9});
  CHECK(least.Estimate(100)->standard_error);
  SliceSums two;
  two.Add({1000, 7}, {900, 5});
  CHECK(two.Estimate(4000)->standard_error);
}

TEST_CASE("scaled_count: the error of counts that happen to agree is not 0",
          "[rmap]") {
  // In each round the two slices agree, the rounds do not.
  SliceSums sums;
  sums.Add({1000, 3}, {1000, 3});
  sums.Add({1000, 1}, {1000, 1});
  sums.Add({1000, 0}, {1000, 0});
  const auto scaled = sums.Estimate(12'000);
  REQUIRE(scaled->standard_error);
  CHECK(*scaled->standard_error >= 1);
  CHECK(scaled->Interval95()->lo < 16);
  CHECK(scaled->Interval95()->hi > 16);
  CHECK(scaled->Interval95()->lo >= scaled->counted);
}

TEST_CASE("scaled_count: a count of 0 is compatible with 3 / f events",
          "[rmap]") {
  SliceSums sums;
  for (int round = 0; round < 10; ++round) sums.Add({1000, 0}, {1000, 0});
  const auto half = sums.Estimate(40'000);
  CHECK(half->value == 0);
  CHECK(*half->standard_error > 0);
  CHECK(half->Interval95()->lo == 0);
  CHECK(half->Interval95()->hi == 4);                        // 0.5^4.3 = 0.05
  CHECK(sums.Estimate(2'000'000)->Interval95()->hi == 298);  // 3 / 0.01
}

TEST_CASE("scaled_count: the interval solves its equation", "[rmap]") {
  ScaledCount count;
  count.value = 40;
  count.counted = 10;
  count.running = 1;
  count.enabled = 4;
  count.standard_error = 8.0;
  count.freedom = 1e6;
  const auto interval = count.Interval95();
  // (N - 40)^2 = (1.96 * 8)^2 * N / 40 has the solutions 27.1 and 59.1.
  CHECK(interval->lo == 28);
  CHECK(interval->hi == 59);
  count.counted = 30;
  CHECK(count.Interval95()->lo == 30);
}

TEST_CASE("scaled_count: more than a double can hold is in its interval",
          "[rmap]") {
  ScaledCount count;
  count.value = (std::uint64_t{1} << 60) + 1;
  count.standard_error = 1.0;
  count.freedom = 1e6;
  CHECK(count.Interval95()->lo <= count.value);
  CHECK(count.Interval95()->hi >= count.value);
  count.value -= 2;
  CHECK(count.Interval95()->lo <= count.value);
}

TEST_CASE("scaled_count: a level that all slices of a round share is no error",
          "[rmap]") {
  // The rate drifts from round to round: the error is that within rounds.
  std::mt19937 random(1);
  SliceSums rounds, alone;
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t level = 1000 + 10 * static_cast<std::uint64_t>(i);
    const Slice a{1000, level + random() % 10}, b{1000, level + random() % 10};
    rounds.Add(a, b);
    alone.Add(a);
    alone.Add(b);
  }
  const auto of_rounds = rounds.Estimate(800'000);
  const auto of_slices = alone.Estimate(800'000);
  CHECK(of_rounds->value == of_slices->value);
  CHECK(10 * *of_rounds->standard_error < *of_slices->standard_error);
}

TEST_CASE("scaled count: between two sets there may be fewer events",
          "[rmap]") {
  ScaledCount count{.value = 4000,
                    .counted = 1950,
                    .running = 98'000'000,
                    .enabled = 200'000'000,
                    .slices = 10,
                    .standard_error = 5,
                    .freedom = 9};
  const auto narrow = count.Interval95();
  REQUIRE(narrow);
  count.between = 1'000'000;  // 0.5 %, so 20 events
  const auto wide = count.Interval95();
  REQUIRE(wide);
  CHECK(wide->hi == narrow->hi);
  CHECK(wide->lo == narrow->lo - 20);
  // What was counted is certain.
  count.between = 190'000'000;
  CHECK(count.Interval95()->lo == 1950);
}

CallSlices EqualCalls(std::uint64_t rounds, std::uint64_t count) {
  CallSlices slices;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    SliceSums& sums = i + 2 < rounds ? slices.earlier : slices.last;
    sums.Add({1, count}, {1, count});
  }
  slices.calls = 4 * rounds;
  slices.last_calls = 8;
  slices.most = count;
  return slices;
}

TEST_CASE("scaled_count: equal calls say nothing of those not counted",
          "[rmap]") {
  for (const std::uint64_t count : {0u, 9u}) {
    CAPTURE(count);
    const auto scaled = EstimateCalls(EqualCalls(100, count));
    REQUIRE(scaled);
    CHECK(scaled->value == 400 * count);
    CHECK(scaled->of_unseen);
    // 0.5^4.3 = 0.05: 4 calls can be missed.
    CHECK(scaled->Interval95()->hi >=
          scaled->value + 4 * std::max<std::uint64_t>(count, 1));
    CHECK(scaled->Interval95()->hi <=
          scaled->value + 5 * std::max<std::uint64_t>(count, 1));
    CHECK(scaled->Interval95()->lo + 5 * count >= scaled->value);
  }
}

TEST_CASE("scaled_count: calls that were all counted are exact", "[rmap]") {
  CallSlices slices = EqualCalls(10, 9);
  slices.calls = 20;
  slices.last_calls = 4;
  const auto scaled = EstimateCalls(slices);
  REQUIRE(scaled);
  CHECK(scaled->value == 180);
  CHECK(scaled->standard_error == 0.0);
  CHECK_FALSE(scaled->of_unseen);
}

TEST_CASE("scaled_count: the end of a program that drifts is its own stratum",
          "[rmap]") {
  // From 100 to 1099 a call; the last round has a single call, not counted.
  CallSlices slices;
  std::mt19937 random(1);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    SliceSums& sums = i < 998 ? slices.earlier : slices.last;
    sums.Add({1, 100 + i + random() % 10}, {1, 100 + i + random() % 10});
  }
  slices.last.Add({1, 1100});  // half of its round
  slices.calls = 4 * 1000 + 2;
  slices.last_calls = 10;
  const auto scaled = EstimateCalls(slices);
  REQUIRE(scaled->standard_error);
  SliceSums all = slices.earlier;
  all.Merge(slices.last);
  CHECK(2 * *scaled->standard_error <
        *all.Estimate(slices.calls)->standard_error);
  // Where the last rounds have no slice, all calls are one stratum.
  slices.last = SliceSums();
  CHECK(EstimateCalls(slices)->enabled == slices.calls);
  CHECK(EstimateCalls(slices)->running == slices.earlier.running());
}

}  // namespace
}  // namespace countrace::rmap
