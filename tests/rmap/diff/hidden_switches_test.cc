// A few switches that the kernel did not show, in a trace without any other
// defect: what a row may have, or have too much, is no more than what is
// unattributed.
#include <catch2/catch.hpp>

#include "rmap/diff/compare.h"
#include "rmap/pipeline.h"
#include "tests/rmap/simulated_machine.h"

namespace countrace::rmap::diff {
namespace {

// The machine has one CPU: its next record shows each hidden switch.
Report WithHiddenSwitches(std::uint32_t seed, std::size_t every) {
  test_support::SimulationOptions options;
  options.seed = seed;
  options.cpus = 1;
  options.steps = 2000;
  test_support::Simulation simulation = test_support::Simulate(options);
  if (every != 0) {
    simulation.trace->HideSwitches(
        [every](std::size_t n) { return n % every == every - 1; });
  }
  auto report = Reconstruct(*simulation.trace, {});
  REQUIRE(report.ok());
  return *std::move(report);
}

std::uint64_t UnattributedNs(const Report& report) {
  std::uint64_t sum = 0;
  for (const CpuRow& cpu : report.cpu_rows) sum += cpu.unattributed_ns;
  return sum;
}

// The width of a number's interval; 0: it is exact.
std::uint64_t Width(const RowBounds& bounds, Number number) {
  const auto at = bounds.Of(number);
  if (!at) return 0;
  return at->hi == Bounds::kNone ? Bounds::kNone : at->hi - at->lo;
}

TEST_CASE("hidden switches: no interval exceeds the unattributed time",
          "[rmap][property]") {
  std::uint64_t bounded = 0;
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const Report report = WithHiddenSwitches(seed, 40);
    if (report.hidden_switches == 0) continue;
    CAPTURE(seed, report.hidden_switches);
    const std::uint64_t most = UnattributedNs(report);
    for (const ThreadRow& row : report.threads) {
      CAPTURE(row.tid);
      CHECK(Width(row.bounds, Number::kOnCpu) <= most);
      bounded += Width(row.bounds, Number::kOnCpu) != 0;
    }
    for (const ProcessRow& row : report.processes) {
      CAPTURE(row.pid);
      CHECK(Width(row.bounds, Number::kOnCpu) <= most);
    }
    for (const auto* rows : {&report.segments, &report.segment_paths}) {
      for (const SegmentRow& row : *rows) {
        CAPTURE(row.segment, row.pid, row.path);
        // Calls without an end, in it or itself, have limits of their own.
        if (row.qualities.Has(Quality::kInferred)) continue;
        CHECK(Width(row.bounds, Number::kOnCpuExcl) <= 2 * most);
        bounded += Width(row.bounds, Number::kOnCpuExcl) != 0;
      }
    }
  }
  CHECK(bounded > 100);
}

TEST_CASE("hidden switches: a change is known to the unattributed time",
          "[rmap][diff][property]") {
  std::size_t intervals = 0;
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const std::vector<Report> whole = {WithHiddenSwitches(seed, 0)};
    const std::vector<Report> hidden = {WithHiddenSwitches(seed, 40)};
    const auto diff = Compare(whole, hidden, {});
    REQUIRE(diff.ok());
    const auto most = static_cast<double>(UnattributedNs(hidden[0]));
    for (const RowChange& row : diff->rows) {
      const MetricChange* on_cpu = row.Find("on-CPU");
      if (on_cpu == nullptr || row.interrupts) continue;
      // Without one only the waiting in it is bounded.
      if (!on_cpu->self.interval) continue;
      CAPTURE(seed, row.path);
      CHECK(on_cpu->self.interval->low <= 0);
      CHECK(on_cpu->self.interval->high >= 0);
      CHECK(on_cpu->self.interval->high - on_cpu->self.interval->low <=
            2 * most);
      ++intervals;
    }
  }
  CHECK(intervals > 100);
}

}  // namespace
}  // namespace countrace::rmap::diff
