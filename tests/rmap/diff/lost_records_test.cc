// Records were lost on one side: the intervals of the totals hold what the
// whole trace shows, also where the threads of others are outside.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>

#include "rmap/diff/compare.h"
#include "rmap/pipeline.h"
#include "tests/rmap/lost_records.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap::diff {
namespace {

// Absent: a tid was used twice, so that records may be another thread's.
std::optional<Report> Run(std::uint32_t seed, bool lost,
                          const PipelineOptions& request = {}) {
  test_support::SimulationOptions options;
  options.seed = seed;
  options.cpus = 1 + seed / 2 % 3;
  options.steps = 200;
  options.command_scope = seed % 2 == 1;
  test_support::Simulation run = test_support::Simulate(options);
  if (!run.truth.reused_tids.empty()) return std::nullopt;
  if (lost) {
    test_support::LostRecords records(seed, *run.trace);
    run.trace->RemoveOf(records);
  }
  auto report = Reconstruct(*run.trace, request);
  REQUIRE(report.ok());
  return *std::move(report);
}

// What ran before a CPU's first dump and after its last is in no account.
bool CoverTheSame(const Report& a, const Report& b) {
  return std::equal(a.cpu_rows.begin(), a.cpu_rows.end(), b.cpu_rows.begin(),
                    b.cpu_rows.end(), [](const CpuRow& x, const CpuRow& y) {
                      return x.wall_ns == y.wall_ns;
                    });
}

// Returns how many totals had an interval.
std::size_t CheckTotals(const Report& whole, const Report& lost) {
  const auto diff = Compare({whole}, {lost}, {});
  REQUIRE(diff.ok());
  std::size_t bounded = 0;
  for (const MetricChange& total : diff->totals) {
    CAPTURE(total.metric, total.self.before, total.self.after);
    if (!total.self.interval) continue;
    CHECK(total.self.interval->low <= 0);
    CHECK(total.self.interval->high >= 0);
    ++bounded;
  }
  return bounded;
}

TEST_CASE("lost records: the change of a total may be what was lost",
          "[rmap][diff][property]") {
  std::size_t bounded = 0;
  for (std::uint32_t seed = 0; seed < test_support::PropertyRuns(1000u);
       ++seed) {
    CAPTURE(seed);
    const auto whole = Run(seed, false), lost = Run(seed, true);
    if (!whole || !CoverTheSame(*whole, *lost)) continue;
    bounded += CheckTotals(*whole, *lost);
  }
  CHECK(bounded > test_support::PropertyRuns(200u));
}

// The forks by which processes of the request's marks descend were lost, too.
TEST_CASE("lost records: processes outside may be children of marked ones",
          "[rmap][diff][property]") {
  std::size_t bounded = 0;
  for (std::uint32_t seed = 0; seed < test_support::PropertyRuns(1000u);
       seed += 2) {
    CAPTURE(seed);
    const auto all = Run(seed, false);
    if (!all || all->processes.empty()) continue;
    PipelineOptions request;
    request.gating.marks = *logformat::ParseMarks(
        {std::to_string(all->processes[seed % all->processes.size()].pid)});
    request.gating.count = logformat::Gating{.unmarked = false};
    const auto whole = Run(seed, false, request);
    const auto lost = Run(seed, true, request);
    if (!CoverTheSame(*whole, *lost)) continue;
    bounded += CheckTotals(*whole, *lost);
  }
  CHECK(bounded > test_support::PropertyRuns(100u));
}

}  // namespace
}  // namespace countrace::rmap::diff
