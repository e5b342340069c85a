// The parts of a process's time that it had under other names, before exec; and
// the calls of its segments that have no exit.
#include <catch2/catch.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"
#include "tests/rmap/grouped_rows.h"
#include "tests/rmap/memory_trace.h"

namespace countrace::rmap {
namespace {

using logformat::CountersReason;
using logformat::HookKind;
using test_support::MemoryTrace;

// 40 is sh, then env, then server: it has CPU 0 from 100 to 1000, and its
// thread 41 CPU 1 from 200 to 300. 50 is sh and calls exec while it is off the
// CPU of others: at 500 on CPU 1.
void Fill(MemoryTrace& trace) {
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpu_events = {"task-clock"};
  trace.Dump(100, 0, CountersReason::kBegin, 40, {0});
  trace.State(100, 0, {40, 40}, "sh");
  trace.State(100, 0, {50, 50}, "sh");
  trace.Dump(100, 1, CountersReason::kBegin, 0, {0});
  trace.Fork(150, 0, {40, 41, 40, 40});
  trace.Dispatch(200, 1, 0, 41, logformat::kSwitchRunnable, {100});
  trace.Dispatch(300, 1, 41, 0, logformat::kSwitchDead, {200});
  trace.Exec(400, 0, {40, 40}, "env");
  trace.Dispatch(450, 1, 0, 50, logformat::kSwitchRunnable, {350});
  trace.Exec(500, 1, {50, 50}, "server");
  trace.Exec(600, 0, {40, 40}, "env");  // itself: no other name
  trace.Exec(700, 0, {40, 40}, "server");
  trace.Comm(800, 0, {40, 40}, "worker");
  trace.Dump(1000, 0, CountersReason::kEnd, 40, {900});
  trace.Dump(1000, 1, CountersReason::kEnd, 50, {900});
}

Report MustReconstruct(MemoryTrace& trace,
                       const PipelineOptions& options = {}) {
  auto report = Reconstruct(trace, options);
  REQUIRE(report.ok());
  return *std::move(report);
}

const ProcessRow& Row(const std::vector<ProcessRow>& rows,
                      const std::string& comm) {
  for (const ProcessRow& row : rows) {
    if (row.comm == comm) return row;
  }
  FAIL("no row of " << comm);
  return rows.front();
}

using Parts = std::vector<std::pair<std::string, std::uint64_t>>;

Parts PartsOf(const ProcessRow& row) {
  Parts parts;
  for (const ProgramTime& program : row.before_exec) {
    parts.emplace_back(program.comm, program.on_cpu_ns);
  }
  return parts;
}

TEST_CASE("exec: a row says what it had under former names", "[rmap][exec]") {
  MemoryTrace trace;
  Fill(trace);
  const Report report = MustReconstruct(trace);
  const ProcessRow& worker = Row(report.processes, "worker");
  CHECK(worker.on_cpu_ns == 1000);
  CHECK(PartsOf(worker) == Parts{{"sh", 400}, {"env", 300}});
  const ProcessRow& server = Row(report.processes, "server");
  CHECK(server.on_cpu_ns == 550);
  CHECK(PartsOf(server) == Parts{{"sh", 50}});
  // Rows of one user: both add up.
  const auto one = ProcessesBy("user", report);
  REQUIRE(one.size() == 1);
  CHECK(one[0].on_cpu_ns == 1550);
  CHECK(PartsOf(one[0]) == Parts{{"sh", 450}, {"env", 300}});
}

TEST_CASE("exec: in a range, parts begin with it", "[rmap][exec]") {
  MemoryTrace trace;
  Fill(trace);
  const Report report =
      MustReconstruct(trace, {.range = {.from_ns = 550, .until_ns = 900}});
  const ProcessRow& worker = Row(report.processes, "worker");
  CHECK(worker.on_cpu_ns == 350);
  CHECK(PartsOf(worker) == Parts{{"env", 150}});
  CHECK(PartsOf(Row(report.processes, "server")).empty());
}

TEST_CASE("exec: after a loss the parts are no more than the row",
          "[rmap][exec]") {
  MemoryTrace trace;
  Fill(trace);
  trace.LoseOnCpu(450, 0, 5, logformat::DiscardCause::kKernelRingFull);
  const Report report = MustReconstruct(trace);
  for (const ProcessRow& row : report.processes) {
    CAPTURE(row.comm);
    std::uint64_t ns = 0;
    for (const ProgramTime& program : row.before_exec) {
      CHECK(program.on_cpu_ns != 0);
      ns += program.on_cpu_ns;
    }
    CHECK(ns <= row.on_cpu_ns.value_or(0));
  }
}

TEST_CASE("exec: text, JSON and CSV have the parts", "[rmap][exec][render]") {
  MemoryTrace trace;
  Fill(trace);
  const Report report = MustReconstruct(trace);
  const std::string text =
      RenderReport(report, {.by = ReportBy::kProcess, .color = false});
  CAPTURE(text);
  CHECK(text.find("  (of the 1.00 us of worker (pid 40), before exec: sh 400 "
                  "ns, env 300 ns)\n") != std::string::npos);
  const auto json = nlohmann::json::parse(
      RenderReport(report, {.format = ReportFormat::kJson}));
  const auto& worker = json["processes"][0];
  CHECK(worker["before_exec_ns"] == 700);
  CHECK(worker["before_exec"] ==
        nlohmann::json::parse(R"([{"comm": "sh", "on_cpu_ns": 400},
                                  {"comm": "env", "on_cpu_ns": 300}])"));
  const std::string csv = RenderReport(
      report, {.format = ReportFormat::kCsv,
               .columns = {"comm", "before_exec_ns", "before_exec"}});
  CHECK(csv ==
        "comm,before_exec_ns,before_exec\r\n"
        "worker,700,sh 400 > env 300\r\n"
        "server,50,sh 50\r\n");
}

TEST_CASE("calls without an exit are named with their place",
          "[rmap][render]") {
  MemoryTrace trace;
  trace.AddHook(10, HookKind::kSegment, "app", "handle");
  trace.mutable_info().hooks.back().location = "own.c:10";
  trace.AddHook(11, HookKind::kSegment, "app", "whole");
  trace.mutable_info().hooks.back().location = "own.c:20";
  std::uint64_t now_ns = 100;
  const auto record = [&](std::uint32_t hook, bool exit) {
    trace.HookRecord(now_ns += 10, {7, 7, hook, exit});
  };
  for (int call = 0; call < 50; ++call) {
    record(11, false);
    record(10, false);
    if (call % 25 != 0) record(10, true);
    record(11, true);
  }
  const Report report = MustReconstruct(trace);
  for (const ReportBy by : {ReportBy::kSegment, ReportBy::kPath}) {
    const std::string text = RenderReport(report, {.by = by, .color = false});
    CAPTURE(text);
    CHECK(text.find("  (2 of 50 calls of app:handle (own.c:10) in (no name) "
                    "(pid 7) have no exit in the trace:\n") !=
          std::string::npos);
    CHECK(text.find("own.c:20") == std::string::npos);
  }
}

TEST_CASE("csv: a standard error has all its digits", "[rmap][render]") {
  Report report;
  report.events = {{.name = "cycles", .scaled = true}};
  ProcessRow row;
  row.on_cpu_ns = 1000;
  row.counts = {123};
  row.scaled.resize(1);
  row.scaled[0].emplace();
  row.scaled[0]->standard_error = 0.0012345678901234567;
  report.processes.push_back(row);
  const std::string csv =
      RenderReport(report, {.format = ReportFormat::kCsv,
                            .by = ReportBy::kProcess,
                            .columns = {"scaled.cycles.stderr"}});
  CHECK(csv == "scaled.cycles.stderr\r\n0.0012345678901234567\r\n");
}

}  // namespace
}  // namespace countrace::rmap
