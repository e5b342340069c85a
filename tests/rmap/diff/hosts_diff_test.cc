// A comparison of runs of several hosts: each host's rows are those of the
// comparison of its own traces, totals are sums, and all is explained.
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rmap/diff/compare.h"
#include "rmap/hosts/merged_run.h"
#include "rmap/pipeline.h"
#include "tests/rmap/simulated_machine.h"

namespace countrace::rmap::diff {
namespace {

Report Machine(std::uint32_t seed, bool lossy) {
  test_support::SimulationOptions options;
  options.seed = seed;
  options.interrupts = seed % 4 == 1;
  test_support::Simulation simulation = test_support::Simulate(options);
  if (lossy) {
    simulation.trace->Remove([](std::size_t i) { return i % 13 == 7; },
                             /*declare=*/true);
  }
  auto report = Reconstruct(*simulation.trace, {});
  REQUIRE(report.ok());
  return *std::move(report);
}

// A report of both machines.
Report Fleet(const Report& a, const Report& b) {
  return MergeRun({{"a", a}, {"b", b}});
}

Diff Compared(const std::vector<Report>& before,
              const std::vector<Report>& after) {
  auto diff = Compare(before, after, {});
  REQUIRE(diff.ok());
  return *std::move(diff);
}

const RowChange* Find(const Diff& diff, const std::string& process,
                      const std::vector<std::string>& path) {
  for (const RowChange& row : diff.rows) {
    if (row.process == process && row.path == path) return &row;
  }
  return nullptr;
}

// The rows of `host` in `fleet` are those of `own`; its limits are no narrower,
// since what one host lost may be anywhere.
std::size_t CheckRows(const Diff& own, const std::string& host,
                      const Diff& fleet) {
  std::size_t checked = 0;
  for (const RowChange& row : own.rows) {
    const RowChange* const there =
        Find(fleet, host + "/" + row.process, row.path);
    REQUIRE(there != nullptr);
    CAPTURE(host, row.process, row.path);
    CHECK(there->presence == row.presence);
    for (const MetricChange& metric : row.metrics) {
      const MetricChange* const other = there->Find(metric.metric);
      CAPTURE(metric.metric);
      REQUIRE(other != nullptr);
      CHECK(other->self.before == metric.self.before);
      CHECK(other->self.after == metric.self.after);
      CHECK(other->incl_before == metric.incl_before);
      CHECK(other->incl_after == metric.incl_after);
      if (metric.self.interval && other->self.interval) {
        CHECK(other->self.interval->low <= metric.self.interval->low);
        CHECK(other->self.interval->high >= metric.self.interval->high);
      }
      ++checked;
    }
  }
  return checked;
}

TEST_CASE("compare: hosts are compared as by themselves, totals are sums",
          "[rmap][diff][hosts][property]") {
  std::size_t checked = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const bool lossy = seed % 3 == 2;
    const Report a1 = Machine(10 * seed, false),
                 a2 = Machine(10 * seed + 1, lossy);
    const Report b1 = Machine(10 * seed + 2, lossy),
                 b2 = Machine(10 * seed + 3, false);
    const Diff a = Compared({a1}, {a2}), b = Compared({b1}, {b2});
    const Diff fleet = Compared({Fleet(a1, b1)}, {Fleet(a2, b2)});
    checked += CheckRows(a, "a", fleet) + CheckRows(b, "b", fleet);
    CHECK(fleet.rows.size() == a.rows.size() + b.rows.size());
    for (std::size_t i = 0; i < fleet.totals.size(); ++i) {
      const Change& total = fleet.totals[i].self;
      const Change &of_a = a.totals[i].self, &of_b = b.totals[i].self;
      CAPTURE(fleet.totals[i].metric);
      REQUIRE(fleet.totals[i].metric == a.totals[i].metric);
      if (fleet.totals[i].metric == "elapsed") {
        CHECK(total.before == std::max(of_a.before, of_b.before));
        CHECK(total.after == std::max(of_a.after, of_b.after));
      } else {
        CHECK(total.before == of_a.before + of_b.before);
        CHECK(total.after == of_a.after + of_b.after);
      }
    }
    for (const Balance& balance : fleet.balances) {
      CAPTURE(balance.metric);
      CHECK(balance.before.Unexplained() == 0);
      CHECK(balance.after.Unexplained() == 0);
    }
  }
  CHECK(checked > 5000);
}

TEST_CASE("compare: what not all hosts of a run have is left out",
          "[rmap][diff][hosts]") {
  const Report whole = Machine(4, false);
  Report other_event = whole, unknown = whole, no_kernel = whole;
  const std::string event = whole.events.back().name;
  other_event.events.back().name = "other";
  unknown.books.back().known = false;
  no_kernel.cpu_rows.clear();
  REQUIRE(Compared({Fleet(whole, whole)}, {Fleet(whole, whole)})
              .totals.back()
              .metric == event);
  for (const Report* lacking : {&other_event, &unknown, &no_kernel}) {
    const std::string metric = lacking == &no_kernel ? "on-CPU" : event;
    for (const Report& run : {Fleet(whole, *lacking), Fleet(*lacking, whole)}) {
      const Diff diff = Compared({run}, {Fleet(whole, whole)});
      for (const RowChange& row : diff.rows) {
        CHECK((row.Find(metric) == nullptr || !row.path.empty()));
      }
      for (const MetricChange& total : diff.totals) {
        CHECK((total.metric != metric || lacking == &unknown));
      }
    }
  }
}

TEST_CASE("compare: a head line names the process of a path that others have",
          "[rmap][diff][hosts]") {
  const Report whole = Machine(4, false), other = Machine(44, false);
  const Diff diff = Compared({Fleet(whole, whole)}, {Fleet(other, whole)});
  std::size_t named = 0;
  for (const std::string& line : diff.explanations) {
    named += line.find("a/") != line.npos;
    CHECK(line.find("b/") == line.npos);
  }
  CHECK(named != 0);
}

}  // namespace
}  // namespace countrace::rmap::diff
