// Multiplexed event sets on a machine whose truth is known: counted values
// balance exactly, and the estimates' intervals contain the truth as often as
// they state.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>

#include "rmap/pipeline.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::PropertyRuns;
using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;

constexpr std::size_t kCycles = 4, kInstructions = 5;

SimulationOptions RandomOptions(std::uint32_t seed) {
  SimulationOptions options;
  options.seed = seed;
  options.cpus = 1 + seed % 3;
  options.steps = 4000;
  options.command_scope = seed / 4 % 2 == 1;
  options.system_calls = seed % 3 != 0;
  options.interrupts = seed % 5 != 0;
  options.dumps = seed / 2 % 2 == 1;
  options.event_sets = true;
  return options;
}

Report MustReconstruct(logformat::TraceReader& reader) {
  auto report = Reconstruct(reader, {});
  REQUIRE(report.ok());
  return *std::move(report);
}

// How many intervals there were, and how many contained the truth.
struct Coverage {
  std::uint64_t held = 0, intervals = 0;
  double relative_error = 0;  // sum

  void Add(const ScaledCount& count, std::uint64_t truth) {
    const auto interval = count.Interval95();
    if (!interval || count.slices < 20) return;
    const double off =
        std::abs(static_cast<double>(count.value) - static_cast<double>(truth));
    ++intervals;
    if (interval->lo <= truth && truth <= interval->hi) ++held;
    if (truth != 0) relative_error += off / static_cast<double>(truth);
  }
  double percent() const {
    return 100.0 * static_cast<double>(held) / static_cast<double>(intervals);
  }
};

TEST_CASE("event sets: multiplexed counts balance exactly",
          "[rmap][property]") {
  const auto seed = GENERATE(range(0u, PropertyRuns(60u)));
  CAPTURE(seed);
  const SimulationOptions options = RandomOptions(seed);
  const bool simulated_exactly = !options.interrupts || options.dumps;
  const Simulation simulation = Simulate(options);
  const Report report = MustReconstruct(*simulation.trace);
  REQUIRE(report.books.size() == 6);
  for (std::size_t event = 0; event < 6; ++event) {
    CAPTURE(event);
    const Books& books = report.books[event];
    CHECK(books.residual == 0);
    // Without dumps, the counts of interrupts cannot be separated.
    if (simulated_exactly) CHECK(books.unattributed == 0);
    CHECK(books.scaled.has_value() == (event >= kCycles));
  }
  // Events that are always counted are as exact as without sets.
  for (std::size_t event = 0; event < kCycles; ++event) {
    CHECK(report.books[event].total == simulation.truth.total[event]);
    CHECK(report.books[event].processes ==
          simulation.truth.processes_total[event]);
  }
  const Books& cycles = report.books[kCycles];
  // Every delta lies in one rotation: exactly the counts of the rotations.
  CHECK(cycles.total == simulation.truth.cycles_in_turns);
  // The rows add up to the account `processes`.
  std::uint64_t counted = 0;
  for (const ThreadRow& row : report.threads) {
    if (row.scaled[kCycles]) counted += row.scaled[kCycles]->counted;
  }
  CHECK(counted <= cycles.processes);
  const ScaledBooks& scaled = *cycles.scaled;
  const ScaledBooks& other = *report.books[kInstructions].scaled;
  CHECK(scaled.running_ns + other.running_ns <= scaled.enabled_ns);
  CHECK(scaled.enabled_ns ==
        simulation.truth.duration_ns * simulation.trace->info().cpus);
  CHECK(scaled.total ==
        scaled.processes.value_or(0) + scaled.own.value_or(0) +
            scaled.idle.value_or(0) + scaled.interrupts.value_or(0) +
            scaled.outside.value_or(0) + scaled.unattributed.value_or(0));
}

TEST_CASE("event sets: 95 % intervals hold the truth about 95 % of the time",
          "[rmap][property]") {
  Coverage threads, processes, books;
  // All of them under sanitizers, too: a percentage of a few says nothing.
  for (std::uint32_t seed = 1000; seed < 1400; ++seed) {
    const SimulationOptions options = RandomOptions(seed);
    if (options.interrupts && !options.dumps) continue;  // rows are bounds
    const Simulation simulation = Simulate(options);
    const Report report = MustReconstruct(*simulation.trace);
    // tids are reused: a row is compared if its tid is unique.
    std::map<std::int32_t, std::vector<std::uint64_t>> by_tid, by_pid;
    std::map<std::uint64_t, std::pair<std::int32_t, std::uint64_t>> by_process;
    for (const auto& thread : simulation.truth.threads) {
      by_tid[thread.tid].push_back(thread.counts[kCycles]);
      by_process[thread.process].first = thread.pid;
      by_process[thread.process].second += thread.counts[kCycles];
    }
    for (const auto& [process, sum] : by_process) {
      by_pid[sum.first].push_back(sum.second);
    }
    for (const ThreadRow& row : report.threads) {
      const auto& same = by_tid[row.tid];
      if (same.size() == 1 && row.scaled[kCycles]) {
        threads.Add(*row.scaled[kCycles], same.front());
      }
    }
    for (const ProcessRow& row : report.processes) {
      const auto& same = by_pid[row.pid];
      if (same.size() == 1 && row.scaled[kCycles]) {
        processes.Add(*row.scaled[kCycles], same.front());
      }
    }
    ScaledCount total;
    total.value = report.books[kCycles].scaled->total;
    total.standard_error = report.books[kCycles].scaled->standard_error;
    total.slices = 1000;
    total.freedom = report.books[kCycles].scaled->freedom;
    books.Add(total, simulation.truth.total[kCycles]);
  }
  const auto print = [](const char* name, const Coverage& coverage) {
    std::printf(
        "%s: %.1f %% of %llu intervals hold the truth, mean error %.1f %%\n",
        name, coverage.percent(),
        static_cast<unsigned long long>(coverage.intervals),
        100 * coverage.relative_error /
            static_cast<double>(coverage.intervals));
  };
  print("threads", threads);
  print("processes", processes);
  print("books", books);
  REQUIRE(threads.intervals > 100);
  REQUIRE(books.intervals > 150);
  for (const Coverage* coverage : {&threads, &processes, &books}) {
    CHECK(coverage->percent() >= 90);
    CHECK(coverage->percent() <= 99);
  }
}

TEST_CASE("event sets: a lost record costs where, never how many",
          "[rmap][property]") {
  const auto seed = GENERATE(range(0u, PropertyRuns(40u)));
  CAPTURE(seed);
  Simulation simulation = Simulate(RandomOptions(seed));
  std::mt19937 random(seed);
  simulation.trace->Remove([&](std::size_t) { return random() % 50 == 0; },
                           /*declare=*/true);
  const Report report = MustReconstruct(*simulation.trace);
  for (const Books& books : report.books) CHECK(books.residual == 0);
}

}  // namespace
}  // namespace countrace::rmap
