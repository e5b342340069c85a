// The tables of threads, CPUs and waits in a range, against the events that the
// index was built from; and which processes have hooks of their own.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>

#include "logformat/packet_layout.h"
#include "rmap/columns/report_tables.h"
#include "tests/viewer/index_fixture.h"
#include "viewer/index/range/cpu_totals.h"
#include "viewer/index/range/thread_totals.h"
#include "viewer/index/range/wait_totals.h"
#include "viewer/server/api/timeline_api.h"

namespace countrace::viewer {
namespace {

std::uint64_t Common(TimeRange range, const BuiltIndex& built,
                     std::uint64_t begin_ns, std::uint64_t end_ns) {
  const std::uint64_t from =
      std::max(range.begin_ns, begin_ns - built.begin_ns());
  const std::uint64_t to = std::min(range.end_ns, end_ns - built.begin_ns());
  return to > from ? to - from : 0;
}

TimeRange AnyRange(std::mt19937_64& random, std::uint64_t duration_ns) {
  const std::uint64_t a = random() % duration_ns;
  const std::uint64_t b = random() % duration_ns;
  return {std::min(a, b), std::max(a, b)};
}

nlohmann::json Ask(const BuiltIndex& built, const std::string& path) {
  HttpRequest request;
  request.method = "GET";
  request.target = "/api/v1/" + path;
  const HttpResponse response = AnswerApi(*built.index, nullptr, request);
  CAPTURE(response.body);
  REQUIRE(response.status == 200);
  return nlohmann::json::parse(response.body);
}

}  // namespace

TEST_CASE("range_tables: threads and CPUs equal brute force",
          "[viewer][property]") {
  const auto seed = GENERATE(1u, 2u, 3u);
  const BuiltIndex built =
      BuildSyntheticIndex({.seed = seed, .cpus = 3, .dispatches = 1500});
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20; ++i) {
    const TimeRange range = AnyRange(random, built.index->duration_ns());
    CAPTURE(seed, range.begin_ns, range.end_ns);
    std::map<std::uint32_t, std::uint64_t> on_cpu, waited, busy, idle;
    for (const TrueDispatch& one : built.trace.dispatches) {
      const std::uint64_t ns = Common(range, built, one.begin_ns, one.end_ns);
      if (one.thread == kNoKey) {
        idle[one.cpu] += ns;
      } else {
        on_cpu[one.thread] += ns;
        busy[one.cpu] += ns;
      }
    }
    for (const TrueWait& wait : built.trace.waits) {
      waited[wait.thread] += Common(range, built, wait.begin_ns, wait.end_ns);
    }
    for (const ThreadTotals& row : ThreadsIn(*built.index, range)) {
      CHECK(row.run.on_cpu_ns == std::exchange(on_cpu[row.thread], 0));
      CHECK(row.wait_ns == std::exchange(waited[row.thread], 0));
    }
    for (const auto& [thread, ns] : on_cpu) CHECK(ns == 0);
    for (const auto& [thread, ns] : waited) CHECK(ns == 0);
    for (const rmap::CpuRow& row : CpusIn(*built.index, range)) {
      CHECK(row.busy_ns == busy[row.cpu]);
      CHECK(row.idle_ns == idle[row.cpu]);
      CHECK(row.busy_ns + row.idle_ns + row.outside_ns + row.interrupts_ns +
                row.unattributed_ns ==
            range.end_ns - range.begin_ns);
    }
  }
}

TEST_CASE("range_tables: interrupts are apart, also without an occupant",
          "[viewer][property]") {
  const auto seed = GENERATE(1u, 2u, 3u);
  SyntheticTrace trace =
      MakeSyntheticTrace({.seed = seed, .cpus = 2, .dispatches = 1500});
  std::map<std::uint32_t, std::uint64_t> last;
  std::size_t unknown = 0;
  for (TrueDispatch& one : trace.dispatches) {
    const std::uint64_t before = std::exchange(last[one.cpu], one.end_ns);
    if (before != 0 && before < one.begin_ns) {
      ++unknown;
      trace.interrupts.push_back({one.cpu, before + 10, one.begin_ns - 10});
    }
    const std::uint64_t third = (one.end_ns - one.begin_ns) / 3;
    if (third == 0 || third % 2 == 0) continue;
    one.interrupts_ns = third;
    trace.interrupts.push_back(
        {one.cpu, one.begin_ns + third, one.begin_ns + 2 * third});
  }
  REQUIRE(unknown > 2);
  const BuiltIndex built = BuildIndexOf(std::move(trace));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20; ++i) {
    const TimeRange range = i == 0
                                ? TimeRange{0, built.index->duration_ns()}
                                : AnyRange(random, built.index->duration_ns());
    CAPTURE(seed, range.begin_ns, range.end_ns);
    std::map<std::uint32_t, std::uint64_t> busy, idle, interrupts;
    const auto add = [&](const TrueDispatch& one, std::uint64_t begin_ns,
                         std::uint64_t end_ns) {
      auto& sums = one.thread == kNoKey ? idle : busy;
      sums[one.cpu] += Common(range, built, begin_ns, end_ns);
    };
    for (const TrueDispatch& one : built.trace.dispatches) {
      const std::uint64_t third = one.interrupts_ns;
      add(one, one.begin_ns, one.begin_ns + third);
      add(one, one.begin_ns + 2 * third, one.end_ns);
    }
    for (const TrueInterrupt& one : built.trace.interrupts) {
      interrupts[one.cpu] += Common(range, built, one.begin_ns, one.end_ns);
    }
    for (const rmap::CpuRow& row : CpusIn(*built.index, range)) {
      CHECK(row.busy_ns == busy[row.cpu]);
      CHECK(row.idle_ns == idle[row.cpu]);
      CHECK(row.interrupts_ns == interrupts[row.cpu]);
    }
  }
}

TEST_CASE("range_tables: a dispatch of no length has its counts", "[viewer]") {
  SyntheticTrace trace = MakeSyntheticTrace({.cpus = 1, .dispatches = 100});
  const std::uint32_t thread = 0;
  const std::uint64_t at_ns = trace.dispatches[50].end_ns;
  std::uint64_t before = 0;
  for (const TrueDispatch& one : trace.dispatches) {
    if (one.thread == thread) before += one.counts[2];
  }
  trace.dispatches.push_back({.cpu = 0,
                              .thread = thread,
                              .begin_ns = at_ns,
                              .end_ns = at_ns,
                              .counts = {0, 0, 0},
                              .inferred = true});
  trace.late_counts.push_back({0, rmap::Account::kProcesses,
                               rmap::ThreadIndex{thread}, at_ns, at_ns, 2, 7});
  const BuiltIndex built = BuildIndexOf(std::move(trace));
  std::size_t rows = 0;
  for (const ThreadTotals& row :
       ThreadsIn(*built.index, {0, built.index->duration_ns()})) {
    if (row.thread != thread) continue;
    ++rows;
    CHECK(row.run.counts[2] == before + 7);
  }
  CHECK(rows == 1);
}

TEST_CASE("range_tables: the waits of a process are those of its threads",
          "[viewer][property]") {
  const auto seed = GENERATE(1u, 2u, 3u);
  SyntheticTrace trace =
      MakeSyntheticTrace({.seed = seed, .cpus = 2, .dispatches = 1500});
  trace.report.wakeups = true;
  const BuiltIndex built = BuildIndexOf(std::move(trace));
  std::mt19937_64 random(seed);
  std::size_t held = 0;
  std::size_t woken = 0;
  std::size_t throttled = 0;
  for (int i = 0; i < 20; ++i) {
    const TimeRange range = AnyRange(random, built.index->duration_ns());
    CAPTURE(seed, range.begin_ns, range.end_ns);
    std::map<std::uint32_t, std::uint64_t> waiting, blocked;
    for (const ThreadTotals& row : ThreadsIn(*built.index, range)) {
      const std::uint32_t process = built.index->ProcessOf(row.thread);
      waiting[process] += row.wait_ns;
      REQUIRE(row.blocked_ns.has_value());
      blocked[process] += *row.blocked_ns;
    }
    const auto waits = WaitsIn(*built.index, range);
    REQUIRE(waits.ok());
    for (const WaitRow& row : *waits) {
      auto& sum = row.is_blocked() ? blocked : waiting;
      CHECK(sum[row.process] >= row.ns);
      sum[row.process] -= row.ns;
      CHECK(row.longest_ns <= row.ns);
      CHECK(row.longest_begin_ns >= range.begin_ns);
      CHECK(row.longest_begin_ns + row.longest_ns <= range.end_ns);
      throttled += row.by == decltype(row.by)(rmap::PreemptorKind::kThrottled);
      if (row.by_thread == kNoKey) continue;
      ++(row.is_blocked() ? woken : held);
    }
    for (const auto& [process, ns] : waiting) CHECK(ns == 0);
    for (const auto& [process, ns] : blocked) CHECK(ns == 0);
  }
  CHECK(held != 0);
  CHECK(woken != 0);
  CHECK(throttled != 0);
}

TEST_CASE("range_tables: a program's provider may be named as the kernel's",
          "[viewer]") {
  using logformat::HookOrigin;
  const auto [origin, hooked] = GENERATE(std::pair(HookOrigin::kProgram, true),
                                         std::pair(HookOrigin::kProbe, true),
                                         std::pair(HookOrigin::kKernel, false));
  SyntheticTrace trace = MakeSyntheticTrace({.dispatches = 200});
  for (logformat::HookInfo& hook : trace.info.hooks) {
    hook.provider = origin == HookOrigin::kKernel ? "server" : "block";
    hook.origin = origin;
  }
  const BuiltIndex built = BuildIndexOf(std::move(trace));
  const nlohmann::json processes = Ask(built, "processes")["items"];
  REQUIRE(!processes.empty());
  for (const nlohmann::json& row : processes) CHECK(row["hooked"] == hooked);
}

TEST_CASE("range_tables: tables that are wanted are paged and sorted",
          "[viewer]") {
  const BuiltIndex built = BuildSyntheticIndex({.dispatches = 1000});
  const std::string range = "aggregate?from=0&to=9999999999";
  const nlohmann::json plain = Ask(built, range);
  for (const char* table : {"threads", "cpus", "waits"}) {
    CHECK(!plain.contains(table));
    const std::string wanted = range + "&tables=" + table;
    const nlohmann::json whole = Ask(built, wanted);
    CHECK(whole["segments_total"].is_null());
    REQUIRE(whole[table].size() > 1);
    CHECK(whole[table].size() == whole[std::string(table) + "_total"]);
    const nlohmann::json page = Ask(built, wanted + "&offset=1&limit=1");
    REQUIRE(page[table].size() == 1);
    CHECK(page[table][0] == whole[table][1]);
  }
  for (const auto& [table, column] :
       {std::pair("threads", "wait_ns"), std::pair("threads", "dispatches"),
        std::pair("waits", "times")}) {
    CAPTURE(table, column);
    const nlohmann::json sorted =
        Ask(built, range + "&tables=" + table + "&sort=" + column);
    std::uint64_t last = UINT64_MAX;
    for (const nlohmann::json& row : sorted[table]) {
      CHECK(row[column].get<std::uint64_t>() <= last);
      last = row[column].get<std::uint64_t>();
    }
  }
}

TEST_CASE("range_tables: columns have the report's titles and meanings",
          "[viewer]") {
  SyntheticTrace trace = MakeSyntheticTrace({.dispatches = 200});
  const rmap::Report report = trace.report;
  const BuiltIndex built = BuildIndexOf(std::move(trace));
  const nlohmann::json columns = Ask(built, "trace")["columns"];
  std::size_t titled = 0;
  rmap::ForEachTable([&](const auto& table) {
    for (const auto& column : ColumnsOf(table, report)) {
      if (column.name[0] == "errors" || column.name[0] == "scaled") continue;
      const nlohmann::json& one = columns[table.name][FullName(column)];
      CAPTURE(table.name, FullName(column));
      CHECK(one["unit"] == UnitName(column.unit));
      CHECK(one["meaning"] == column.meaning);
      if (column.title.empty()) continue;
      ++titled;
      CHECK(one["title"] == column.title);
    }
  });
  CHECK(titled > 50);
  const nlohmann::json& segments = columns["segments"];
  CHECK(segments["on_cpu_ns.excl"]["title"] == "on-CPU self");
  CHECK(segments["wall_ns.mean"]["title"] == "mean");
  CHECK(columns["processes"]["parent_pid"]["title"] == "parent_pid");
}

}  // namespace countrace::viewer
