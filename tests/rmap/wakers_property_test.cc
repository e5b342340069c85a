// What ended blocked time, against a machine whose truth is known; and every
// interval has one waker, whatever is lost.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <tuple>

#include "rmap/pipeline.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;

Report MustReconstruct(logformat::TraceReader& reader) {
  auto report = Reconstruct(reader, {});
  REQUIRE(report.ok());
  return *std::move(report);
}

SimulationOptions OptionsOf(std::uint32_t seed) {
  SimulationOptions options = RandomOptions(seed);
  options.wakeups = true;
  return options;
}

// Serial numbers differ between the two, so rows are compared as a multiset.
using Row =
    std::tuple<std::int32_t, std::string, std::string, std::int32_t,
               std::string, std::uint64_t, std::uint64_t, std::uint64_t>;

std::string Join(const std::vector<std::string>& path) {
  std::string out;
  for (const std::string& name : path) out += (out.empty() ? "" : " > ") + name;
  return out;
}

// All rows of a process add up to the blocked time of its threads; those of a
// path to the path's exclusive blocked time, if nothing was lost: a gap ends a
// call, not the interval that its thread is blocked.
void CheckSums(const Report& report, bool lossy) {
  std::map<ProcessIndex, std::uint64_t> of_threads, of_wakers;
  std::map<std::pair<ProcessIndex, std::vector<std::string>>, std::uint64_t>
      of_paths, of_places;
  for (const ThreadRow& row : report.threads) {
    of_threads[row.process] += row.blocked_ns.value_or(0);
  }
  for (const WakerRow& row : report.wakers) {
    of_wakers[row.process] += row.blocked_ns;
    of_places[{row.process, row.path}] += row.blocked_ns;
    CHECK(row.times > 0);
    CHECK(row.longest_ns <= row.blocked_ns);
    CHECK(row.waker.pid.has_value() == (row.waker.kind == WakerKind::kThread));
  }
  for (const auto& [process, ns] : of_threads) {
    CHECK(of_wakers[process] == ns);
  }
  for (const SegmentRow& row : report.segment_paths) {
    REQUIRE(row.blocked.has_value());
    of_paths[{row.process, row.path}] += row.blocked->excl;
  }
  for (const auto& [path, ns] : of_paths) {
    if (!lossy) CHECK(of_places[path] == ns);
  }
}

TEST_CASE("wakers: equal the simulated machine's, exactly",
          "[rmap][property]") {
  std::map<WakerKind, int> seen;
  std::uint64_t segments = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(1000u); ++seed) {
    CAPTURE(seed);
    Simulation run = Simulate(OptionsOf(seed));
    const Report report = MustReconstruct(*run.trace);
    if (!report.wakeups) {  // a small command without any wake-up
      for (const auto& [waking, sum] : run.truth.wakings) {
        CHECK((waking.kind == "not_told" || waking.kind == "still_blocked"));
      }
      continue;
    }
    std::vector<Row> rows, true_rows;
    for (const WakerRow& row : report.wakers) {
      ++seen[row.waker.kind];
      segments += row.waker.segment.empty() ? 0 : 1;
      CHECK(row.quality == Quality::kExact);
      rows.emplace_back(row.pid, Join(row.path), WakerKindName(row.waker.kind),
                        row.waker.pid.value_or(-1), row.waker.segment,
                        row.times, row.blocked_ns, row.longest_ns);
    }
    for (const auto& [waking, sum] : run.truth.wakings) {
      true_rows.emplace_back(waking.pid, waking.path, waking.kind,
                             waking.waker_pid, waking.waker_segment, sum.times,
                             sum.ns, sum.longest_ns);
    }
    std::sort(rows.begin(), rows.end());
    std::sort(true_rows.begin(), true_rows.end());
    REQUIRE(rows == true_rows);
    CheckSums(report, /*lossy=*/false);
  }
  for (const WakerKind kind :
       {WakerKind::kThread, WakerKind::kInterrupt, WakerKind::kIdle,
        WakerKind::kOutside, WakerKind::kNotTold, WakerKind::kStillBlocked}) {
    CAPTURE(WakerKindName(kind));
    CHECK(seen[kind] > PropertyRuns(100));
  }
  CHECK(segments > PropertyRuns(100u));
}

TEST_CASE("wakers: add up to the blocked time whatever is lost",
          "[rmap][property]") {
  std::uint64_t bounded = 0, exact = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(300u); ++seed) {
    CAPTURE(seed);
    Simulation run = Simulate(OptionsOf(seed));
    std::mt19937 random(seed);
    run.trace->Remove([&](std::size_t) { return random() % 40 == 0; },
                      /*declare=*/seed % 2 == 0);
    const Report report = MustReconstruct(*run.trace);
    if (!report.wakeups) continue;
    CheckSums(report, /*lossy=*/true);
    for (const WakerRow& row : report.wakers) {
      (row.quality == Quality::kExact ? exact : bounded)++;
    }
  }
  CHECK(bounded > PropertyRuns(100u));
  CHECK(exact > PropertyRuns(100u));
}

TEST_CASE("wakers: without wake-ups blocked time is not known", "[rmap]") {
  SimulationOptions options = RandomOptions(5);
  options.wakeups = false;
  Simulation run = Simulate(options);
  const Report report = MustReconstruct(*run.trace);
  CHECK_FALSE(report.wakeups);
  CHECK(report.wakers.empty());
  REQUIRE_FALSE(report.threads.empty());
  for (const ThreadRow& row : report.threads) {
    CHECK_FALSE(row.blocked_ns.has_value());
    CHECK(row.wait_ns.has_value());
  }
  for (const SegmentRow& row : report.segments) {
    CHECK_FALSE(row.blocked.has_value());
  }
}

}  // namespace
}  // namespace countrace::rmap
