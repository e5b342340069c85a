// Comparisons of multiplexed events, on machines and programs whose truth is
// known: intervals contain the true change at least as often as they state,
// equal programs are called different no more often than that, and the accounts
// balance. The measured rates are printed.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "rmap/diff/compare.h"
#include "rmap/diff/diff_render.h"
#include "rmap/pipeline.h"
#include "tests/rmap/simulated_machine.h"

namespace countrace::rmap::diff {
namespace {

using test_support::HookDump;
using test_support::MemoryTrace;
using test_support::Simulation;
using test_support::SimulationOptions;

constexpr std::size_t kCycles = 4;

Report MustReconstruct(logformat::TraceReader& reader) {
  auto report = Reconstruct(reader, {});
  REQUIRE(report.ok());
  return *std::move(report);
}

Diff MustCompare(const std::vector<Report>& before,
                 const std::vector<Report>& after,
                 const CompareOptions& options = {}) {
  auto diff = Compare(before, after, options);
  INFO(diff.status().ToString());
  REQUIRE(diff.ok());
  return *std::move(diff);
}

struct Coverage {
  std::size_t intervals = 0, missed = 0;
  double expected = 0;

  void Add(const Change& change, double truth, double tail) {
    if (!change.interval) {  // by chance counted all the time: exact
      CHECK(truth == change.value());
      return;
    }
    // Estimates are rounded.
    missed +=
        truth < change.interval->low - 1 || truth > change.interval->high + 1;
    ++intervals;
    expected += tail;
  }
  void Print(const char* what) const {
    std::printf("%s: %zu intervals, %zu miss the truth, at most %.1f may\n",
                what, intervals, missed, expected);
  }
};

SimulationOptions MachineOptions(std::uint32_t seed) {
  SimulationOptions options;
  options.seed = seed;
  options.cpus = 1 + seed % 3;
  options.steps = 4000;
  options.command_scope = seed / 4 % 2 == 1;
  options.system_calls = true;
  options.dumps = true;
  options.event_sets = true;
  return options;
}

TEST_CASE("compare: intervals of CPUs' estimates hold the true change",
          "[rmap][diff][property]") {
  Coverage totals, segments;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Simulation one = test_support::Simulate(MachineOptions(seed)),
                     two = test_support::Simulate(MachineOptions(seed + 8000));
    const std::vector<Report> before = {MustReconstruct(*one.trace)};
    const std::vector<Report> after = {MustReconstruct(*two.trace)};
    CompareOptions options;
    options.align.any_process = true;
    const Diff diff = MustCompare(before, after, options);
    const auto truth_of = [](const Simulation& simulation,
                             const std::vector<std::string>& path) {
      std::string name;
      for (const std::string& part : path) {
        name += (name.empty() ? "" : " > ") + part;
      }
      double sum = 0;
      for (const auto& process : simulation.truth.processes) {
        const auto found = process.by_path.find(name);
        if (found != process.by_path.end()) {
          sum += static_cast<double>(found->second.cycles_excl);
        }
      }
      return sum;
    };
    const MetricChange* total = FindTotal(diff, "cycles");
    REQUIRE(total != nullptr);
    CHECK(total->self.quality != Quality::kExact);
    totals.Add(total->self,
               static_cast<double>(two.truth.processes_total[kCycles]) -
                   static_cast<double>(one.truth.processes_total[kCycles]),
               diff.tail);
    for (const RowChange& row : diff.rows) {
      const MetricChange* cycles = row.Find("cycles");
      if (cycles == nullptr || row.path.empty()) continue;
      CHECK(cycles->self.quality != Quality::kExact);
      segments.Add(cycles->self,
                   truth_of(two, row.path) - truth_of(one, row.path),
                   diff.tail);
    }
    for (const Balance& balance : diff.balances) {
      CHECK(balance.before.Unexplained() == 0);
      CHECK(balance.after.Unexplained() == 0);
    }
  }
  totals.Print("totals");
  segments.Print("segments");
  for (const Coverage* coverage : {&totals, &segments}) {
    REQUIRE(coverage->intervals > 200);
    CHECK(static_cast<double>(coverage->missed) <
          coverage->expected + 4 * std::sqrt(coverage->expected));
  }
}

// A program whose thread counts one of two sets at its hooks.
struct Recorded {
  Report report;
  std::map<std::string, std::uint64_t>
      truth;  // by segment, without inner segments
};

struct ProgramOptions {
  std::uint64_t program = 0;  // seed of its behaviour
  std::uint64_t turns = 0;    // seed of the order of rotations
  double factor = 1;          // on the counts of p:inner
};

Recorded Record(const ProgramOptions& options) {
  constexpr std::int32_t kPid = 100;
  constexpr std::uint32_t kOuter = 4096, kInner = 4097;
  std::mt19937_64 program(options.program), turns(options.turns);
  MemoryTrace trace;
  trace.mutable_info().thread_events = {"always", "first", "second"};
  trace.mutable_info().thread_set_sizes = {1, 1};
  trace.AddHook(kOuter, logformat::HookKind::kSegment, "p", "outer");
  trace.AddHook(kInner, logformat::HookKind::kSegment, "p", "inner");
  Recorded recorded;
  std::uint64_t now_ns = 1'000'000, always = 0, counted[2] = {};
  std::uint32_t set = 0;
  const auto hook = [&](std::uint32_t id, bool exit) {
    now_ns += 1000;
    trace.HookRecord(now_ns, {kPid, kPid, id, exit},
                     HookDump{set, 0b11, {always, counted[set]}});
  };
  const auto count = [&](const char* segment, std::uint64_t events) {
    always += events;
    counted[set] += events;
    recorded.truth[segment] += events;
  };
  for (int outer = 0; outer < 300; ++outer) {
    set = static_cast<std::uint32_t>(turns() % 2);
    hook(kOuter, false);
    count("p:outer", program() % 100);
    for (std::uint64_t i = program() % 5; i > 0; --i) {
      hook(kInner, false);
      count("p:inner",
            static_cast<std::uint64_t>(
                options.factor * static_cast<double>(50 + program() % 100)));
      hook(kInner, true);
    }
    hook(kOuter, true);
  }
  recorded.report = MustReconstruct(trace);
  return recorded;
}

const RowChange* FindRow(const Diff& diff, const std::string& segment) {
  for (const RowChange& row : diff.rows) {
    if (!row.path.empty() && row.path.back() == segment) return &row;
  }
  return nullptr;
}

TEST_CASE(
    "compare: one program recorded twice, in other turns, is not called "
    "different",
    "[rmap][diff][property]") {
  std::size_t numbers = 0, wrong = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Recorded before = Record({seed, 2 * seed + 1000, 1});
    const Recorded after = Record({seed, 2 * seed + 1001, 1});
    const Diff diff = MustCompare({before.report}, {after.report});
    for (const char* segment : {"p:outer", "p:inner"}) {
      const RowChange* row = FindRow(diff, segment);
      REQUIRE(row != nullptr);
      // An event that is always counted is exact, and the same.
      CHECK(row->Find("always")->self.value() == 0);
      CHECK(row->Find("always")->self.quality == Quality::kExact);
      for (const char* event : {"first", "second"}) {
        const MetricChange* change = row->Find(event);
        REQUIRE(change != nullptr);
        CHECK(change->self.quality == Quality::kScaled);
        ++numbers;
        wrong += change->self.verdict != Verdict::kWithinNoise;
      }
    }
  }
  std::printf("equal programs: %zu of %zu estimates called different\n", wrong,
              numbers);
  const auto all = static_cast<double>(numbers);
  CHECK(static_cast<double>(wrong) < 0.05 * all + 4 * std::sqrt(0.05 * all));
}

TEST_CASE("compare: intervals of estimates at hooks hold the true change",
          "[rmap][diff][property]") {
  Coverage coverage;
  std::size_t found = 0, programs = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Recorded before = Record({2 * seed, seed + 5000, 1});
    const Recorded after = Record({2 * seed + 1, seed + 9000, 1.5});
    const Diff diff = MustCompare({before.report}, {after.report});
    for (const char* segment : {"p:outer", "p:inner"}) {
      const double truth = static_cast<double>(after.truth.at(segment)) -
                           static_cast<double>(before.truth.at(segment));
      for (const char* event : {"first", "second"}) {
        coverage.Add(FindRow(diff, segment)->Find(event)->self, truth,
                     diff.tail);
      }
    }
    const MetricChange* inner = FindRow(diff, "p:inner")->Find("first");
    // Beyond the errors of the estimates; the noise between runs is not known.
    found += inner->per_call->verdict == Verdict::kNoiseUnknown &&
             inner->per_call->value() > 0;
    ++programs;
    for (const Balance& balance : diff.balances) {
      CHECK(balance.before.Unexplained() == 0);
      CHECK(balance.after.Unexplained() == 0);
    }
  }
  coverage.Print("segments at hooks");
  std::printf("1.5 x per call found in %zu of %zu programs\n", found, programs);
  CHECK(static_cast<double>(coverage.missed) <
        coverage.expected + 4 * std::sqrt(coverage.expected));
  CHECK(found * 10 > programs * 9);
}

TEST_CASE("compare: several runs of estimates: found, and equal ones are not",
          "[rmap][diff][property]") {
  std::size_t found = 0, wrong = 0, comparisons = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<Report> before, after, same;
    for (std::uint64_t run = 0; run < 5; ++run) {
      const std::uint64_t of_run = 100 * seed + run;
      before.push_back(Record({of_run, of_run + 1, 1}).report);
      same.push_back(Record({of_run + 20, of_run + 21, 1}).report);
      after.push_back(Record({of_run + 40, of_run + 41, 1.5}).report);
    }
    const Diff changed = MustCompare(before, after);
    const Diff equal = MustCompare(before, same);
    const MetricChange* inner = FindRow(changed, "p:inner")->Find("first");
    found += inner->per_call->verdict == Verdict::kBeyondNoise;
    wrong += equal.discoveries != 0;
    ++comparisons;
  }
  std::printf("5 runs: found in %zu of %zu, something false in %zu\n", found,
              comparisons, wrong);
  CHECK(found * 10 > comparisons * 9);
  const auto all = static_cast<double>(comparisons);
  CHECK(static_cast<double>(wrong) < 0.05 * all + 4 * std::sqrt(0.05 * all));
}

TEST_CASE("compare: every format marks estimates", "[rmap][diff]") {
  const Report before = Record({1, 2, 1}).report;
  const Report after = Record({3, 4, 2}).report;
  CompareOptions options;
  auto threshold = ParseThreshold("p:inner:first 10%");
  REQUIRE(threshold.ok());
  options.thresholds = {*threshold};
  const Diff diff = MustCompare({before}, {after}, options);
  // About 2 x, clearly more than 10 %.
  CHECK(diff.HasRegression());
  CHECK(diff.thresholds[0].change.quality == Quality::kScaled);
  for (const std::string& text : {RenderDiffText(diff, {.all = true}),
                                  RenderDiffMarkdown(diff, {.all = true})}) {
    CHECK_THAT(text, Catch::Matchers::Contains("+-") &&
                         Catch::Matchers::Contains(
                             "s: estimated, its event set took turns") &&
                         Catch::Matchers::Contains("amounts are estimates: "
                                                   "first second"));
  }
  const auto parsed =
      nlohmann::json::parse(RenderDiffJson(diff, {.all = true}));
  std::size_t estimates = 0;
  for (const auto& row : parsed["rows"]) {
    for (const auto& metric : row["metrics"]) {
      const auto& self = metric["self"];
      const bool estimate =
          metric["metric"] == "first" || metric["metric"] == "second";
      CHECK(self.contains("stderr") == estimate);
      if (!estimate) continue;
      ++estimates;
      CHECK(self["quality"] == "scaled");
      CHECK(self["stderr"]["before"].get<double>() > 0);
    }
  }
  CHECK(estimates == 4);
}

TEST_CASE("compare: an estimate whose error is not known has no verdict",
          "[rmap][diff]") {
  Report before = Record({1, 2, 1}).report, after = Record({3, 4, 5}).report;
  for (SegmentRow& row : after.segment_paths) {
    for (auto& count : row.counts) {
      if (!count || !count->estimate) continue;
      count->estimate =
          SegmentEstimate{.counted = count->estimate->counted, .slices = 1};
    }
  }
  const Diff diff = MustCompare({before}, {after});
  const MetricChange* inner = FindRow(diff, "p:inner")->Find("first");
  CHECK(inner->self.verdict == Verdict::kWithinNoise);
  CHECK(std::isinf(inner->self.interval->high));
  CHECK_THAT(RenderDiffText(diff, {.all = true}),
             Catch::Matchers::Contains("+-?"));
}

}  // namespace
}  // namespace countrace::rmap::diff
