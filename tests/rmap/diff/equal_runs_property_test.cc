// Comparisons of equal programs: at most 5 % of them find anything, with any
// number of runs, whatever the noise. The measured rates are printed.
#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

#include "rmap/diff/compare.h"
#include "tests/rmap/diff/simulated_runs.h"

namespace countrace::rmap::diff {
namespace {

using test_support::Noise;
using test_support::Random;
using test_support::RandomProgram;
using test_support::SimulateRuns;
using test_support::TrueProgram;

bool IsFinding(const MetricChange& metric) {
  return metric.self.verdict == Verdict::kBeyondNoise ||
         (metric.per_call && metric.per_call->verdict == Verdict::kBeyondNoise);
}

bool FindsAnything(const Diff& diff) {
  for (const MetricChange& total : diff.totals) {
    if (IsFinding(total)) return true;
  }
  for (const RowChange& row : diff.rows) {
    for (const MetricChange& metric : row.metrics) {
      if (IsFinding(metric)) return true;
    }
  }
  return false;
}

TEST_CASE(
    "compare: of equal programs, at most 5 % of comparisons find anything",
    "[rmap][diff][property]") {
  struct Case {
    const char* name;
    std::size_t rows;
    Noise noise;
  };
  // of_row, of_run, skewed, whole_calls_vary, heavy_tails, slow_runs
  const Case cases[] = {
      {"independent rows", 12, {0.03, 0, false, false, false, 0}},
      {"rows of a run together", 12, {0.01, 0.05, false, false, false, 0}},
      {"hardly anything else", 12, {0.001, 0.05, false, false, false, 0}},
      {"skewed", 12, {0.05, 0.3, true, true, false, 0}},
      {"heavy tails", 12, {0.05, 0.05, false, true, true, 0}},
      {"a slow run of ten", 12, {0.005, 0, false, false, false, 0.3}},
      {"many rows", 150, {0.03, 0.03, true, true, false, 0}}};
  for (const Case& test : cases) {
    for (const std::size_t runs : {1, 2, 5, 10}) {
      const int comparisons = test.rows > 100 ? 60 : 400;
      Random random(20261123 + runs);
      int found = 0;
      for (int i = 0; i < comparisons; ++i) {
        const TrueProgram program = RandomProgram(2, test.rows, random);
        const auto diff =
            Compare(SimulateRuns(runs, program, test.noise, random),
                    SimulateRuns(runs, program, test.noise, random), {});
        REQUIRE(diff.ok());
        found += FindsAnything(*diff);
        if (runs == 1) {
          REQUIRE_THAT(diff->explanations[0],
                       Catch::Matchers::StartsWith("one run each: no verdict"));
        }
      }
      std::printf("%-24s %2zu runs a side: something found in %.3f of %d\n",
                  test.name, runs, found / double(comparisons), comparisons);
      CAPTURE(test.name, runs);
      CHECK(found <= 0.05 * comparisons);
      if (runs == 1) CHECK(found == 0);
    }
  }
}

}  // namespace
}  // namespace countrace::rmap::diff
