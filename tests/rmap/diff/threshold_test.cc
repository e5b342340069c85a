#include "rmap/diff/threshold.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "rmap/diff/compare.h"
#include "rmap/diff/diff_render.h"
#include "tests/rmap/diff/simulated_runs.h"

namespace countrace::rmap::diff {
namespace {

using test_support::Random;
using test_support::SimulateRuns;
using test_support::TrueProgram;

std::vector<Report> Runs(double on_cpu, double noise, std::size_t runs,
                         std::uint64_t seed) {
  TrueProgram program;
  program.segments = {
      {"server", {"server:request"}, 100, 1000, 0, 1},
      {"server", {"server:request", "irq:24:disk"}, 100, on_cpu, 0, 1}};
  Random random(seed);
  return SimulateRuns(runs, program, {noise, 0, false, false}, random);
}

absl::StatusOr<ThresholdResult> JudgeOne(const std::string& text,
                                         const std::vector<Report>& before,
                                         const std::vector<Report>& after) {
  CompareOptions options;
  auto threshold = ParseThreshold(text);
  REQUIRE(threshold.ok());
  options.thresholds.push_back(*threshold);
  auto diff = Compare(before, after, options);
  if (!diff.ok()) return diff.status();
  CHECK(diff->HasRegression() ==
        (diff->thresholds[0].verdict == ThresholdVerdict::kRegression));
  return diff->thresholds[0];
}

TEST_CASE("threshold: forms that are read", "[rmap][diff]") {
  struct Case {
    const char* text;
    const char* where;
    double percent;
  };
  for (const Case& test :
       {Case{"5%", "", 5}, Case{" 0.5 % ", "", 0.5},
        Case{"total:elapsed 5%", "total:elapsed", 5},
        Case{"server:handle:wall 10%", "server:handle:wall", 10},
        Case{"server:handle 10 %", "server:handle", 10},
        Case{"odd name:x 0%", "odd name:x", 0}}) {
    CAPTURE(test.text);
    const auto threshold = ParseThreshold(test.text);
    REQUIRE(threshold.ok());
    CHECK(threshold->where == test.where);
    CHECK(threshold->percent == test.percent);
  }
}

TEST_CASE("threshold: what is none is refused with the way to write it",
          "[rmap][diff]") {
  for (const char* text :
       {"", "5", "%", "x%", "-5%", "server:handle", "1.2.3%", "nan%", "inf%",
        "1e999%", "server:handle 10 percent", "99999999999%"}) {
    CAPTURE(text);
    const auto threshold = ParseThreshold(text);
    REQUIRE_FALSE(threshold.ok());
    CHECK_THAT(std::string(threshold.status().message()),
               Catch::Matchers::Contains("'server:handle:wall 10%'"));
  }
}

TEST_CASE("threshold: metrics of totals and of segments, names with colons",
          "[rmap][diff]") {
  const auto before = Runs(1000, 0.01, 5, 1), after = Runs(1000, 0.01, 5, 2);
  struct Case {
    const char* text;
    const char* subject;
    const char* metric;
    bool per_call;
  };
  for (const Case& test :
       {Case{"9%", "all processes", "on-CPU", false},
        Case{"total 9%", "all processes", "on-CPU", false},
        Case{"total:elapsed 9%", "recording", "elapsed", false},
        Case{"total:page-faults 50%", "all processes", "page-faults", false},
        Case{"irq:24:disk 9%", "irq:24:disk", "wall", true},
        Case{"irq:24:disk:on-cpu 9%", "irq:24:disk", "on-CPU", true},
        Case{"server:request:calls 0%", "server:request", "calls", false}}) {
    CAPTURE(test.text);
    const auto result = JudgeOne(test.text, before, after);
    REQUIRE(result.ok());
    CHECK(result->subject == test.subject);
    CHECK(result->metric == test.metric);
    CHECK(result->per_call == test.per_call);
    CHECK(result->verdict == ThresholdVerdict::kHolds);
  }
}

TEST_CASE("threshold: a check that checks nothing fails", "[rmap][diff]") {
  const auto before = Runs(1000, 0.01, 2, 1), after = Runs(1000, 0.01, 2, 2);
  for (const char* text : {"server:requets 5%", "total:cycles 5%",
                           "server:request:cycles 5%", "elapsed 5%"}) {
    CAPTURE(text);
    CHECK(absl::IsNotFound(JudgeOne(text, before, after).status()));
  }
  auto without = after;
  without[1].segments.clear();
  const auto result = JudgeOne("server:request 5%", before, without);
  REQUIRE(absl::IsNotFound(result.status()));
  CHECK_THAT(std::string(result.status().message()),
             Catch::Matchers::Contains("1 of 2 after"));
}

TEST_CASE("threshold: a segment is judged with the segments inside, per call",
          "[rmap][diff]") {
  // 1000 + 1000 ns a call become 1000 + 1400: 20 % more.
  const auto before = Runs(1000, 0.001, 5, 1), after = Runs(1400, 0.001, 5, 2);
  const auto above = JudgeOne("server:request 19%", before, after);
  CHECK(above->verdict == ThresholdVerdict::kRegression);
  CHECK(above->change.after == Approx(2400).epsilon(0.01));
  CHECK(JudgeOne("server:request 21%", before, after)->verdict ==
        ThresholdVerdict::kHolds);
  CHECK(JudgeOne("server:request 5%", after, before)->verdict ==
        ThresholdVerdict::kHolds);
}

TEST_CASE("threshold: no verdict where the interval holds it", "[rmap][diff]") {
  const auto before = Runs(1000, 0.2, 3, 1), after = Runs(1400, 0.2, 3, 2);
  const auto result = JudgeOne("irq:24:disk 35%", before, after);
  REQUIRE(result->change.after > 1.35 * result->change.before);
  CHECK(result->verdict == ThresholdVerdict::kUndecided);
}

TEST_CASE("threshold: alarms without a regression are as rare as promised",
          "[rmap][diff][property]") {
  // The change is exactly the allowed one: one side of a 95 % interval.
  constexpr int kComparisons = 2000;
  int alarms = 0, real = 0;
  for (int i = 0; i < kComparisons; ++i) {
    const auto seed = static_cast<std::uint64_t>(3 * i);
    const auto before = Runs(1000, 0.05, 5, seed);
    alarms += JudgeOne("irq:24:disk:on-CPU 10%", before,
                       Runs(1100, 0.05, 5, seed + 1))
                  ->verdict == ThresholdVerdict::kRegression;
    real += JudgeOne("irq:24:disk:on-CPU 10%", before,
                     Runs(1500, 0.05, 5, seed + 2))
                ->verdict == ThresholdVerdict::kRegression;
  }
  std::printf(
      "threshold 10 %%, 5 runs, 5 %% noise: +10 %% alarms in %.4f (nominal "
      "0.025), +50 %% in %.4f of %d comparisons\n",
      alarms / double{kComparisons}, real / double{kComparisons}, kComparisons);
  CHECK(alarms > 0.012 * kComparisons);
  CHECK(alarms < 0.040 * kComparisons);
  CHECK(real > 0.99 * kComparisons);
}

TEST_CASE("threshold: one run each, the number decides, and the text says so",
          "[rmap][diff]") {
  const auto before = Runs(1000, 0, 1, 1), after = Runs(1400, 0, 1, 2);
  CHECK(JudgeOne("5%", before, after)->verdict ==
        ThresholdVerdict::kRegression);
  CHECK(JudgeOne("5%", after, before)->verdict == ThresholdVerdict::kHolds);
  // The spread of the calls inside the run does not count.
  const auto result = JudgeOne("irq:24:disk 39%", before, after);
  CHECK(result->verdict == ThresholdVerdict::kRegression);
  CHECK(result->change.verdict == Verdict::kNoiseUnknown);
  CHECK_FALSE(result->change.interval);
  CompareOptions options;
  options.thresholds = {*ParseThreshold("5%")};
  CHECK_THAT(
      RenderDiffText(*Compare(before, after, options), {}),
      Catch::Matchers::Contains("REGRESSION, one run each: noise not known"));
}

}  // namespace
}  // namespace countrace::rmap::diff
