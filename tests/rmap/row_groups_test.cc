// Rows for threads, processes and names: those of the one add up to those of
// the others.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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

struct Sum {
  std::uint64_t times = 0, ns = 0, longest_ns = 0;
  auto operator<=>(const Sum&) const = default;
  void Add(std::uint64_t more_times, std::uint64_t more_ns,
           std::uint64_t longest) {
    times += more_times;
    ns += more_ns;
    longest_ns = std::max(longest_ns, longest);
  }
};

// Coarser names of finer rows: of a process its pid, of a name nothing.
using Place = std::tuple<std::int32_t, std::string, std::vector<std::string>,
                         int, std::int32_t, std::string, std::string>;

Place PlaceOf(const WakerRow& row, RowsOf of) {
  const bool process = of == RowsOf::kProcess;
  return {process ? row.pid : 0,
          row.comm,
          row.path,
          static_cast<int>(row.waker.kind),
          process ? row.waker.pid.value_or(-1) : -1,
          row.waker.comm,
          row.waker.segment};
}
Place PlaceOf(const PreemptorRow& row, RowsOf of) {
  const bool process = of == RowsOf::kProcess;
  return {process ? row.pid : 0,
          row.comm,
          {},
          static_cast<int>(row.preemptor.kind),
          process ? row.preemptor.pid.value_or(-1) : -1,
          row.preemptor.comm,
          ""};
}

std::uint64_t NsOf(const WakerRow& row) { return row.blocked_ns; }
std::uint64_t NsOf(const PreemptorRow& row) { return row.wait_ns; }

template <typename Rows>
std::map<Place, Sum> SumsOf(const Rows& rows, RowsOf of) {
  std::map<Place, Sum> sums;
  for (const auto& row : rows) {
    sums[PlaceOf(row, of)].Add(row.times, NsOf(row), row.longest_ns);
  }
  return sums;
}

// Processes of one name, as a make has: names from pids.
Report Of(std::uint32_t seed, RowsOf of, bool lossy) {
  SimulationOptions options = RandomOptions(seed);
  options.wakeups = true;
  Simulation run = Simulate(options);
  if (lossy) {
    run.trace->Remove([](std::size_t i) { return i % 37 == 5; },
                      /*declare=*/true);
  }
  auto report = Reconstruct(
      *run.trace,
      {.rows = {.preemptors = true, .wakers_of = of, .preemptors_of = of}});
  REQUIRE(report.ok());
  return *std::move(report);
}

// Every thread of the simulation has a name that its process has, too.
TEST_CASE("groups: rows of threads add up to those of processes and names",
          "[rmap][property]") {
  std::uint64_t finer = 0, coarser = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(150u); ++seed) {
    const bool lossy = seed % 3 == 2;
    CAPTURE(seed, lossy);
    const Report threads = Of(seed, RowsOf::kThread, lossy);
    const Report processes = Of(seed, RowsOf::kProcess, lossy);
    const Report names = Of(seed, RowsOf::kComm, lossy);
    for (const RowsOf of : {RowsOf::kProcess, RowsOf::kComm}) {
      const Report& coarse = of == RowsOf::kProcess ? processes : names;
      CHECK(SumsOf(threads.wakers, of) == SumsOf(coarse.wakers, of));
      CHECK(SumsOf(threads.preemptors, of) == SumsOf(coarse.preemptors, of));
    }
    finer += threads.wakers.size() > processes.wakers.size() ? 1 : 0;
    coarser += names.preemptors.size() < processes.preemptors.size() ? 1 : 0;
    for (const WakerRow& row : threads.wakers) {
      CHECK(row.tid != 0);
      CHECK(row.waker.tid.has_value() ==
            (row.waker.kind == WakerKind::kThread));
    }
    for (const PreemptorRow& row : names.preemptors) {
      CHECK((row.pid == 0 && row.tid == 0 && !row.preemptor.pid));
    }
  }
  CHECK(finer > 0);
  CHECK(coarser > PropertyRuns(50u));
}

}  // namespace
}  // namespace countrace::rmap
