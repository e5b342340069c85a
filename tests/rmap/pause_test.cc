// `record --trigger '... then pause'` and `'... then resume'`: the tables are
// those of the time outside of pauses. Truth: the sums over ranges, which have
// tests of their own.
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "logformat/description/recorded_part.h"
#include "rmap/kept_time.h"
#include "rmap/pipeline.h"
#include "tests/rmap/lost_records.h"
#include "tests/rmap/range_sums.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using logformat::kNotReached;
using logformat::TimeSpan;
using test_support::Join;
using test_support::MemoryTrace;
using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Ranges;
using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;
using test_support::Sums;

Report ReportOf(MemoryTrace& trace, const TableRange& range = {},
                TimelineObserver* observer = nullptr) {
  auto report = Reconstruct(
      trace,
      {.observer = observer, .rows = {.preemptors = true}, .range = range});
  REQUIRE(report.ok());
  return *std::move(report);
}

SimulationOptions Options(std::uint32_t seed) {
  SimulationOptions options = RandomOptions(seed);
  options.steps = 100 + seed % 400;
  options.parks = seed % 2 == 0;
  return options;
}

// Every second range of the trace is a pause.
struct Parts {
  Parts(std::uint32_t seed, const Report& whole) {
    bool in = seed % 3 != 0;
    for (const TableRange& range : Ranges(seed, whole)) {
      if (in) {
        kept.push_back(range);
      } else {
        pauses.push_back(
            {std::max(range.from_ns, whole.begin_ns + 1), range.until_ns});
      }
      in = !in;
    }
    // A pause begins with a record, which lies behind the trace's begin.
    if (seed % 3 == 0) kept.push_back({.until_ns = whole.begin_ns + 1});
  }
  std::vector<TableRange> kept;
  std::vector<TimeSpan> pauses;
};

TEST_CASE("pauses: the clock of the tables", "[rmap][pauses]") {
  const KeptTime kept({{30, 60}, {61, 70}, {90, kNotReached}});
  for (const auto& [real_ns, kept_ns] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 0},
                                                            {29, 29},
                                                            {30, 30},
                                                            {59, 30},
                                                            {60, 30},
                                                            {61, 31},
                                                            {70, 31},
                                                            {71, 32},
                                                            {90, 51},
                                                            {1000, 51}}) {
    CAPTURE(real_ns);
    CHECK(kept.At(real_ns) == kept_ns);
  }
  CHECK(kept.EndAt(30) == 30);
  CHECK(kept.BeginAt(30) == 60);
  CHECK(kept.EndAt(51) == 90);
  CHECK(kept.BeginAt(51) == 90);
  CHECK(kept.PartsOf(20, 40) ==
        std::vector<TimeSpan>{{20, 30}, {60, 61}, {70, 79}});
  CHECK(kept.PartsOf(30, 30) == std::vector<TimeSpan>{{60, 60}});
  CHECK(kept.PartsOf(31, 51) == std::vector<TimeSpan>{{70, 90}});
}

TEST_CASE("pauses: the tables are the sums over what is outside of them",
          "[rmap][property][pauses]") {
  for (std::uint32_t seed = 0; seed < PropertyRuns(1500u); ++seed) {
    const Simulation run = Simulate(Options(seed));
    const Report whole = ReportOf(*run.trace);
    const Parts parts(seed, whole);
    Sums expected, sums;
    std::uint64_t elapsed_ns = 0;
    for (const TableRange& range : parts.kept) {
      const Report report = ReportOf(*run.trace, range);
      elapsed_ns += report.elapsed_ns();
      expected.Add(report);
    }
    run.trace->mutable_info().pauses = parts.pauses;
    const Report report = ReportOf(*run.trace);
    sums.Add(report);
    CAPTURE(seed);
    CHECK(report.elapsed_ns() == elapsed_ns);
    CHECK(report.begin_ns == whole.begin_ns);
    for (const Books& books : report.books) CHECK(books.residual == 0);
    std::set<std::string> names;
    for (const auto& [name, sum] : expected.all()) names.insert(name);
    for (const auto& [name, sum] : sums.all()) names.insert(name);
    for (const std::string& name : names) {
      CAPTURE(name);
      if (!run.truth.reused_tids.empty() &&
          name.find("outside") != std::string::npos) {
        continue;
      }
      const auto in = [&](const Sums& all) {
        const auto found = all.all().find(name);
        return found == all.all().end() ? 0 : found->second;
      };
      CHECK(in(sums) == in(expected));
    }
  }
}

TEST_CASE("pauses: parts never exceed the whole where records are lost",
          "[rmap][property][pauses][loss]") {
  for (std::uint32_t seed = 0; seed < PropertyRuns(1000u); ++seed) {
    CAPTURE(seed);
    SimulationOptions options = Options(seed);
    options.event_sets = seed % 3 == 1;
    options.counter_width = seed % 4 == 1 ? 32 : 64;
    const Simulation run = Simulate(options);
    test_support::LostRecords lost(seed, *run.trace);
    run.trace->RemoveOf(lost);
    const Report whole = ReportOf(*run.trace);
    if (whole.end_ns <= whole.begin_ns + 2) continue;
    run.trace->mutable_info().pauses = Parts(seed, whole).pauses;
    if (seed % 5 == 0 && !run.trace->info().pauses.empty()) {
      run.trace->mutable_info().pauses.back().until_ns = kNotReached;
    }
    const Report report = ReportOf(*run.trace);
    CHECK(report.loss.discarded_events <= whole.loss.discarded_events);
    for (const Books& books : report.books) CHECK(books.residual == 0);
    for (const CpuRow& row : report.cpu_rows) {
      CHECK(row.wall_ns == row.busy_ns + row.idle_ns + row.interrupts_ns +
                               row.outside_ns + row.unattributed_ns);
      CHECK(row.wall_ns <= report.elapsed_ns());
    }
    for (const ThreadRow& row : report.threads) {
      CHECK(row.dispatches < std::uint64_t{1} << 60);
      CHECK(row.on_cpu_ns.value_or(0) + row.wait_ns.value_or(0) +
                row.blocked_ns.value_or(0) <=
            report.elapsed_ns());
    }
    for (const SegmentRow& row : report.segment_paths) {
      CAPTURE(Join(row.path));
      CHECK(row.wall.excl <= row.wall.incl);
      if (row.on_cpu) CHECK(row.on_cpu->incl <= row.wall.incl);
      CHECK(row.end_inferred <= row.calls);
    }
  }
}

TEST_CASE("pauses: a part that is not reached, and a pause without an end",
          "[rmap][pauses]") {
  const Simulation run = Simulate(Options(1));
  const Report whole = ReportOf(*run.trace);
  logformat::TraceInfo& info = run.trace->mutable_info();
  info.pauses = {{whole.begin_ns + 1, kNotReached}};
  const Report paused = ReportOf(*run.trace);
  CHECK(paused.elapsed_ns() == 1);
  CHECK(paused.end_ns == whole.end_ns);
  info.triggers = {{kNotReached, "hook a:b then start", ""}};
  const Report none = ReportOf(*run.trace);
  CHECK(none.elapsed_ns() <= 1);
  CHECK(none.left_out_ns <= none.end_ns - none.begin_ns);
  CHECK(none.threads.empty());
}

}  // namespace
}  // namespace countrace::rmap
