// The balance of the change on whole reconstructions instead of made-up tables.
#include <catch2/catch.hpp>

#include "rmap/diff/compare.h"
#include "rmap/pipeline.h"
#include "tests/rmap/simulated_machine.h"

namespace countrace::rmap::diff {
namespace {

struct Machine {
  std::uint32_t seed;
  bool interrupts;
  int lose_every;  // n-th record; 0: none
  bool declare;
};

test_support::Simulation SimulationOf(const Machine& machine) {
  test_support::SimulationOptions options;
  options.seed = machine.seed;
  options.interrupts = machine.interrupts;
  options.dumps = machine.interrupts;
  options.system_calls = machine.seed % 2 == 0;
  options.command_scope = machine.seed % 3 == 0;
  return test_support::Simulate(options);
}

Report Reconstructed(const Machine& machine) {
  test_support::Simulation simulation = SimulationOf(machine);
  if (machine.lose_every != 0) {
    const auto every = static_cast<std::size_t>(machine.lose_every);
    simulation.trace->Remove([every](std::size_t i) { return i % every == 7; },
                             machine.declare);
  }
  auto report = Reconstruct(*simulation.trace, {});
  REQUIRE(report.ok());
  return *std::move(report);
}

TEST_CASE("compare: reconstructions balance, whole and with records lost",
          "[rmap][diff][property]") {
  std::size_t balances = 0;
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    const bool interrupts = seed % 4 == 1;
    const int lose_every = seed % 5 == 2 ? 13 : 0;
    std::vector<Report> before, after;
    for (std::uint32_t run = 0; run < 1 + seed % 3; ++run) {
      before.push_back(
          Reconstructed({100 * seed + run, interrupts, lose_every, true}));
      after.push_back(
          Reconstructed({100 * seed + 50 + run, interrupts, 0, true}));
    }
    const auto diff = Compare(before, after, {});
    REQUIRE(diff.ok());
    REQUIRE(diff->balances.size() >= 3);
    for (const Balance& balance : diff->balances) {
      CAPTURE(seed, balance.metric);
      CHECK(balance.before.Unexplained() == 0);
      CHECK(balance.after.Unexplained() == 0);
      if (balance.metric == "on-CPU") CHECK(balance.after.residual == 0);
      balances += balance.before.total != 0;
    }
  }
  CHECK(balances > 300);
}

TEST_CASE("compare: what one machine lost is a change of no program",
          "[rmap][diff][property]") {
  int compared = 0;
  for (std::uint32_t seed = 0; seed < 900; ++seed) {
    const Machine machine = {seed, false, 0, true};
    // Threads that nothing separates may change their rows.
    if (!SimulationOf(machine).truth.reused_tids.empty()) continue;
    ++compared;
    const std::vector<Report> whole = {Reconstructed(machine)};
    const std::vector<Report> lossy = {Reconstructed({seed, false, 9, true})};
    const auto diff = Compare(whole, lossy, {});
    REQUIRE(diff.ok());
    for (const RowChange& row : diff->rows) {
      if (row.path.empty()) continue;
      const MetricChange* on_cpu = row.Find("on-CPU");
      if (on_cpu == nullptr) continue;
      CAPTURE(seed, row.path);
      // Both sides are the same machine: the interval must contain no change.
      if (on_cpu->self.quality == Quality::kBounded) {
        REQUIRE(on_cpu->self.interval);
        CHECK(on_cpu->self.interval->low <= 0);
        CHECK(on_cpu->self.interval->high >= 0);
      }
    }
  }
  CHECK(compared > 20);
}

}  // namespace
}  // namespace countrace::rmap::diff
