// Finds known phases again.
#include "rmap/over_time/phases.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <random>

namespace countrace::rmap {
namespace {

struct Known {
  std::vector<Feature> features;
  std::vector<std::size_t> begins;  // begins of the phases, 0 first
};

// Levels of 0 to 100 that differ by at least 30 in one feature, with noise of a
// standard deviation of 3 in all.
Known RandomPhases(std::mt19937& random, std::size_t phases) {
  std::normal_distribution<double> noise(0, 3);
  std::uniform_real_distribution<double> level(0, 100);
  Known known;
  const std::size_t features = 1 + random() % 5;
  known.features.resize(features);
  std::vector<double> levels(features);
  for (std::size_t phase = 0; phase < phases; ++phase) {
    const std::size_t begin = known.features[0].values.size();
    known.begins.push_back(begin);
    const std::size_t one = random() % features;
    for (std::size_t f = 0; f < features; ++f) {
      double next = phase != 0 && random() % 2 == 0 ? levels[f] : level(random);
      while (f == one && phase != 0 && std::abs(next - levels[f]) < 30) {
        next = level(random);
      }
      levels[f] = next;
    }
    const std::size_t length = 20 + random() % 80;
    for (std::size_t i = 0; i < length; ++i) {
      for (std::size_t f = 0; f < features; ++f) {
        known.features[f].values.push_back(levels[f] + noise(random));
      }
    }
  }
  return known;
}

std::vector<std::size_t> BeginsOf(const std::vector<Phase>& phases) {
  std::vector<std::size_t> begins;
  for (const Phase& phase : phases) begins.push_back(phase.begin);
  return begins;
}

}  // namespace

TEST_CASE("phases: known phases are found where they are", "[rmap][property]") {
  const auto seed = static_cast<std::uint32_t>(GENERATE(range(0, 300)));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const Known known = RandomPhases(random, 1 + seed % 7);
  const std::size_t intervals = known.features[0].values.size();
  const std::vector<Phase> phases = FindPhases(known.features);
  CAPTURE(known.begins, BeginsOf(phases));
  REQUIRE(phases.size() == known.begins.size());
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const auto off = static_cast<std::ptrdiff_t>(phases[i].begin) -
                     static_cast<std::ptrdiff_t>(known.begins[i]);
    CHECK(std::abs(off) <= 2);
    // The phases cover all intervals, once.
    CHECK(phases[i].end ==
          (i + 1 < phases.size() ? phases[i + 1].begin : intervals));
    CHECK((i == 0) == phases[i].changed.empty());
    for (std::size_t f = 0; f < known.features.size(); ++f) {
      double sum = 0;
      for (std::size_t at = phases[i].begin; at < phases[i].end; ++at) {
        sum += known.features[f].values[at];
      }
      CHECK(phases[i].means[f] ==
            Approx(sum / static_cast<double>(phases[i].end - phases[i].begin)));
    }
  }
  CHECK(BeginsOf(FindPhases(known.features)) == BeginsOf(phases));
}

TEST_CASE("phases: noise and spikes are none, but one time in a hundred",
          "[rmap][property]") {
  constexpr int kRuns = 2000;
  int cut = 0;
  for (std::uint32_t seed = 0; seed < kRuns; ++seed) {
    std::mt19937 random(seed);
    Known known = RandomPhases(random, 1);
    std::vector<double>& values = known.features[0].values;
    if (seed % 2 == 0) {
      const std::size_t at = random() % values.size();
      for (std::size_t i = at; i < std::min(at + 2, values.size()); ++i) {
        values[i] += 1000;
      }
    }
    if (FindPhases(known.features).size() != 1) ++cut;
  }
  std::printf("phases in %d runs of noise: %d\n", kRuns, cut);
  CHECK(cut < kRuns / 100);
}

TEST_CASE("phases: the smallest traces and what never changes", "[rmap]") {
  const std::size_t intervals = GENERATE(1u, 2u, 5u, 6u, 7u);
  CAPTURE(intervals);
  Feature constant{"idle", true, std::vector<double>(intervals, 0.5)};
  CHECK(FindPhases({constant}).size() == 1);
  Feature step = constant;
  for (std::size_t i = intervals / 2; i < intervals; ++i) step.values[i] = 1;
  const std::vector<Phase> phases = FindPhases({constant, step});
  CHECK(phases.front().begin == 0);
  CHECK(phases.back().end == intervals);
  CHECK(phases.size() <=
        std::max<std::size_t>(1, intervals / kMinPhaseIntervals));
  CHECK(FindPhases({}).empty());
}

}  // namespace countrace::rmap
