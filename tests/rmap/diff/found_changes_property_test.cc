// How small a change is found, and whether the comparison states that.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <vector>

#include "rmap/diff/compare.h"
#include "tests/rmap/diff/simulated_runs.h"

namespace countrace::rmap::diff {
namespace {

using test_support::Noise;
using test_support::Random;
using test_support::RandomProgram;
using test_support::SimulateRuns;
using test_support::TrueProgram;

// Compares programs that differ in one segment.
struct Experiment {
  TrueProgram program;
  std::size_t victim = 0;
  std::size_t runs = 5;
  Noise noise;

  // The change of the on-CPU time of the victim, which is `factor` times as
  // long after.
  Change Compared(double factor, Random& random) const {
    TrueProgram changed = program;
    changed.segments[victim].on_cpu_ns_per_call *= factor;
    const auto diff = Compare(SimulateRuns(runs, program, noise, random),
                              SimulateRuns(runs, changed, noise, random), {});
    REQUIRE(diff.ok());
    for (const RowChange& row : diff->rows) {
      if (row.path == program.segments[victim].path) {
        return row.Find("on-CPU")->self;
      }
    }
    FAIL("no row of the segment");
    return {};
  }

  // The part of comparisons that find it.
  double FoundIn(double factor, int comparisons, Random& random) const {
    int found = 0;
    for (int i = 0; i < comparisons; ++i) {
      found += Compared(factor, random).verdict == Verdict::kBeyondNoise;
    }
    return found / static_cast<double>(comparisons);
  }
};

TEST_CASE("compare: a change of the detectable size is found in about 80 %",
          "[rmap][diff][property]") {
  constexpr int kComparisons = 200;
  for (const std::size_t runs : {3, 5, 10}) {
    Random random(2026 + runs);
    Experiment experiment;
    experiment.program = RandomProgram(2, 12, random);
    experiment.runs = runs;
    experiment.noise = {0.03, 0, false, false};
    double sum = 0;
    for (int i = 0; i < kComparisons; ++i) {
      const Change change = experiment.Compared(1, random);
      REQUIRE(change.detectable);
      sum += std::log1p(*change.detectable / change.before);
    }
    const double detectable = std::expm1(sum / kComparisons);
    // Noise grows with the time.
    const double found =
        (experiment.FoundIn(1 + detectable, kComparisons, random) +
         experiment.FoundIn(1 / (1 + detectable), kComparisons, random)) /
        2;
    std::printf("%zu runs a side: %.1f %% is detectable, and found in %.3f\n",
                runs, 100 * detectable, found);
    CAPTURE(runs, detectable);
    CHECK(found > 0.7);
    CHECK(found < (runs < 5 ? 0.97 : 0.9));  // of few runs it is rough
  }
}

TEST_CASE("compare: many small rows do not hide the change of a large one",
          "[rmap][diff][property]") {
  constexpr int kComparisons = 120;
  Random random(17);
  Experiment experiment;
  experiment.noise = {0.025, 0, false, false};
  for (int i = 0; i < 200; ++i) {
    const double ns = i < 6 ? 100'000 : 30;
    experiment.program.segments.push_back(
        {"server", {"test:s" + std::to_string(i)}, 100, ns, ns, 1});
  }
  const double among_all = experiment.FoundIn(1.1, kComparisons, random);
  experiment.program.segments.resize(6);
  const double alone = experiment.FoundIn(1.1, kComparisons, random);
  std::printf(
      "10 %% more in one of 6 rows, 2.5 %% noise, 5 runs a side: found in "
      "%.3f, beside 194 small rows in %.3f\n",
      alone, among_all);
  CHECK(alone > 0.7);
  CHECK(among_all > alone - 0.15);
}

}  // namespace
}  // namespace countrace::rmap::diff
