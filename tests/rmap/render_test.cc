// Renderings: names of the JSON schema, escaping, layout, determinism.
#include <catch2/catch.hpp>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "rmap/columns/chosen_columns.h"
#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"
#include "tests/rmap/simulated_machine.h"

namespace countrace::rmap {
namespace {

using nlohmann::json;
using test_support::Simulate;

// Everything that a hostile program can put into a name.
constexpr char kHostile[] =
    "a\x1b[2J\nb\r\tc\x7f\xc2\x9b"
    "31m\xe2\x80\xae"
    "evil\xe2\x81\xa6\xff,\"q\"";

Report SimulatedReport(std::uint32_t seed) {
  auto run = Simulate({.seed = seed, .cpus = 2, .steps = 1500});
  auto report = Reconstruct(*run.trace, {});
  REQUIRE(report.ok());
  return *std::move(report);
}

std::vector<std::string> KeysOf(const json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

void CheckHasKeys(const json& object, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    CAPTURE(key, KeysOf(object));
    CHECK(object.contains(key));
  }
}

TEST_CASE("json: names and types are those of countrace.report/1",
          "[rmap][render]") {
  const Report report = SimulatedReport(1);
  const json root =
      json::parse(RenderReport(report, {.format = ReportFormat::kJson}));
  CHECK(root["schema"] == "countrace.report/1");
  CheckHasKeys(root, {"trace", "processes", "threads", "segments",
                      "segment_paths", "hooks", "cpus", "books", "loss"});
  CheckHasKeys(root["trace"],
               {"path", "begin_ns", "end_ns", "cpus", "events", "records"});
  REQUIRE(root["processes"].size() == report.processes.size());
  CheckHasKeys(root["processes"][0],
               {"pid", "comm", "on_cpu_ns", "dispatches", "counts"});
  CheckHasKeys(root["threads"][0],
               {"tid", "pid", "comm", "on_cpu_ns", "dispatches", "migrations",
                "wait_ns", "counts"});
  const json& segment = root["segments"][0];
  CheckHasKeys(segment, {"segment", "pid", "calls", "wall_ns", "on_cpu_ns",
                         "off_cpu_ns", "counts"});
  CheckHasKeys(segment["wall_ns"], {"incl", "excl", "mean", "stddev", "min",
                                    "max", "p50", "p90", "p99"});
  CheckHasKeys(segment["on_cpu_ns"], {"incl", "excl"});
  CheckHasKeys(segment["counts"]["page-faults"], {"incl", "excl", "quality"});
  CHECK_FALSE(segment["counts"].contains("cycles"));  // unknown: absent
  CheckHasKeys(root["books"]["page-faults"],
               {"total", "processes", "idle", "interrupts", "unattributed",
                "residual", "outside", "in_segments"});
  CHECK(root["books"]["page-faults"]["residual"] == 0);
  CheckHasKeys(root["loss"], {"discarded_events", "by_cause"});
  // Times and counts are integers.
  CHECK(root["processes"][0]["on_cpu_ns"].is_number_integer());
  CHECK(segment["wall_ns"]["p99"].is_number_integer());
  CHECK(segment["wall_ns"]["incl"] == report.segments[0].wall.incl);
}

TEST_CASE("json: what the trace cannot say is null, not 0", "[rmap][render]") {
  test_support::MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kHooksOnly;
  trace.AddHook(10, logformat::HookKind::kSegment, "app", "work");
  trace.HookRecord(100, {5, 5, 10, false});
  trace.HookRecord(200, {5, 5, 10, true});
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  const json root =
      json::parse(RenderReport(*report, {.format = ReportFormat::kJson}));
  CHECK(root["processes"][0]["on_cpu_ns"].is_null());
  CHECK(root["segments"][0]["on_cpu_ns"].is_null());
  CHECK(root["segments"][0]["off_cpu_ns"].is_null());
  CHECK(root["segments"][0]["counts"] == json::object());
  CHECK(root["books"] == json::object());
}

TEST_CASE("json lines: each line is an object that names its table",
          "[rmap][render]") {
  const Report report = SimulatedReport(2);
  std::istringstream lines(
      RenderReport(report, {.format = ReportFormat::kJsonLines}));
  std::size_t count = 0, threads = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const json row = json::parse(line);
    threads += row["table"] == "threads";
    if (count == 0) CHECK(row["schema"] == "countrace.report/1");
  }
  CHECK(threads == report.threads.size());
  CHECK(count > threads);
}

// A reader of RFC 4180, written from the standard.
std::vector<std::vector<std::string>> ParseCsv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1);
  std::string field;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += '"';
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      rows.back().push_back(std::exchange(field, ""));
    } else if (c == '\r') {
      REQUIRE(text.at(++i) == '\n');
      rows.back().push_back(std::exchange(field, ""));
      rows.emplace_back();
    } else {
      field += c;
    }
  }
  rows.pop_back();
  return rows;
}

TEST_CASE("csv: every table is rectangular and holds every row",
          "[rmap][render]") {
  Report report = SimulatedReport(3);
  report.processes[0].comm = kHostile;
  const std::pair<ReportBy, std::size_t> tables[] = {
      {ReportBy::kProcess, report.processes.size()},
      {ReportBy::kThread, report.threads.size()},
      {ReportBy::kSegment, report.segments.size()},
      {ReportBy::kPath, report.segment_paths.size()},
      {ReportBy::kCpu, report.cpu_rows.size()},
      {ReportBy::kHook, report.hooks.size()}};
  for (const auto& [by, size] : tables) {
    const auto rows = ParseCsv(
        RenderReport(report, {.format = ReportFormat::kCsv, .by = by}));
    REQUIRE(rows.size() == size + 1);
    for (const auto& row : rows) CHECK(row.size() == rows[0].size());
  }
  const auto rows = ParseCsv(RenderReport(
      report, {.format = ReportFormat::kCsv, .by = ReportBy::kProcess}));
  CHECK(rows[0][1] == "comm");
  CHECK(rows[1][1] == base::EscapeName(kHostile));
}

bool IsSafe(const std::string& text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0x7f) return false;
    if (byte < 0x20 && c != '\n' && c != '\r') return false;
  }
  return text.find("\xc2\x9b") == std::string::npos &&
         text.find("\xe2\x80\xae") == std::string::npos &&
         text.find("\xe2\x81\xa6") == std::string::npos;
}

TEST_CASE("names: no control character or direction mark reaches the output",
          "[rmap][render]") {
  Report report = SimulatedReport(4);
  report.path = report.command = kHostile;
  report.processes[0].comm = report.threads[0].comm = kHostile;
  for (auto* rows : {&report.segments, &report.segment_paths}) {
    rows->at(0).segment = rows->at(0).comm = kHostile;
  }
  report.segment_paths[0].path[0] = kHostile;
  report.hooks[0].hook = kHostile;
  report.events[0].name = kHostile;
  report.loss.messages.push_back(kHostile);
  report.loss.by_cause[kHostile] = 1;
  for (const ReportFormat format :
       {ReportFormat::kText, ReportFormat::kJson, ReportFormat::kJsonLines,
        ReportFormat::kCsv}) {
    for (const ReportBy by :
         {ReportBy::kDefault, ReportBy::kProcess, ReportBy::kThread,
          ReportBy::kSegment, ReportBy::kPath, ReportBy::kCpu,
          ReportBy::kHook}) {
      const std::string text =
          RenderReport(report, {.format = format, .by = by, .max_rows = 0});
      CAPTURE(static_cast<int>(format), static_cast<int>(by));
      CHECK(IsSafe(text));
    }
  }
}

TEST_CASE("text: the loss line comes last and says every cause",
          "[rmap][render]") {
  Report report = SimulatedReport(5);
  report.records = 1234567;
  report.loss.discarded_events = 1500;
  report.loss.by_cause = {{"disk_full", 300}, {"no_sub_buffer", 1200}};
  for (const ReportBy by : {ReportBy::kDefault, ReportBy::kThread,
                            ReportBy::kPath, ReportBy::kCpu}) {
    const std::string text = RenderReport(report, {.by = by});
    const std::string last =
        "\ncaptured 1,234,567 records; 1,500 event records were lost "
        "(disk_full "
        "300, no_sub_buffer 1,200)\n";
    REQUIRE(text.size() > last.size());
    CHECK(text.substr(text.size() - last.size()) == last);
  }
}

TEST_CASE("text: tables keep to the width of the terminal", "[rmap][render]") {
  const Report report = SimulatedReport(6);
  for (const ReportBy by :
       {ReportBy::kDefault, ReportBy::kProcess, ReportBy::kThread,
        ReportBy::kSegment, ReportBy::kCpu, ReportBy::kHook}) {
    std::istringstream lines(RenderReport(report, {.by = by, .width = 100}));
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(static_cast<int>(by), line);
      // Names of columns take two lines, if there are many.
      const bool names = line.starts_with("  (not shown for lack of width: ");
      CHECK(base::DisplayColumns(line) <= (names ? 300 : 100));
    }
  }
}

TEST_CASE("text: the books of a command begin with its own totals",
          "[rmap][render]") {
  test_support::MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kCommand;
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  Report shown = *report;
  shown.events = {{.name = "task-clock"}, {.name = "page-faults"}};
  shown.books.assign(2, Books{});
  for (Books& books : shown.books) {
    books.known = true;
    books.total = 900;
    books.processes = 200;
    books.outside = 693;
    books.unattributed = 7;
  }
  const std::string books =
      "\nBOOKS of the command\n"
      "  event        processes  unattributed  residual\n"
      "  task-clock      200 ns          7 ns         0\n"
      "  page-faults        200             7         0\n"
      "  (outside, of the whole machine: task-clock 693 ns of 900 ns,"
      " page-faults 693 of 900)\n";
  CHECK_THAT(RenderReport(shown, {}), Catch::Contains(books));
  CHECK_THAT(RenderReport(shown, {.width = 70}),
             Catch::Contains("900 ns,\n   page-faults 693 of 900)\n"));
  // In a trace of the whole machine, the total is the first number.
  shown.scope = "system";
  CHECK_THAT(
      RenderReport(shown, {}),
      Catch::Contains("\nBOOKS\n  event         total  processes  idle"));
}

TEST_CASE("columns: those that are named, in their order", "[rmap][render]") {
  const Report report = SimulatedReport(8);
  const std::vector<std::string> names = {"comm", "page-faults", "on-CPU",
                                          "first_seen_ns", "wall_ns"};
  RenderOptions options = {.by = ReportBy::kProcess, .columns = names};
  std::istringstream text(RenderReport(report, options));
  std::string line;
  while (line != "PROCESSES" && std::getline(text, line)) {
  }
  std::getline(text, line);
  std::istringstream titles(line);
  const std::vector<std::string> shown{
      std::istream_iterator<std::string>(titles), {}};
  // Rows of processes have no wall time.
  CHECK(shown == std::vector<std::string>{"command", "page-faults", "on-CPU",
                                          "first_seen_ns"});
  options.format = ReportFormat::kCsv;
  CHECK(ParseCsv(RenderReport(report, options))[0] ==
        std::vector<std::string>{"comm", "counts.page-faults", "on_cpu_ns",
                                 "first_seen_ns"});
  options.by = ReportBy::kPath;
  CHECK(ParseCsv(RenderReport(report, options))[0] ==
        std::vector<std::string>{"comm", "counts.page-faults.incl",
                                 "on_cpu_ns.incl", "wall_ns.incl"});
  CHECK(CheckColumns(report, {ReportBy::kPath}, {"wall_ns", "calls"}).ok());
  const absl::Status unknown =
      CheckColumns(report, {ReportBy::kPath}, {"wall_ns", "cals"});
  CHECK(absl::IsInvalidArgument(unknown));
  CHECK_THAT(std::string(unknown.message()), Catch::Contains("`calls`"));
  CHECK_FALSE(CheckColumns(report, {ReportBy::kProcess}, {"wall_ns"}).ok());
}

TEST_CASE("text: cut rows and dropped columns are said", "[rmap][render]") {
  const Report report = SimulatedReport(6);
  REQUIRE(report.threads.size() > 3);
  const std::string text = RenderReport(
      report, {.by = ReportBy::kThread, .max_rows = 2, .width = 70});
  CHECK(text.find(base::FormatCount(report.threads.size() - 2) +
                  " more rows not shown") != std::string::npos);
  CHECK(text.find("not shown for lack of width: ") != std::string::npos);
  CHECK(text.find("cycles") != std::string::npos);
}

TEST_CASE("render: the same bytes read in runs or record by record",
          "[rmap][render][property]") {
  const auto seed = GENERATE(range(0u, 60u));
  CAPTURE(seed);
  test_support::SimulationOptions options = test_support::RandomOptions(seed);
  options.event_sets = seed % 6 == 5;
  options.wakeups = seed % 2 == 1;
  test_support::Simulation machine = test_support::Simulate(options);
  if (seed % 5 == 4) {
    machine.trace->Remove([](std::size_t i) { return i % 29 == 11; },
                          /*declare=*/true);
  }
  TimelineObserver observer;
  const auto one = Reconstruct(*machine.trace, {});
  const auto two = Reconstruct(*machine.trace, {.observer = &observer});
  REQUIRE(one.ok());
  REQUIRE(two.ok());
  for (const ReportFormat format :
       {ReportFormat::kText, ReportFormat::kJson, ReportFormat::kJsonLines,
        ReportFormat::kCsv}) {
    for (const ReportBy by :
         {ReportBy::kDefault, ReportBy::kProcess, ReportBy::kThread,
          ReportBy::kSegment, ReportBy::kPath, ReportBy::kCpu, ReportBy::kHook,
          ReportBy::kWaker, ReportBy::kPreemptor, ReportBy::kSystemCall}) {
      const RenderOptions render = {.format = format, .by = by, .max_rows = 0};
      CHECK(RenderReport(*one, render) == RenderReport(*two, render));
    }
  }
}

TEST_CASE("render: the same trace gives the same bytes", "[rmap][render]") {
  for (const ReportFormat format :
       {ReportFormat::kText, ReportFormat::kJson, ReportFormat::kJsonLines,
        ReportFormat::kCsv}) {
    CHECK(RenderReport(SimulatedReport(7), {.format = format}) ==
          RenderReport(SimulatedReport(7), {.format = format}));
  }
}

}  // namespace
}  // namespace countrace::rmap
