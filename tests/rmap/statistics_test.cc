#include "rmap/state/statistics.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

namespace countrace::rmap {
namespace {

// Durations like those of programs: many decades, with a long tail.
std::vector<std::uint64_t> RandomDurations(std::uint32_t seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> body(3 + seed % 20, 0.1 + seed % 4);
  std::vector<std::uint64_t> values(1 + random() % 5000);
  for (std::uint64_t& value : values) {
    value = static_cast<std::uint64_t>(std::min(body(random), 1e18));
  }
  return values;
}

TEST_CASE("statistics: percentiles are within 0.8 % of the sorted values",
          "[rmap][property]") {
  const auto seed = static_cast<std::uint32_t>(GENERATE(range(0, 100)));
  CAPTURE(seed);
  std::vector<std::uint64_t> values = RandomDurations(seed);
  if (seed % 2 != 0) values.resize(std::min<std::size_t>(values.size(), seed));
  DurationStatistics statistics;
  for (const std::uint64_t value : values) statistics.Add(value);
  std::sort(values.begin(), values.end());
  for (const double fraction : {0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(
        std::ceil(fraction * static_cast<double>(values.size())));
    const auto exact = static_cast<double>(values[rank - 1]);
    CAPTURE(fraction, exact);
    CHECK(std::abs(static_cast<double>(statistics.Percentile(fraction)) -
                   exact) <= exact / 128);
  }
}

TEST_CASE("statistics: parts merged in any order equal the whole",
          "[rmap][property]") {
  const auto seed = static_cast<std::uint32_t>(GENERATE(range(0, 200)));
  CAPTURE(seed);
  std::vector<std::uint64_t> values = RandomDurations(seed);
  // Up to 32 are kept one by one; a part may be, and the whole not.
  if (seed % 4 != 0) values.resize(std::min<std::size_t>(values.size(), seed));
  DurationStatistics whole, parts[3], merged;
  for (std::size_t i = 0; i < values.size(); ++i) {
    whole.Add(values[i]);
    parts[i % 3].Add(values[i]);
  }
  for (const int part : {2, 0, 1}) merged.Merge(parts[part]);
  TimeStatistics a, b;
  whole.Fill(a);
  merged.Fill(b);
  CHECK(a.mean == b.mean);
  CHECK(a.stddev == b.stddev);
  CHECK(a.min == b.min);
  CHECK(a.max == b.max);
  CHECK(a.p50 == b.p50);
  CHECK(a.p90 == b.p90);
  CHECK(a.p99 == b.p99);
}

TEST_CASE("statistics: nearly equal large values keep their deviation",
          "[rmap]") {
  // Naive sums in double lose all precision here.
  DurationStatistics statistics;
  for (int i = 0; i < 1000; ++i) {
    statistics.Add(1'000'000'000'000'000 + (i % 2 == 0 ? 1 : 3));
  }
  TimeStatistics out;
  statistics.Fill(out);
  CHECK(out.mean == 1'000'000'000'000'002.0);
  CHECK(out.stddev == Approx(1.0).epsilon(1e-12));
}

TEST_CASE("statistics: without values everything is 0", "[rmap]") {
  TimeStatistics out;
  DurationStatistics().Fill(out);
  CHECK(out.mean == 0);
  CHECK(out.max == 0);
  CHECK(DurationStatistics().Percentile(0.5) == 0);
}

}  // namespace
}  // namespace countrace::rmap
