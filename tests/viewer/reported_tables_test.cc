// Tables with the rows of a report beside an index: hooks that share a name,
// ids that were reused, and processes that only the report has.
#include "viewer/server/tables/reported_tables.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/viewer/index_fixture.h"
#include "viewer/server/api/range_api.h"
#include "viewer/server/tables/trace_report.h"

namespace countrace::viewer {
namespace {

nlohmann::json Ask(const BuiltIndex& built, const rmap::Report& report,
                   const std::string& more) {
  HttpRequest request;
  request.method = "GET";
  request.target = "/api/v1/aggregate?from=0&to=1000" + more;
  ApiQuery query(request);
  const HttpResponse response =
      AnswerAggregate(*built.index, query, &report,
                      TablesOfReport(*built.index, {0, 1000}, report));
  CAPTURE(response.body);
  REQUIRE(response.status == 200);
  return nlohmann::json::parse(response.body);
}

rmap::SegmentRow Called(std::uint32_t hook_id, std::uint64_t calls) {
  rmap::SegmentRow row;
  row.segment = "same:name";
  row.hook_id = hook_id;
  row.pid = 7;
  row.calls = calls;
  return row;
}

}  // namespace

TEST_CASE("reported_tables: hooks that share a name have rows of their own",
          "[viewer]") {
  SyntheticTrace trace = MakeSyntheticTrace({.dispatches = 200});
  for (logformat::HookInfo& hook : trace.info.hooks) {
    hook.provider = "same";
    hook.name = "name";
  }
  const std::uint32_t first = trace.info.hooks[0].id;
  const std::uint32_t second = trace.info.hooks[1].id;
  const std::uint32_t point = trace.info.hooks.back().id;
  const BuiltIndex built = BuildIndexOf(std::move(trace));
  rmap::Report report;
  report.segments = {Called(first, 2), Called(second, 3)};
  rmap::HookRow hit;
  hit.hook = "same:name";
  hit.hook_id = point;
  hit.pid = 7;
  hit.hits = 5;
  report.hooks = {hit};
  const nlohmann::json answer = Ask(built, report, "");
  REQUIRE(answer["segments"].size() == 2);
  CHECK(answer["segments"][0]["hook"] == first);
  CHECK(answer["segments"][0]["calls"] == 2);
  CHECK(answer["segments"][1]["hook"] == second);
  CHECK(answer["segments"][1]["calls"] == 3);
  REQUIRE(answer["hooks"].size() == 1);
  CHECK(answer["hooks"][0]["hook"] == point);
  const nlohmann::json chosen = Ask(built, report, "&where=calls%3E2");
  REQUIRE(chosen["segments"].size() == 1);
  CHECK(chosen["segments"][0]["hook"] == second);
}

TEST_CASE("reported_tables: no two processes of a pid get the same number",
          "[viewer]") {
  SyntheticTrace trace = MakeSyntheticTrace({.dispatches = 200});
  const std::uint64_t begin_ns = trace.report.begin_ns;
  for (rmap::ProcessRow& row : trace.report.processes) row.pid = 7;
  for (rmap::ThreadRow& row : trace.report.threads) {
    row.first_seen_ns =
        begin_ns + 1000 * static_cast<std::uint64_t>(row.process);
  }
  const BuiltIndex built = BuildIndexOf(std::move(trace));
  REQUIRE(built.index->processes().size() == 4);
  rmap::Report report;
  for (const std::uint64_t ns : {2100, 900, 2200, 3100, 10, 9000}) {
    rmap::ProcessRow row;
    row.index = static_cast<rmap::ProcessIndex>(100 + report.processes.size());
    row.pid = 7;
    row.first_seen_ns = begin_ns + ns;
    report.processes.push_back(row);
  }
  NumberAsIndex(*built.index, report);
  std::vector<std::uint32_t> numbers;
  for (const rmap::ProcessRow& row : report.processes) {
    numbers.push_back(static_cast<std::uint32_t>(row.index));
  }
  CHECK(numbers == std::vector<std::uint32_t>{2, 1, 3, 4, 0, 5});
}

TEST_CASE("reported_tables: processes that only the report has are named",
          "[viewer]") {
  const BuiltIndex built = BuildSyntheticIndex({.dispatches = 200});
  rmap::Report report;
  report.events = {{.name = "cycles"}, {.name = "faults"}, {.name = "misses"}};
  rmap::ProcessRow process;
  process.index = static_cast<rmap::ProcessIndex>(100);
  process.pid = 4711;
  process.comm = "late";
  process.on_cpu_ns = 5;
  process.counts = {std::nullopt, 1, 2};
  report.processes = {process};
  rmap::ThreadRow thread;
  thread.index = static_cast<rmap::ThreadIndex>(100);
  thread.process = process.index;
  thread.tid = 4712;
  thread.pid = process.pid;
  thread.comm = "worker";
  thread.on_cpu_ns = 5;
  thread.counts = process.counts;
  report.threads = {thread};
  report.segments = {Called(built.trace.info.hooks[0].id, 1)};
  report.segments[0].process = process.index;
  NumberAsIndex(*built.index, report);

  const nlohmann::json answer =
      Ask(built, report,
          "&tables=threads,segments&where=pid%3D%3D4711%7C%7Cpid%3D%3D7");
  REQUIRE(answer["processes"].size() == 1);
  CHECK(answer["processes"][0]["process"] == built.index->processes().size());
  CHECK(answer["processes"][0]["pid"] == 4711);
  CHECK(answer["processes"][0]["comm"] == "late");
  REQUIRE(answer["threads"].size() == 1);
  CHECK(answer["threads"][0]["tid"] == 4712);
  CHECK(answer["threads"][0]["comm"] == "worker");
  REQUIRE(answer["segments"].size() == 1);
  CHECK(answer["segments"][0]["comm"] == "late");
  CHECK(answer["sums"]["threads"]["counts"] == nlohmann::json{nullptr, 1, 2});
}

}  // namespace countrace::viewer
