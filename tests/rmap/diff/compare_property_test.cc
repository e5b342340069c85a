// The guarantees of a comparison, measured over many simulated sets of runs.
// The measured rates are printed; the bands are four standard errors wide.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "rmap/diff/compare.h"
#include "tests/rmap/diff/simulated_runs.h"

namespace countrace::rmap::diff {
namespace {

using test_support::Noise;
using test_support::Random;
using test_support::RandomProgram;
using test_support::SimulateRuns;
using test_support::TrueProgram;

Diff CompareRuns(const std::vector<Report>& before,
                 const std::vector<Report>& after,
                 const CompareOptions& options = {}) {
  auto diff = Compare(before, after, options);
  REQUIRE(diff.ok());
  return *std::move(diff);
}

// Every change of every row, by row and metric.
std::map<std::string, const Change*> ChangesOf(const Diff& diff) {
  std::map<std::string, const Change*> changes;
  for (const MetricChange& total : diff.totals) {
    changes["total/" + total.metric] = &total.self;
  }
  for (const RowChange& row : diff.rows) {
    std::string name = row.process;
    for (const std::string& segment : row.path) name += "/" + segment;
    for (const MetricChange& metric : row.metrics) {
      changes[name + ":" + metric.metric] = &metric.self;
      if (metric.per_call) {
        changes[name + ":" + metric.metric + " per call"] = &*metric.per_call;
      }
    }
  }
  return changes;
}

TEST_CASE(
    "compare: of equal sets, each number is called different at about "
    "the nominal rate, and any number at all in few comparisons",
    "[rmap][diff][property]") {
  struct Case {
    const char* name;
    std::size_t runs;
    Noise noise;
    // Rate of single numbers below p = 0.05; Welch's t is somewhat conservative
    // for few runs, and counts with small means are discrete.
    double low, high;
  };
  const Case cases[] = {
      {"3 runs, normal noise", 3, {0.05, 0, false, false}, 0.025, 0.055},
      {"5 runs, normal noise", 5, {0.05, 0, false, false}, 0.040, 0.055},
      {"5 runs, skewed noise", 5, {0.30, 0, true, false}, 0.030, 0.055},
      {"5 runs, calls vary", 5, {0.05, 0, true, true}, 0.040, 0.055},
      {"10 runs, normal noise", 10, {0.10, 0, false, false}, 0.042, 0.056},
      {"5 runs, noise of whole runs",
       5,
       {0.02, 0.1, false, false},
       0.030,
       0.062}};
  constexpr std::size_t kComparisons = 400;
  for (const Case& test : cases) {
    Random random(20261121);
    std::size_t tested = 0, below = 0, with_discovery = 0;
    for (std::size_t i = 0; i < kComparisons; ++i) {
      const TrueProgram program = RandomProgram(2, 12, random);
      const Diff diff =
          CompareRuns(SimulateRuns(test.runs, program, test.noise, random),
                      SimulateRuns(test.runs, program, test.noise, random));
      for (const auto& [name, change] : ChangesOf(diff)) {
        if (!change->p || change->before == change->after) continue;
        ++tested;
        below += *change->p < 0.05;
      }
      with_discovery += diff.discoveries != 0;
    }
    const double rate =
        static_cast<double>(below) / static_cast<double>(tested);
    const double any = static_cast<double>(with_discovery) / kComparisons;
    std::printf(
        "%-28s p < 0.05: %.4f of %zu numbers; something found in %.3f of %zu "
        "comparisons\n",
        test.name, rate, tested, any, kComparisons);
    CAPTURE(test.name);
    CHECK(rate > test.low);
    CHECK(rate < test.high);
    // There is no change, so each discovery is false: at most 5 % of the
    // comparisons, plus four standard errors.
    CHECK(any < 0.05 + 4 * std::sqrt(0.05 * 0.95 / kComparisons));
  }
}

TEST_CASE("compare: changed segments are found and named, others are not",
          "[rmap][diff][property]") {
  constexpr std::size_t kComparisons = 300;
  struct Case {
    std::size_t runs;
    double factor;
    double power;  // at least this
  };
  // 5 % of noise in each row of each run. Three runs are few: about a hundred
  // numbers are tested at once.
  for (const Case& test :
       {Case{5, 1.2, 0.5}, Case{5, 1.5, 0.95}, Case{5, 3, 0.99},
        Case{10, 1.1, 0.5}, Case{3, 3, 0.6}}) {
    Random random(42);
    std::size_t found = 0, named = 0;
    double false_part = 0;
    for (std::size_t i = 0; i < kComparisons; ++i) {
      const TrueProgram program = RandomProgram(2, 20, random);
      TrueProgram changed = program;
      const std::size_t victim = random() % program.segments.size();
      changed.segments[victim].on_cpu_ns_per_call *= test.factor;
      const Noise noise{0.05, 0, true, false};
      const Diff diff =
          CompareRuns(SimulateRuns(test.runs, program, noise, random),
                      SimulateRuns(test.runs, changed, noise, random));
      const std::vector<std::string>& path = changed.segments[victim].path;
      std::size_t discovered = 0, false_discoveries = 0;
      bool hit = false;
      for (const RowChange& row : diff.rows) {
        for (const MetricChange& metric : row.metrics) {
          if (metric.self.verdict != Verdict::kBeyondNoise) continue;
          ++discovered;
          const bool is_it = row.path == path && (metric.metric == "on-CPU" ||
                                                  metric.metric == "wall");
          if (!is_it) ++false_discoveries;
          hit |= is_it && metric.metric == "on-CPU" && metric.self.value() > 0;
        }
      }
      found += hit;
      named += diff.explanations.front().rfind(path.back() + " is ", 0) == 0;
      if (discovered != 0) {
        false_part += static_cast<double>(false_discoveries) /
                      static_cast<double>(discovered);
      }
    }
    const double power = static_cast<double>(found) / kComparisons;
    std::printf(
        "%zu runs, 1 of 20 segments %.1fx: found in %.3f, named first in %.3f; "
        "false part of the discoveries %.4f\n",
        test.runs, test.factor, power,
        static_cast<double>(named) / kComparisons, false_part / kComparisons);
    CHECK(power > test.power);
    CHECK(false_part / kComparisons < 0.06);
  }
}

TEST_CASE("compare: intervals hold the true change", "[rmap][diff][property]") {
  // All segments change, so all are selected or none; each interval has the
  // level that the comparison states.
  Random random(77);
  std::size_t intervals = 0, missed = 0, beyond = 0, beyond_missed = 0;
  double expected = 0;
  for (int i = 0; i < 300; ++i) {
    const TrueProgram program = RandomProgram(1, 10, random);
    TrueProgram changed = program;
    std::uniform_real_distribution<double> factor(0.8, 1.3);
    for (auto& segment : changed.segments) {
      segment.on_cpu_ns_per_call *= factor(random);
    }
    const Noise noise{0.05, 0, false, false};
    const Diff diff = CompareRuns(SimulateRuns(5, program, noise, random),
                                  SimulateRuns(5, changed, noise, random));
    const auto changes = ChangesOf(diff);
    std::set<std::vector<std::string>> small;
    for (const RowChange& row : diff.rows) {
      if (row.small) small.insert(row.path);
    }
    for (std::size_t s = 0; s < program.segments.size(); ++s) {
      std::string name = "program0";
      for (const auto& part : program.segments[s].path) name += "/" + part;
      const Change& change = *changes.at(name + ":on-CPU");
      // The interval is one of the ratio.
      const double truth =
          change.before * (changed.segments[s].on_cpu_ns_per_call /
                               program.segments[s].on_cpu_ns_per_call -
                           1);
      const bool miss =
          truth < change.interval->low || truth > change.interval->high;
      ++intervals;
      missed += miss;
      expected += small.count(program.segments[s].path) != 0
                      ? diff.tail_of_small_rows
                      : diff.tail;
      if (change.verdict == Verdict::kBeyondNoise) {
        ++beyond;
        beyond_missed += miss;
      }
    }
  }
  std::printf(
      "%zu intervals, %zu miss the truth, nominal %.1f; of %zu beyond noise "
      "%zu miss it\n",
      intervals, missed, expected, beyond, beyond_missed);
  CHECK(static_cast<double>(missed) < expected + 4 * std::sqrt(expected));
  CHECK(static_cast<double>(missed) > expected / 3);
  // The guarantee for shown rows alone: at most 5 % of them.
  const auto shown = static_cast<double>(beyond);
  CHECK(static_cast<double>(beyond_missed) <
        0.05 * shown + 4 * std::sqrt(0.05 * shown));
}

TEST_CASE(
    "compare: lost dispatches make no change appear, and the truth stays "
    "inside the interval",
    "[rmap][diff][property]") {
  Random random(5);
  int doubtful = 0;
  for (int i = 0; i < 200; ++i) {
    const TrueProgram program = RandomProgram(1, 8, random);
    const Noise noise{0.01, 0, false, false};
    const auto before = SimulateRuns(5, program, noise, random);
    auto after = SimulateRuns(5, program, noise, random);
    const auto whole = after;
    const std::size_t victim = random() % program.segments.size();
    for (Report& report : after) {
      test_support::LoseOnCpu(report, victim, 0.5);
    }
    const Diff diff = CompareRuns(before, after);
    CHECK(diff.balances[1].after.Unexplained() == 0);
    for (const RowChange& row : diff.rows) {
      if (row.path != program.segments[victim].path) continue;
      const MetricChange& on_cpu = *row.Find("on-CPU");
      CHECK(on_cpu.self.quality == Quality::kBounded);
      // Half of it was lost: the number alone says "faster".
      CHECK(on_cpu.self.value() < -0.4 * on_cpu.self.before);
      CHECK(on_cpu.self.verdict == Verdict::kMayBeLoss);
      CHECK(on_cpu.self.interval->high > 0);
      ++doubtful;
    }
  }
  CHECK(doubtful == 200);
}

TEST_CASE(
    "compare: the changes of the rows add up to that of the total, with "
    "any numbers of runs",
    "[rmap][diff][property]") {
  Random random(9);
  for (int i = 0; i < 200; ++i) {
    const TrueProgram program = RandomProgram(3, 15, random);
    TrueProgram changed = program;
    for (auto& segment : changed.segments) {
      segment.on_cpu_ns_per_call *= 1 + 0.1 * static_cast<double>(random() % 9);
    }
    // Some rows occur only before, some only after.
    changed.segments.erase(changed.segments.end() - 2);
    const Noise noise{0.05, 0.05, true, true};
    const Diff diff =
        CompareRuns(SimulateRuns(1 + random() % 5, program, noise, random),
                    SimulateRuns(1 + random() % 5, changed, noise, random));
    REQUIRE(diff.balances.size() == 4);
    for (const Balance& balance : diff.balances) {
      CAPTURE(balance.metric);
      CHECK(balance.before.total > 0);
      CHECK(balance.before.Unexplained() == 0);
      CHECK(balance.after.Unexplained() == 0);
      CHECK(balance.before.residual == 0);
    }
    for (const char* metric : {"wall", "on-CPU", "off-CPU", "page-faults"}) {
      CAPTURE(metric);
      double sum = 0, share = 0;
      bool shares = false;
      for (const RowChange& row : diff.rows) {
        const MetricChange* change = row.Find(metric);
        if (change == nullptr) continue;
        sum += change->self.value();
        share += change->share.value_or(0);
        shares |= change->share.has_value();
      }
      const double total = FindTotal(diff, metric)->self.value();
      CHECK(sum == Approx(total).margin(1e-3));
      if (shares) CHECK(share == Approx(1));
    }
  }
}

TEST_CASE("compare: sides exchanged, every change has the other sign",
          "[rmap][diff][property]") {
  Random random(11);
  for (int i = 0; i < 200; ++i) {
    const TrueProgram program = RandomProgram(2, 10, random);
    TrueProgram changed = program;
    changed.segments[random() % 10].on_cpu_ns_per_call *= 2;
    const Noise noise{0.05, 0, true, i % 2 == 0};
    const auto a = SimulateRuns(1 + random() % 5, program, noise, random);
    const auto b = SimulateRuns(1 + random() % 5, changed, noise, random);
    const Diff forth = CompareRuns(a, b), back = CompareRuns(b, a);
    const auto changes = ChangesOf(forth), mirrored = ChangesOf(back);
    REQUIRE(changes.size() == mirrored.size());
    CHECK(forth.discoveries == back.discoveries);
    for (const auto& [name, change] : changes) {
      CAPTURE(name);
      const Change& mirror = *mirrored.at(name);
      CHECK(change->value() == -mirror.value());
      CHECK(change->verdict == mirror.verdict);
      CHECK(change->p.value_or(1) == Approx(mirror.p.value_or(1)));
      if (change->interval && change->before > 0 &&
          mirror.interval->high < 1e6 * mirror.before) {
        // The reciprocal of the ratio.
        CHECK((change->before + change->interval->low) / change->before ==
              Approx(mirror.before / (mirror.before + mirror.interval->high)));
      }
    }
  }
}

TEST_CASE("compare: a set with itself has no change", "[rmap][diff]") {
  Random random(13);
  for (const std::size_t runs : {1, 2, 5}) {
    const auto set = SimulateRuns(runs, RandomProgram(2, 10, random),
                                  {0.05, 0, true, true}, random);
    const Diff diff = CompareRuns(set, set);
    CHECK(diff.discoveries == 0);
    CHECK(diff.rows_within_noise == diff.rows.size());
    CHECK_THAT(
        diff.explanations,
        Catch::Matchers::VectorContains(std::string(
            runs == 1 ? "no row differs" : "nothing changed beyond noise")));
  }
}

}  // namespace
}  // namespace countrace::rmap::diff
