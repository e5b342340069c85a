// Tables of a part of a trace: ranges that follow each other add up to the
// whole, parts never exceed the whole, and what an edge cuts is where it
// belongs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "rmap/pipeline.h"
#include "rmap/report/render_options.h"
#include "rmap/report/report_render.h"
#include "tests/rmap/lost_records.h"
#include "tests/rmap/range_sums.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using logformat::CountersReason;
using test_support::Join;
using test_support::MemoryTrace;
using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Ranges;
using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;
using test_support::Sums;

Report ReportOf(MemoryTrace& trace, const TableRange& range = {}) {
  auto report =
      Reconstruct(trace, {.rows = {.preemptors = true}, .range = range});
  REQUIRE(report.ok());
  return *std::move(report);
}

SimulationOptions Options(std::uint32_t seed) {
  SimulationOptions options = RandomOptions(seed);
  options.steps = 100 + seed % 400;
  options.parks = seed % 2 == 0;
  return options;
}

TEST_CASE("range: ranges that follow each other add up to the whole",
          "[rmap][property][range]") {
  for (std::uint32_t seed = 0; seed < PropertyRuns(1500u); ++seed) {
    const Simulation run = Simulate(Options(seed));
    const Report whole = ReportOf(*run.trace);
    Sums expected, sums;
    expected.Add(whole);
    for (const TableRange& range : Ranges(seed, whole)) {
      sums.Add(ReportOf(*run.trace, range));
    }
    for (const auto& [name, sum] : expected.all()) {
      CAPTURE(seed, name);
      // The first record behind an edge has the tid of another thread: who had
      // the CPU up to the edge is unknown.
      if (!run.truth.reused_tids.empty() &&
          name.find("outside") != std::string::npos) {
        continue;
      }
      const auto found = sums.all().find(name);
      CHECK((found == sums.all().end() ? 0 : found->second) == sum);
    }
    for (const auto& [name, sum] : sums.all()) {
      CAPTURE(seed, name);
      CHECK(expected.all().contains(name));
    }
  }
}

TEST_CASE("range: parts never exceed the whole, and the books add up",
          "[rmap][property][range][loss]") {
  for (std::uint32_t seed = 0; seed < PropertyRuns(1500u); ++seed) {
    SimulationOptions options = Options(seed);
    options.event_sets = seed % 3 == 1;
    options.counter_width = seed % 4 == 1 ? 32 : 64;
    options.resets = seed % 6 == 2;
    const Simulation run = Simulate(options);
    if (seed % 2 == 1) {
      test_support::LostRecords lost(seed, *run.trace);
      run.trace->RemoveOf(lost);
    }
    const Report whole = ReportOf(*run.trace);
    if (whole.end_ns <= whole.begin_ns + 1) continue;
    for (const TableRange& range : Ranges(seed, whole)) {
      const Report report = ReportOf(*run.trace, range);
      CAPTURE(seed, range.from_ns, range.until_ns);
      for (const Books& books : report.books) CHECK(books.residual == 0);
      for (const CpuRow& row : report.cpu_rows) {
        CHECK(row.wall_ns == row.busy_ns + row.idle_ns + row.interrupts_ns +
                                 row.outside_ns + row.unattributed_ns);
        CHECK(row.wall_ns <= report.end_ns - report.begin_ns);
      }
      for (const ThreadRow& row : report.threads) {
        CHECK(row.on_cpu_ns.value_or(0) + row.wait_ns.value_or(0) +
                  row.blocked_ns.value_or(0) <=
              report.end_ns - report.begin_ns);
      }
      for (const SegmentRow& row : report.segment_paths) {
        CAPTURE(Join(row.path));
        CHECK(row.wall.excl <= row.wall.incl);
        if (row.on_cpu) CHECK(row.on_cpu->incl <= row.wall.incl);
        CHECK(row.end_inferred <= row.calls);
      }
    }
  }
}

TEST_CASE("range: all of a trace has the tables of the trace",
          "[rmap][range]") {
  for (std::uint32_t seed = 0; seed < PropertyRuns(50u); ++seed) {
    const Simulation run = Simulate(Options(seed));
    const Report whole = ReportOf(*run.trace);
    const Report range = ReportOf(*run.trace, {.from_ns = whole.begin_ns});
    const RenderOptions json{.format = ReportFormat::kJson};
    CHECK(RenderReport(range, json) == RenderReport(whole, json));
    CHECK_FALSE(range.of_range);
  }
}

// task-clock, page-faults, context-switches, cycles. Thread 7 runs from 1000 to
// 1600, thread 8 until the end at 2000; 10 cycles a nanosecond.
void TwoThreads(MemoryTrace& trace) {
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpus = 1;
  trace.mutable_info().begin_ns = 1000;
  trace.mutable_info().cpu_events = {"task-clock", "page-faults",
                                     "context-switches", "cycles"};
  trace.AddHook(1, logformat::HookKind::kSegment, "app", "outer");
  trace.AddHook(2, logformat::HookKind::kSegment, "app", "inner");
  trace.Dump(1000, 0, CountersReason::kBegin, 7, {0, 0, 0, 0});
  for (const std::int32_t pid : {7, 8}) {
    trace.State(1000, 0, {pid, pid, 0, 0}, "app" + std::to_string(pid));
  }
  trace.HookRecord(1100, {7, 7, 1});
  trace.HookRecord(1200, {7, 7, 2});
  trace.Fault(1250, 0, {7, 7, 0, 0});
  trace.HookRecord(1300, {7, 7, 2, true});
  trace.Fault(1450, 0, {7, 7, 0, 0});
  trace.HookRecord(1500, {7, 7, 1, true});
  trace.Dispatch(1600, 0, 7, 8, logformat::kSwitchInterruptible,
                 {600, 2, 0, 6000});
  trace.Dump(2000, 0, CountersReason::kEnd, 8, {1000, 2, 1, 10000});
}

const SegmentRow& SegmentOf(const Report& report, const std::string& name) {
  const auto found =
      std::find_if(report.segments.begin(), report.segments.end(),
                   [&](const SegmentRow& row) { return row.segment == name; });
  REQUIRE(found != report.segments.end());
  return *found;
}

TEST_CASE("range: a call counts where it begins, and its time where it is",
          "[rmap][range]") {
  MemoryTrace trace;
  TwoThreads(trace);
  const Report report = ReportOf(trace, {1250, 1400});
  CHECK(report.begin_ns == 1250);
  CHECK(report.end_ns == 1400);
  const SegmentRow& outer = SegmentOf(report, "app:outer");
  CHECK(outer.calls == 0);
  CHECK(outer.wall.incl == 150);
  CHECK(outer.wall.excl == 100);
  CHECK(outer.on_cpu->incl == 150);
  const SegmentRow& inner = SegmentOf(report, "app:inner");
  CHECK(inner.calls == 0);
  CHECK(inner.wall.incl == 50);
  const Report first = ReportOf(trace, {0, 1250});
  CHECK(SegmentOf(first, "app:outer").calls == 1);
  CHECK(SegmentOf(first, "app:outer").end_inferred == 1);
  CHECK(SegmentOf(first, "app:outer").wall.incl == 150);
  // Nothing of it is in the last part.
  const Report last = ReportOf(trace, {.from_ns = 1500});
  CHECK(last.segments.empty());
}

// Thread 8 gets the CPU at 1600, which the kernel shows without a dump. That of
// 1700 has counted four switches since 1100; the records show two.
TEST_CASE("range: a hidden switch is noticed in the range that ends with it",
          "[rmap][range]") {
  MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpus = 1;
  trace.mutable_info().begin_ns = 1000;
  trace.mutable_info().cpu_events = {"task-clock", "context-switches"};
  trace.Dump(1000, 0, CountersReason::kBegin, 7, {0, 0});
  for (const std::int32_t pid : {7, 8}) {
    trace.State(1000, 0, {pid, pid, 0, 0}, "app" + std::to_string(pid));
  }
  trace.Dispatch(1100, 0, 7, 0, logformat::kSwitchInterruptible, {100, 0});
  trace.SwitchIn(1600, 0, 0, 8);
  trace.Dispatch(1700, 0, 8, 0, logformat::kSwitchInterruptible, {700, 4});
  trace.Dump(2000, 0, CountersReason::kEnd, 0, {1000, 5});
  for (const TableRange& range : {TableRange(), TableRange{.from_ns = 1300},
                                  TableRange{.from_ns = 1650}}) {
    CAPTURE(range.from_ns);
    const Report report = ReportOf(trace, range);
    const auto eight =
        std::find_if(report.threads.begin(), report.threads.end(),
                     [](const ThreadRow& row) { return row.tid == 8; });
    REQUIRE(eight != report.threads.end());
    CHECK(eight->on_cpu_ns == 0);
    const std::uint64_t ran_ns =
        1700 - std::max<std::uint64_t>(range.from_ns, 1600);
    CHECK(eight->bounds.Of(Number::kOnCpu).value_or(Bounds()).hi == ran_ns);
  }
  // The switches up to its end are shown.
  CHECK(ReportOf(trace, {.from_ns = 1701}).hidden_switches == 0);
}

TEST_CASE("range: a count without records that an edge cuts is in the limits",
          "[rmap][range]") {
  MemoryTrace trace;
  TwoThreads(trace);
  const Report report = ReportOf(trace, {1250, 1700});
  REQUIRE(report.threads.size() == 2);
  const ThreadRow& seven = report.threads[0];
  REQUIRE(seven.tid == 7);
  CHECK(seven.on_cpu_ns == 350);
  CHECK(seven.counts[0] == 350);
  CHECK(seven.counts[1] == 2);  // page faults at 1250 and 1450
  CHECK(seven.counts[2] == 0);
  CHECK_FALSE(seven.bounds.Of(Number::kOnCpu));
  const auto cycles =
      seven.bounds.Of(CountNumber(3, CountPart::kWhole)).value_or(Bounds());
  CHECK(cycles.lo == 0);
  CHECK(cycles.hi == 6000);
  const ThreadRow& eight = report.threads[1];
  CHECK(eight.on_cpu_ns == 100);
  CHECK(eight.dispatches == 1);
  CHECK(eight.counts[2] == 1);
  CHECK(report.books[0].total == 450);
  CHECK(report.books[3].total == 0);
  CHECK(report.books[3].doubt.cut_intervals == 2);
  CHECK(report.books[3].doubt.cut_counts == 10000);
}

// The dump at 1600 ends the interval of the range before it.
TEST_CASE("range: a dump at its edge cuts no count", "[rmap][range]") {
  MemoryTrace trace;
  TwoThreads(trace);
  const Report before = ReportOf(trace, {.until_ns = 1600});
  CHECK(before.books[0].total == 600);
  CHECK(before.books[1].total == 2);
  CHECK(before.books[3].total == 6000);
  const Report behind = ReportOf(trace, {.from_ns = 1600});
  CHECK(behind.books[0].total == 400);
  CHECK(behind.books[1].total == 0);
  CHECK(behind.books[3].total == 4000);
  for (const Report* report : {&before, &behind}) {
    CHECK_FALSE(report->books[3].doubt.any());
    for (const ThreadRow& row : report->threads) CHECK(row.bounds.empty());
  }
  // One that begins behind a dump has only a part of what it counted.
  const Report inside = ReportOf(trace, {1250, 1600});
  CHECK(inside.books[3].total == 0);
  CHECK(inside.books[3].doubt.cut_counts == 6000);
}

// The counter's clock is some ns ahead of the records' when it is read.
TEST_CASE("range: a clock's rest at a dump at an edge is in one range",
          "[rmap][range]") {
  MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpus = 1;
  trace.mutable_info().begin_ns = 1000;
  trace.mutable_info().cpu_events = {"task-clock"};
  trace.Dump(1000, 0, CountersReason::kBegin, 7, {0});
  trace.State(1000, 0, {7, 7, 0, 0}, "app");
  trace.Dump(1600, 0, CountersReason::kTick, 7, {605});
  trace.Dump(2000, 0, CountersReason::kEnd, 7, {1010});
  for (const std::uint64_t edge_ns : {1000, 1250, 1600}) {
    CAPTURE(edge_ns);
    std::uint64_t total = 0;
    for (const TableRange& range :
         {TableRange{.until_ns = edge_ns}, TableRange{edge_ns, 1600},
          TableRange{.from_ns = 1600}}) {
      if (range.from_ns < range.until_ns) {
        total += ReportOf(trace, range).books[0].total;
      }
    }
    CHECK(total == 1010);
  }
}

// The run time of a dispatch is counted at the switch that ends it.
TEST_CASE("range: a dump inside a cut dispatch has none of its run time",
          "[rmap][range]") {
  MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpus = 1;
  trace.mutable_info().cpu_events = {"task-clock", "exec-runtime"};
  trace.State(1000, 0, {7, 7, 0, 0}, "app");
  trace.Dump(1000, 0, CountersReason::kBegin, 7, {0, 0});
  trace.Dispatch(1100, 0, 7, 0, 0, {100, 90});
  trace.Dispatch(1200, 0, 0, 7, 0, {200, 90});
  for (const std::uint64_t at : {1400ull, 1600ull}) {
    trace.Dump(at, 0, CountersReason::kTick, 7, {at - 1000, 90});
  }
  trace.Dispatch(1800, 0, 7, 0, 0, {800, 680});
  trace.Dump(2000, 0, CountersReason::kEnd, 0, {1000, 680});
  const auto check = [&](TableRange range, std::uint64_t on_cpu_ns,
                         std::uint64_t count, std::uint64_t hi) {
    CAPTURE(range.from_ns, range.until_ns);
    const Report report = ReportOf(trace, range);
    REQUIRE(report.threads.size() == 1);
    const ThreadRow& row = report.threads[0];
    CHECK(row.on_cpu_ns == on_cpu_ns);
    CHECK(row.counts[1] == count);
    const Bounds bounds = row.bounds.Of(CountNumber(1, CountPart::kWhole))
                              .value_or(Bounds{count, count});
    CHECK(bounds.lo == count);
    CHECK(bounds.hi == hi);
    CHECK(report.books[1].residual == 0);
  };
  check({1300, 1900}, 500, 0, 590);
  check({1500, 1900}, 300, 0, 590);
  check({1150, 1900}, 600, 590, 590);
  // Its switch is not in what is read.
  check({1000, 1300}, 200, 90, Bounds::kNone);
  check({1300, 1500}, 200, 0, Bounds::kNone);
  check({1000, 1150}, 100, 90, 90);
}

TEST_CASE("range: without kernel records, calls go on between two records",
          "[rmap][range]") {
  MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kHooksOnly;
  trace.mutable_info().begin_ns = 1000;
  trace.AddHook(1, logformat::HookKind::kSegment, "app", "outer");
  trace.HookRecord(1100, {7, 7, 1});
  trace.HookRecord(1900, {7, 7, 1, true});
  const Report middle = ReportOf(trace, {1200, 1500});
  CHECK(SegmentOf(middle, "app:outer").wall.incl == 300);
  CHECK(SegmentOf(middle, "app:outer").calls == 0);
  const Report rest = ReportOf(trace, {.from_ns = 1500});
  CHECK(SegmentOf(rest, "app:outer").wall.incl == 400);
}

TEST_CASE("range: without a record inside, it has what went on",
          "[rmap][range]") {
  MemoryTrace trace;
  TwoThreads(trace);
  const Report report = ReportOf(trace, {1700, 1800});
  REQUIRE(report.threads.size() == 2);
  CHECK(report.threads[0].tid == 8);
  CHECK(report.threads[0].on_cpu_ns == 100);
  CHECK(report.threads[0].dispatches == 0);
  CHECK(report.threads[0].counts[0] == 100);
  CHECK(report.records == 0);
  for (const Books& books : report.books) CHECK(books.residual == 0);
}

TEST_CASE("range: a loss elsewhere is none of it", "[rmap][range][loss]") {
  MemoryTrace trace;
  TwoThreads(trace);
  trace.LoseOfThread(1510, 7, 7, 3, logformat::DiscardCause::kDiskFull);
  CHECK(ReportOf(trace, {0, 1500}).loss.discarded_events == 0);
  CHECK(ReportOf(trace, {1500, 1700}).loss.discarded_events == 3);
  CHECK(ReportOf(trace, {1700, 1900}).loss.discarded_events == 0);
}

TEST_CASE("pauses: a loss is left out if a pause holds all of it",
          "[rmap][pauses][loss]") {
  for (const std::uint64_t until_ns : {1300u, 1500u}) {
    MemoryTrace trace;
    TwoThreads(trace);
    trace.LosePackets(1250, 0, "why", until_ns);
    trace.mutable_info().pauses = {{1220, 1400}};
    CHECK(ReportOf(trace).loss.discarded_packets ==
          (until_ns == 1500 ? 1u : 0u));
  }
}

// `record --trigger '... then start'`.
TEST_CASE("a trace of which a part was asked for has the tables of a range",
          "[rmap][property][range]") {
  const auto json = [](Report report) {
    report.triggers.clear();
    RenderOptions options;
    options.format = ReportFormat::kJson;
    return RenderReport(report, options);
  };
  for (std::uint32_t seed = 0; seed < PropertyRuns(300u); ++seed) {
    CAPTURE(seed);
    SimulationOptions options = RandomOptions(seed);
    options.event_sets = seed % 2 == 0;
    options.steps = 100 + seed % 300;
    const Simulation run = Simulate(options);
    const std::uint64_t begin_ns = run.trace->info().begin_ns;
    const std::uint64_t start_ns =
        begin_ns + 1 + run.truth.duration_ns * (seed % 7) / 8;
    const std::uint64_t until_ns =
        seed % 3 == 0 ? begin_ns + run.truth.duration_ns * 9 / 10 + 1
                      : TableRange().until_ns;
    const std::string expected =
        json(ReportOf(*run.trace, {start_ns, until_ns}));
    run.trace->mutable_info().triggers = {
        {begin_ns + 1, "hook a:b", "another one"},
        {start_ns, "hook a:b then start", "a:b was reached"}};
    CHECK(json(ReportOf(*run.trace, {.until_ns = until_ns})) == expected);
    CHECK(json(ReportOf(*run.trace, {begin_ns, until_ns})) == expected);
  }
}

}  // namespace
}  // namespace countrace::rmap
