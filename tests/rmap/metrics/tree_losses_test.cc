// Trees of rules where records were lost, against the simulated machine: limits
// hold the truth, pictures show them, a comparison takes no loss for a change.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "rmap/diff/tree_changes.h"
#include "rmap/metrics/rule_file.h"
#include "rmap/metrics/tree_rows.h"
#include "rmap/pipeline.h"
#include "rmap/report/tree_svg.h"
#include "tests/rmap/lost_records.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap::metrics {
namespace {

using test_support::kSimulatedEvents;
using test_support::PropertyRuns;
using test_support::SimulatedCounts;
using test_support::Simulation;

constexpr char kRules[] = R"(
[metric.all]
tree = "sim"
expr = "cycles"
per = "faults"
[metric.faults]
expr = "`page-faults`"
[metric.switches]
parent = "all"
expr = "`context-switches`"
[metric.others]
parent = "all"
expr = "cycles - `context-switches`"
)";

RuleSet Rules() {
  RuleSet rules;
  REQUIRE(AddDefaultRules(rules).ok());
  REQUIRE(AddRules(kRules, "sim.toml", rules).ok());
  REQUIRE(rules.Check({}).ok());
  return rules;
}

Simulation Machine(std::uint32_t seed) {
  auto options = test_support::RandomOptions(seed);
  options.event_sets = false;
  options.steps = 100 + seed % 300;
  return Simulate(options);
}

Report Read(Simulation& run) {
  auto report = Reconstruct(*run.trace, {});
  REQUIRE(report.ok());
  return *std::move(report);
}

Report ReadLossy(std::uint32_t seed, std::uint32_t losses) {
  Simulation run = Machine(seed);
  test_support::LostRecords lost(losses, *run.trace);
  run.trace->RemoveOf(lost);
  return Read(run);
}

TreeTable TreeOf(const RuleSet& rules, std::vector<NamedReport> runs,
                 Scope scope) {
  TreeRequest request;
  request.rules = &rules;
  request.tree = "sim";
  request.runs = std::move(runs);
  request.scope = scope;
  auto table = MakeTreeTable(request);
  REQUIRE(table.ok());
  return *std::move(table);
}

// cycles, switches and the others for each fault, by the tree's name of it.
std::map<std::string, double> TrueValues(const SimulatedCounts& counts) {
  const auto faults = static_cast<double>(counts[2]);
  const auto switches = static_cast<double>(counts[3]);
  const auto cycles = static_cast<double>(counts[4]);
  return {{"all", cycles / faults},
          {"switches", switches / faults},
          {"others", (cycles - switches) / faults}};
}

// False: `row` says nothing of its value.
bool Holds(const TreeRow& row, double truth) {
  if (!row.value) return false;
  const double slack = 1e-9 * std::max(1.0, std::abs(truth));
  CAPTURE(row.name, *row.value, truth, row.lo.value_or(-1), row.hi.value_or(-1),
          QualityName(row.value_quality));
  if (row.lo) CHECK(*row.lo <= truth + slack);
  if (row.hi) CHECK(truth <= *row.hi + slack);
  if (row.value_quality == Quality::kExact && !row.lo && !row.hi) {
    CHECK(std::abs(*row.value - truth) <= slack);
  }
  return true;
}

}  // namespace

TEST_CASE("tree: limits hold the machine's values of processes",
          "[rmap][metrics][property]") {
  const RuleSet rules = Rules();
  std::uint64_t held = 0, bounded = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(500u); ++seed) {
    CAPTURE(seed);
    const Simulation run = Machine(seed);
    if (!run.truth.reused_tids.empty()) continue;
    std::map<std::int32_t, SimulatedCounts> by_pid;
    for (const auto& thread : run.truth.threads) {
      for (std::size_t event = 0; event < kSimulatedEvents; ++event) {
        by_pid[thread.pid][event] += thread.counts[event];
      }
    }
    const Report report = ReadLossy(seed, seed);
    const TreeTable table = TreeOf(rules, {{"", &report}}, Scope::kProcess);
    for (const TreeRow& row : table.rows) {
      for (const auto& [pid, counts] : by_pid) {
        if (!row.owner.starts_with(absl::StrFormat("pid=%d ", pid)) ||
            counts[2] == 0) {
          continue;
        }
        CAPTURE(row.owner);
        held += Holds(row, TrueValues(counts)[row.name]) ? 1 : 0;
        bounded += row.lo || row.hi ? 1 : 0;
      }
    }
  }
  CHECK(held > PropertyRuns(1000u));
  CHECK(bounded > PropertyRuns(300u));
}

TEST_CASE("tree: a picture of a lossy trace has each limit",
          "[rmap][metrics][property]") {
  const RuleSet rules = Rules();
  std::uint64_t limits = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(100u); ++seed) {
    CAPTURE(seed);
    const Report report = ReadLossy(seed, seed);
    for (const Scope scope : {Scope::kTrace, Scope::kProcess}) {
      const TreeTable table = TreeOf(rules, {{"", &report}}, scope);
      const std::string picture = RenderTreeSvg(table);
      CHECK(picture.find("nan") == std::string::npos);
      CHECK(picture.find("inf") == std::string::npos);
      for (const TreeRow& row : table.rows) {
        if (!row.in_tree || !row.value || !row.lo || !row.hi) continue;
        if (scope == Scope::kProcess && row.depth == 0) continue;  // no leaf
        ++limits;
        CHECK(picture.find(absl::StrFormat("[%.4f, %.4f]", *row.lo, *row.hi)) !=
              std::string::npos);
      }
    }
  }
  CHECK(limits > PropertyRuns(100u));
}

TEST_CASE("tree: what was lost is no certain change", "[rmap][metrics]") {
  const RuleSet rules = Rules();
  std::uint64_t compared = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(100u); ++seed) {
    CAPTURE(seed);
    // One machine three times, then three times with losses.
    std::vector<Report> before, after;
    for (const std::uint32_t losses : {seed, seed + 1, seed + 2}) {
      Simulation whole = Machine(seed);
      before.push_back(Read(whole));
      after.push_back(ReadLossy(seed, losses));
    }
    const auto changes = diff::CompareTrees(rules, "sim", before, after);
    REQUIRE(changes.ok());
    for (const TreeRow& row : changes->rows) {
      CAPTURE(row.name, row.verdict, row.before.value_or(-1),
              row.value.value_or(-1), row.lo.value_or(-1), row.hi.value_or(-1));
      CHECK(row.verdict != "beyond_noise");
      compared += row.change ? 1 : 0;
    }
  }
  CHECK(compared > PropertyRuns(100u));
}

TEST_CASE("tree: a part of a lossy run is joined by ratio to what it has",
          "[rmap][metrics][property]") {
  const RuleSet rules = Rules();
  std::uint64_t same = 0, others = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(300u); ++seed) {
    CAPTURE(seed);
    Simulation run = Machine(seed);
    Report whole = Read(run);
    const TreeTable truth = TreeOf(rules, {{"", &whole}}, Scope::kTrace);
    const Report lossy = ReadLossy(seed, seed);
    const TreeTable own = TreeOf(rules, {{"", &lossy}}, Scope::kTrace);
    // The first run did not count the switches, the second lost records.
    whole.events[3].name = "not-there";
    const TreeTable table =
        TreeOf(rules, {{"a", &whole}, {"b", &lossy}}, Scope::kTrace);
    REQUIRE(table.rows.size() == truth.rows.size());
    const TreeRow &part = table.rows[1], &is = truth.rows[1];
    REQUIRE(part.name == "switches");
    if (!part.value || !is.value) continue;
    CAPTURE(*part.value, *is.value, part.lo.value_or(-1), part.hi.value_or(-1));
    const double slack = 1e-9 * std::max(1.0, std::abs(*is.value));
    if (own.rows[0].value == truth.rows[0].value &&
        own.rows[1].count == truth.rows[1].count) {
      // Counters go on through a loss: it has all.
      ++same;
      CHECK(part.lo.value_or(*part.value) <= *is.value + slack);
      CHECK(*is.value <= part.hi.value_or(*part.value) + slack);
    } else {
      ++others;
    }
  }
  CAPTURE(same, others);
  CHECK(same > PropertyRuns(30u));
  CHECK(others > 0);
}

}  // namespace countrace::rmap::metrics
