// Gating chosen at report time, on random machines: the marked and the unmarked
// part add up to everything, row by row and in the books.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rmap/pipeline.h"
#include "rmap/state/gate.h"
#include "tests/rmap/memory_trace.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using logformat::Gating;
using test_support::MemoryTrace;
using test_support::PropertyRuns;
using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;

Report MustReconstruct(logformat::TraceReader& reader,
                       const GatingRequest& gating) {
  PipelineOptions options;
  options.gating = gating;
  auto report = Reconstruct(reader, options);
  INFO(report.status().ToString());
  REQUIRE(report.ok());
  return *std::move(report);
}

// Rows as numbers that can be sorted; all three have the same indexes.
using Key = std::vector<std::uint64_t>;
std::vector<Key> Threads(const Report& report) {
  std::vector<Key> keys;
  for (const ThreadRow& row : report.threads) {
    Key key = {static_cast<std::uint64_t>(row.pid),
               static_cast<std::uint64_t>(row.tid),
               row.on_cpu_ns.value(),
               row.dispatches,
               row.migrations,
               row.wait_ns.value()};
    for (const auto& count : row.counts) key.push_back(count.value());
    keys.push_back(std::move(key));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<std::string> Segments(const Report& report) {
  std::vector<std::string> keys;
  for (const SegmentRow& row : report.segments) {
    if (row.pid == 0) continue;  // interrupts: no process
    std::string key = row.segment + " " + std::to_string(row.pid) + " " +
                      std::to_string(row.calls) + " " +
                      std::to_string(row.wall.incl) + " " +
                      std::to_string(row.on_cpu->incl);
    for (const auto& count : row.counts) {
      key += count ? " " + std::to_string(count->incl) : " -";
    }
    keys.push_back(std::move(key));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

template <typename Row>
std::vector<Row> Merged(std::vector<Row> a, const std::vector<Row>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end());
  return a;
}

TEST_CASE("gating: marked and unmarked add up to everything",
          "[rmap][property]") {
  std::size_t marked_rows = 0, unmarked_rows = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(100u); ++seed) {
    INFO("seed " << seed);
    SimulationOptions options;
    options.seed = seed;
    options.cpus = 1 + seed % 4;
    options.steps = 200 + seed % 500;
    options.threads_first = seed % 2 == 1;
    options.system_calls = seed % 3 != 0;
    options.interrupts = seed % 5 != 0;
    options.dumps = seed / 2 % 2 == 1;
    Simulation run = Simulate(options);
    const Report ungated = MustReconstruct(*run.trace, {});
    REQUIRE_FALSE(ungated.processes.empty());
    GatingRequest request;
    const ProcessRow& root = ungated.processes[seed % ungated.processes.size()];
    request.marks = *logformat::ParseMarks({std::to_string(root.pid)});

    request.count = Gating();
    const Report all = MustReconstruct(*run.trace, request);
    request.count = Gating{.unmarked = false};
    const Report marked = MustReconstruct(*run.trace, request);
    request.count = Gating{.marked = false};
    const Report unmarked = MustReconstruct(*run.trace, request);
    CHECK(marked.count == "marked");
    CHECK(unmarked.count == "unmarked");

    CHECK(Threads(all) == Threads(ungated));
    CHECK(Merged(Threads(marked), Threads(unmarked)) == Threads(ungated));
    CHECK(Merged(Segments(marked), Segments(unmarked)) == Segments(ungated));
    std::set<std::uint32_t> counted;
    for (const ProcessRow& row : marked.processes) {
      CHECK(row.marked);
      counted.insert(static_cast<std::uint32_t>(row.index));
    }
    std::set<std::int32_t> marked_pids = {root.pid};
    for (const ProcessRow& row : all.processes) {
      CHECK(row.marked ==
            counted.contains(static_cast<std::uint32_t>(row.index)));
      if (row.marked) marked_pids.insert(row.pid);
    }
    for (const ProcessRow& row : marked.processes) {
      CHECK((row.pid == root.pid || marked_pids.contains(row.parent_pid)));
    }
    for (std::size_t i = 0; i < ungated.books.size(); ++i) {
      const Books& whole = ungated.books[i];
      CHECK(marked.books[i].total == whole.total);
      CHECK(unmarked.books[i].total == whole.total);
      CHECK(marked.books[i].residual == 0);
      CHECK(unmarked.books[i].residual == 0);
      CHECK(marked.books[i].processes + unmarked.books[i].processes ==
            whole.processes);
      CHECK(marked.books[i].outside ==
            unmarked.books[i].processes + unmarked.books[i].idle);
      CHECK(unmarked.books[i].outside == marked.books[i].processes);
      CHECK(unmarked.books[i].idle == whole.idle);
      CHECK(marked.books[i].interrupts == whole.interrupts);
      CHECK(marked.books[i].unattributed == whole.unattributed);
    }
    marked_rows += marked.threads.size();
    unmarked_rows += unmarked.threads.size();
  }
  CHECK(marked_rows > PropertyRuns(100u));
  CHECK(unmarked_rows > PropertyRuns(100u));
}

// One CPU: 10 forks 11, which is later renamed to "late".
void FillFork(MemoryTrace& trace) {
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpus = 1;
  trace.mutable_info().cpu_events = {"page-faults:u", "page-faults:k"};
  using logformat::CountersReason;
  trace.Dump(100, 0, CountersReason::kBegin, 10, {0, 0});
  trace.State(100, 0, {10, 10, 1, 1}, "early");
  trace.Fork(150, 0, {11, 11, 10, 10});
  trace.Dispatch(200, 0, 10, 11, 0, {1, 10});
  trace.Dispatch(300, 0, 11, 10, 0, {3, 30});
  trace.Dispatch(400, 0, 10, 11, 0, {7, 70});
  trace.Exec(450, 0, {11, 11, 0, 0}, "late");
  trace.Dispatch(500, 0, 11, 0, 0, {15, 150});
  trace.Dump(600, 0, CountersReason::kEnd, 0, {31, 310});
}

std::map<std::int32_t, Counts> CountsByPid(const Report& report) {
  std::map<std::int32_t, Counts> counts;
  for (const ProcessRow& row : report.processes) counts[row.pid] = row.counts;
  return counts;
}

TEST_CASE("gating: a name marks from the stay in which a process gets it",
          "[rmap]") {
  MemoryTrace trace;
  FillFork(trace);
  GatingRequest request;
  request.marks = *logformat::ParseMarks({"late"});
  auto rows = CountsByPid(MustReconstruct(trace, request));
  CHECK(rows.size() == 1);
  CHECK(rows.at(11) == Counts{8, 80});
  request.count = logformat::ParseGating("unmarked");
  rows = CountsByPid(MustReconstruct(trace, request));
  CHECK(rows.at(10) == Counts{5, 50});
  CHECK(rows.at(11) == Counts{2, 20});
  request.count = logformat::ParseGating("kernel,marked");
  const Report kernel = MustReconstruct(trace, request);
  CHECK(EventNames(kernel.events) == std::vector<std::string>{"page-faults:k"});
  CHECK(CountsByPid(kernel).at(11) == Counts{80});
  CHECK(kernel.books.at(0).outside == 230);
  request.count = logformat::ParseGating("none");
  const Report none = MustReconstruct(trace, request);
  CHECK(none.events.empty());
  CHECK(none.processes.size() == 2);
}

TEST_CASE("gating: without kernel records all that joined are counted",
          "[rmap]") {
  MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kHooksOnly;
  trace.mutable_info().gating = logformat::ParseGating("marked");
  trace.AddHook(4096, logformat::HookKind::kSegment, "a", "b");
  trace.HookRecord(100, {7, 7, 4096, false});
  trace.HookRecord(200, {7, 7, 4096, true});
  trace.HookRecord(300, {8, 8, 4096, false});
  trace.HookRecord(400, {8, 8, 4096, true});
  CHECK(MustReconstruct(trace, {}).segments.size() == 2);
  GatingRequest request;
  request.marks = *logformat::ParseMarks({"8"});
  const Report marked = MustReconstruct(trace, request);
  REQUIRE(marked.segments.size() == 1);
  CHECK(marked.segments[0].pid == 8);
}

TEST_CASE("gating: the record of a later mark does not take the parent away",
          "[rmap]") {
  MemoryTrace trace;
  trace.State(100, 0, {7, 7, 1, 0}, "adopted");
  trace.State(200, 0, {7, 7, 3, 0}, "adopted");
  trace.State(300, 0, {7, 7, 0, 0}, "adopted", logformat::kStateMarked);
  const Report report = MustReconstruct(trace, {});
  REQUIRE(report.processes.size() == 1);
  CHECK(report.processes[0].parent_pid == 3);
}

TEST_CASE("gating: one mode has the events that count it alone", "[rmap]") {
  logformat::TraceInfo info;
  info.scope = logformat::SessionScope::kSystem;
  const auto counts = [&info](const char* what, const char* event) {
    return Gate(info, {.count = logformat::ParseGating(what), .marks = {}})
        .CountsEvent(event);
  };
  CHECK(counts("user", "page-faults:u"));
  CHECK_FALSE(counts("user", "page-faults:k"));
  CHECK_FALSE(counts("user", "page-faults"));
  CHECK(counts("kernel", "page-faults:k"));
  CHECK_FALSE(counts("kernel", "page-faults:u"));
  CHECK_FALSE(counts("kernel", "page-faults"));
  CHECK(counts("user,kernel", "page-faults"));
  CHECK(counts("all", "page-faults"));
  CHECK_FALSE(counts("none", "page-faults"));
}

TEST_CASE("gating: what the trace cannot say is refused", "[rmap]") {
  MemoryTrace trace;
  FillFork(trace);
  const auto refused = [&trace](const char* count, const char* mark) {
    PipelineOptions options;
    if (*count != '\0') options.gating.count = logformat::ParseGating(count);
    if (*mark != '\0') options.gating.marks = *logformat::ParseMarks({mark});
    const auto report = Reconstruct(trace, options);
    return report.ok() ? std::string() : std::string(report.status().message());
  };
  CHECK(refused("marked", "10").empty());
  PipelineOptions nothing;
  nothing.gating.count = logformat::ParseGating("none");
  const auto report = Reconstruct(trace, nothing);
  REQUIRE(report.ok());
  CHECK(report->count == "none");
  CHECK(refused("", "user:root").find("record with --mark user:root") !=
        std::string::npos);
  trace.mutable_info().gating = logformat::ParseGating("marked");
  CHECK(refused("marked", "").empty());
  CHECK_FALSE(refused("unmarked", "").empty());
  CHECK(refused("unmarked", "11").empty());  // among the recorded processes
  trace.mutable_info().gating = logformat::ParseGating("user");
  trace.mutable_info().cpu_events = {"page-faults:u", "task-clock"};
  CHECK(refused("user", "").empty());
  const std::string said = refused("kernel", "");
  CHECK(said.find("page-faults:k") != std::string::npos);
  CHECK(said.find("task-clock") != std::string::npos);
}

}  // namespace
}  // namespace countrace::rmap
