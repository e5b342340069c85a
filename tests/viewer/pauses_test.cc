// The index of a trace with pauses has the times of the report: what a thread
// did around a pause comes from reconstruction, not from gaps of its rows.
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <vector>

#include "rmap/pipeline.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"
#include "tests/viewer/index_fixture.h"
#include "viewer/index/build/index_pass.h"
#include "viewer/index/instant/instant_state.h"
#include "viewer/index/range/thread_totals.h"
#include "viewer/index/rows/thread_states.h"

namespace countrace::viewer {
namespace {

using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;

struct Times {
  std::uint64_t on_cpu_ns = 0, wait_ns = 0, blocked_ns = 0;
  bool operator==(const Times&) const = default;
};

TEST_CASE("pauses: times of threads in the index are the report's",
          "[viewer][property][pauses]") {
  const TemporaryDirectory directory;
  for (std::uint32_t seed = 0; seed < test_support::PropertyRuns(200u);
       ++seed) {
    CAPTURE(seed);
    SimulationOptions options = test_support::RandomOptions(seed);
    options.steps = 150 + seed % 300;
    options.wakeups = true;
    const Simulation run = Simulate(options);
    std::mt19937 random(seed);
    std::uint64_t at_ns = run.trace->info().begin_ns;
    std::vector<logformat::TimeSpan> pauses;
    for (std::uint32_t i = 0; i < 1 + seed % 4; ++i) {
      const auto step = [&] {
        return 1 + random() % (run.truth.duration_ns / 6);
      };
      const std::uint64_t from_ns = at_ns + step();
      at_ns = from_ns + step();
      pauses.push_back({from_ns, at_ns});
    }
    run.trace->mutable_info().pauses = pauses;
    auto pass =
        IndexPass::Read(*run.trace, directory.path(), kWholeTrace, nullptr);
    REQUIRE(pass.ok());
    const auto report = rmap::Reconstruct(*run.trace, {});
    REQUIRE(report.ok());
    const std::string path = directory.path() + "/index";
    REQUIRE(pass->Write(kTestFingerprint, path, nullptr).ok());
    const auto index = TimelineIndex::Open(path, &kTestFingerprint);
    REQUIRE(index.ok());
    std::map<std::uint32_t, Times> expected, found;
    for (const rmap::ThreadRow& row : report->threads) {
      const Times times{row.on_cpu_ns.value_or(0), row.wait_ns.value_or(0),
                        row.blocked_ns.value_or(0)};
      if (!(times == Times())) {
        expected[static_cast<std::uint32_t>(row.index)] = times;
      }
    }
    const TimeRange whole{0, (*index)->duration_ns()};
    for (const ThreadTotals& row : ThreadsIn(**index, whole)) {
      const Times times{row.run.on_cpu_ns, row.wait_ns,
                        row.blocked_ns.value_or(0)};
      if (!(times == Times())) found[row.thread] = times;
    }
    for (const auto& [thread, times] : expected) {
      CAPTURE(thread);
      CHECK(found[thread].on_cpu_ns == times.on_cpu_ns);
      CHECK(found[thread].wait_ns == times.wait_ns);
      CHECK(found[thread].blocked_ns == times.blocked_ns);
    }
    CHECK(found.size() == expected.size());
    // Nothing of a thread is drawn in a pause, but that it is not known.
    const InterruptRows interrupts(**index);
    for (std::uint32_t row = 0; row < (*index)->rows().size(); ++row) {
      if ((*index)->rows()[row].kind != RowKind::kThreadRun) continue;
      const ThreadStates states(**index, row, interrupts);
      StateTimes sums;
      for (const ThreadStretch& stretch : states.Stretches(whole)) {
        const std::uint64_t ns = stretch.range.end_ns - stretch.range.begin_ns;
        (stretch.flags & kStateBlocked   ? sums.blocked_ns
         : stretch.flags & kStateWaiting ? sums.waiting_ns
         : stretch.flags & kStateUnknown ? sums.unknown_ns
                                         : sums.running_ns) += ns;
      }
      const StateTimes times = states.In(whole);
      CHECK(sums.running_ns == times.running_ns);
      CHECK(sums.waiting_ns == times.waiting_ns);
      CHECK(sums.blocked_ns == times.blocked_ns);
    }
  }
}

}  // namespace
}  // namespace countrace::viewer
