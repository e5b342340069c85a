// The rows of processes and threads in a window, ranked, filtered and paged:
// against the events that the index was built from, and `aggregate`.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/viewer/index_fixture.h"
#include "viewer/index/rows/row_tree.h"
#include "viewer/server/api/timeline_api.h"

namespace countrace::viewer {
namespace {

using nlohmann::json;

HttpResponse AnswerOf(const BuiltIndex& built, const std::string& path) {
  HttpRequest request;
  request.method = "GET";
  request.target = "/api/v1/" + path;
  return AnswerApi(*built.index, nullptr, request);
}
json Ask(const BuiltIndex& built, const std::string& path) {
  const HttpResponse response = AnswerOf(built, path);
  CAPTURE(path, response.body);
  REQUIRE(response.status == 200);
  return json::parse(response.body);
}
// A copy: a part of a temporary ends with it.
json Items(const BuiltIndex& built, const std::string& path) {
  return Ask(built, path)["items"];
}
std::string Refused(const BuiltIndex& built, const std::string& path) {
  const HttpResponse response = AnswerOf(built, path);
  CAPTURE(path, response.body);
  CHECK(response.status == 400);
  return json::parse(response.body).value("error", "");
}

std::string Window(TimeRange range) {
  return "from=" + std::to_string(range.begin_ns) +
         "&to=" + std::to_string(range.end_ns);
}

std::string Encoded(const std::string& text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (const unsigned char letter : text) {
    encoded += {'%', kHex[letter / 16], kHex[letter % 16]};
  }
  return encoded;
}

TimeRange AnyRange(std::mt19937_64& random, std::uint64_t duration_ns) {
  const std::uint64_t a = random() % duration_ns;
  const std::uint64_t b = random() % duration_ns;
  return {std::min(a, b), std::max(a, b) + 1};
}

std::set<std::uint32_t> Numbers(const json& items, const char* name) {
  std::set<std::uint32_t> numbers;
  for (const json& item : items) {
    CHECK(numbers.insert(item[name].get<std::uint32_t>()).second);
  }
  return numbers;
}

}  // namespace

TEST_CASE("row_tree: processes and threads have the CPU time of the window",
          "[viewer][property]") {
  const auto seed = GENERATE(1u, 2u, 3u);
  const BuiltIndex built = BuildSyntheticIndex(
      {.seed = seed, .cpus = 2, .processes = 9, .dispatches = 1500});
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20; ++i) {
    TimeRange range = AnyRange(random, built.index->duration_ns());
    if (i == 0) range = {0, built.index->duration_ns()};
    if (i % 3 == 1) range.end_ns = range.begin_ns + 1 + random() % 100'000;
    CAPTURE(seed, range.begin_ns, range.end_ns);
    std::map<std::uint32_t, std::uint64_t> of_threads, of_processes;
    for (const TrueDispatch& one : built.trace.dispatches) {
      if (one.thread == kNoKey) continue;
      const std::uint64_t from =
          std::max(range.begin_ns, one.begin_ns - built.begin_ns());
      const std::uint64_t to =
          std::min(range.end_ns, one.end_ns - built.begin_ns());
      if (to <= from) continue;
      of_threads[one.thread] += to - from;
      of_processes[built.index->ProcessOf(one.thread)] += to - from;
    }
    std::set<std::uint32_t> rows;
    const auto take_rows = [&](const ThreadBranch& branch) {
      for (std::uint32_t k = 0; k < branch.rows; ++k) {
        CHECK(rows.insert(branch.first_row + k).second);
        CHECK(built.index->rows()[branch.first_row + k].owner == branch.thread);
      }
    };
    const std::vector<ProcessBranch> processes =
        RankProcesses(*built.index, range);
    const ProcessBranch* before = nullptr;
    for (const ProcessBranch& process : processes) {
      CHECK(process.on_cpu_ns == of_processes[process.process]);
      CHECK((process.active || process.on_cpu_ns == 0));
      if (before != nullptr && before->hooked == process.hooked &&
          before->active == process.active) {
        CHECK(before->on_cpu_ns >= process.on_cpu_ns);
      }
      before = &process;
      const std::vector<ThreadBranch> threads =
          RankThreads(*built.index, process.process, range);
      CHECK(threads.size() == process.threads);
      std::uint64_t sum_ns = 0, active = 0;
      for (const ThreadBranch& thread : threads) {
        CHECK(thread.on_cpu_ns == of_threads[thread.thread]);
        CHECK(built.index->ProcessOf(thread.thread) == process.process);
        sum_ns += thread.on_cpu_ns;
        active += thread.active ? 1 : 0;
        take_rows(thread);
      }
      CHECK(sum_ns == process.on_cpu_ns);
      CHECK(active == process.active_threads);
    }
    // Each row of a thread is in one place.
    for (std::uint32_t row = 0; row < built.index->rows().size(); ++row) {
      const RowKind kind = built.index->rows()[row].kind;
      if (kind == RowKind::kThreadRun || kind == RowKind::kSegment ||
          kind == RowKind::kHook) {
        CHECK(rows.contains(row));
      }
    }
  }
}

TEST_CASE("row_tree: a page has the first rows, and those that were asked for",
          "[viewer]") {
  const BuiltIndex built = BuildSyntheticIndex(
      {.seed = 4, .cpus = 2, .processes = 9, .dispatches = 900});
  const std::string window = Window({0, built.index->duration_ns() / 3});
  const json all = Ask(built, "rows?" + window);
  REQUIRE(all["items"].size() == 9);
  CHECK(all["total"] == 9);
  CHECK(all["of"] == 9);
  const json page = Ask(built, "rows?" + window + "&first=2&top=3&also=" +
                                   all["items"][7]["process"].dump());
  REQUIRE(page["items"].size() == 4);
  for (const auto& [at, rank] :
       std::map<std::size_t, std::size_t>{{0, 2}, {1, 3}, {2, 4}, {3, 7}}) {
    CHECK(page["items"][at]["process"] == all["items"][rank]["process"]);
    CHECK(page["items"][at]["rank"] == rank);
    CHECK(page["items"][at]["kept"] == (rank == 7));
  }
  CHECK(page["window_ns"] == all["window_ns"]);
  const std::string two = all["items"][0]["process"].dump() + "," +
                          all["items"][1]["process"].dump();
  const json threads = Ask(built, "rows?" + window + "&top=1&parent=" + two);
  REQUIRE(threads["parents"].size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const json& parent = threads["parents"][i];
    CHECK(parent["parent"] == all["items"][i]["process"]);
    CHECK(parent["total"] == all["items"][i]["threads"]);
    REQUIRE(parent["items"].size() == 1);
    for (const json& row : parent["items"][0]["rows"]) {
      CHECK(row["owner"] == parent["items"][0]["thread"]);
    }
  }
  // A process that is not there has no threads.
  CHECK(Ask(built, "rows?" + window +
                       "&parent=4000000000")["parents"][0]["total"] == 0);
  for (const char* wrong :
       {"rows?from=5&to=4", "rows?from=1", "rows?from=0&to=9&top=1001",
        "rows?from=0&to=9&parent=x", "rows?from=0&to=9&also=1,,2",
        "rows?from=0&to=9&first=-1", "processes?ids=1,x", "find?q=%4",
        "rows?from=0&to=9&where=%zz"}) {
    CHECK_FALSE(Refused(built, wrong).empty());
  }
}

TEST_CASE("row_tree: names by their numbers, and by a part of them",
          "[viewer]") {
  const BuiltIndex built = BuildSyntheticIndex({.seed = 4, .dispatches = 300});
  const json threads = Items(built, "threads");
  const json some = Items(built, "threads?ids=3,1,99999");
  REQUIRE(some.size() == 2);
  CHECK(some[0] == threads[3]);
  CHECK(some[1] == threads[1]);
  const json trace = Ask(built, "trace");
  CHECK(trace["hues"]["of"].get<std::string>().size() ==
        built.index->processes().size());
  for (const json& process : Items(built, "processes")) {
    const std::string name = process["comm"];
    const char letter =
        trace["hues"]["of"].get<std::string>()[process["process"]];
    if (letter != '.') {
      CHECK(trace["hues"]["names"][static_cast<std::size_t>(letter - 'a')] ==
            name);
    }
    std::string text = name + " " + process["pid"].dump();
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char one) { return std::toupper(one); });
    const json found = Ask(built, "find?q=" + Encoded(" " + text + " "));
    REQUIRE(found["processes"].size() == 1);
    CHECK(found["processes"][0] == process);
  }
  for (const json& hook : Items(built, "hooks")) {
    const json found =
        Ask(built, "find?q=" + Encoded(hook["name"].get<std::string>()));
    const bool there = std::any_of(
        found["hooks"].begin(), found["hooks"].end(),
        [&](const json& one) { return one["hook"] == hook["hook"]; });
    CHECK(there == (hook["calls"] > 0));
  }
  const json none = Ask(built, "find?q=");
  CHECK(none["processes"].empty());
}

TEST_CASE("row_tree: a condition selects what `aggregate` says it is true of",
          "[viewer][property]") {
  const BuiltIndex built = BuildSyntheticIndex(
      {.seed = 6, .cpus = 2, .processes = 9, .dispatches = 1500});
  std::mt19937_64 random(6);
  std::map<std::uint32_t, std::uint32_t> process_of;
  for (const json& thread : Items(built, "threads")) {
    process_of[thread["thread"]] = thread["process"];
  }
  for (int i = 0; i < 10; ++i) {
    const TimeRange range = AnyRange(random, built.index->duration_ns());
    const std::string window = Window(range);
    const auto rows = [&](const std::string& where) {
      return Numbers(
          Items(built, "rows?" + window + "&where=" + Encoded(where)),
          "process");
    };
    const json sums = Ask(
        built, "aggregate?" + window + "&tables=processes,threads,segments");
    REQUIRE_FALSE(sums["threads"].empty());
    const json& middle = sums["threads"][sums["threads"].size() / 2];
    const std::uint64_t limit_ns = middle["on_cpu_ns"];
    std::set<std::uint32_t> expected;
    for (const json& thread : sums["threads"]) {
      if (thread["on_cpu_ns"] > limit_ns) {
        expected.insert(process_of[thread["thread"]]);
      }
    }
    for (const json& process : sums["processes"]) {
      if (process["on_cpu_ns"] > limit_ns)
        expected.insert(process["process"].get<std::uint32_t>());
    }
    CAPTURE(window, limit_ns);
    CHECK(rows("on_cpu_ns > " + std::to_string(limit_ns) + "ns") == expected);
    // On threads only: the others of their processes are left out.
    const std::uint32_t thread = middle["thread"];
    const std::string tid = std::to_string(built.index->threads()[thread].tid);
    CHECK(rows("tid == " + tid) == std::set{process_of[thread]});
    const json of_one = Ask(built, "rows?" + window + "&parent=" +
                                       std::to_string(process_of[thread]) +
                                       "&where=" + Encoded("tid == " + tid));
    CHECK(Numbers(of_one["parents"][0]["items"], "thread") == std::set{thread});
    // On segments only: all threads of their processes.
    REQUIRE_FALSE(sums["segments"].empty());
    const json& call = sums["segments"][0];
    std::string name;
    for (const json& hook : Items(built, "hooks")) {
      if (hook["hook"] == call["hook"]) name = hook["name"];
    }
    std::set<std::uint32_t> callers;
    for (const json& one : sums["segments"]) {
      if (one["hook"] == call["hook"] && one["calls"] >= call["calls"]) {
        callers.insert(one["process"].get<std::uint32_t>());
      }
    }
    CHECK(rows("segment == \"" + name +
               "\" && calls >= " + call["calls"].dump()) == callers);
    CHECK(rows("pid < 0").empty());
  }
}

TEST_CASE("row_tree: what is no condition is refused with its place",
          "[viewer]") {
  const BuiltIndex built = BuildSyntheticIndex({.seed = 6, .dispatches = 300});
  const auto refused = [&](const std::string& where) {
    return Refused(built, "rows?from=0&to=9&where=" + Encoded(where));
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(refused("pid == 1 &&"), Contains("--where:1:"));
  CHECK_THAT(refused("pid == 1 && colour == 3"),
             Contains("--where:1:13") && Contains("colour"));
  CHECK_THAT(refused("comm > 3"), Contains("--where:1:"));
  CHECK_THAT(refused("comm =~ \"(\""), Contains("--where:1:"));
  // The report has it, a window of the timeline has not.
  CHECK_THAT(refused("tid == 4 && migrations > 3"),
             Contains("--where:1:13") && Contains("`migrations`") &&
                 Contains("wait_ns"));
  CHECK_THAT(refused("tid == 4 && calls > 3"), Contains("--where:1:"));
  CHECK_FALSE(refused("").empty());
}

TEST_CASE("row_tree: a condition narrows each table by its own rows",
          "[viewer][property]") {
  const BuiltIndex built = BuildSyntheticIndex(
      {.seed = 8, .cpus = 2, .processes = 9, .dispatches = 1500});
  std::mt19937_64 random(8);
  const auto where = [](const std::string& condition) {
    return "&where=" + Encoded(condition);
  };
  for (int i = 0; i < 10; ++i) {
    const std::string range =
        "aggregate?" + Window(AnyRange(random, built.index->duration_ns())) +
        "&tables=";
    for (const auto& [table, field, name] :
         {std::tuple("processes", "on_cpu_ns", "/on_cpu_ns"),
          std::tuple("threads", "on_cpu_ns", "/on_cpu_ns"),
          std::tuple("threads", "wait_ns", "/wait_ns"),
          std::tuple("segments", "wall_ns", "/wall_ns/incl")}) {
      const json::json_pointer number(name);
      const json whole = Ask(built, range + table);
      if (whole[table].empty()) continue;
      const std::uint64_t least_ns =
          whole[table][whole[table].size() / 2][number];
      CAPTURE(range, table, field, least_ns);
      const json some =
          Ask(built, range + table +
                         where(absl::StrFormat("%s >= %dns", field, least_ns)));
      json expected = json::array();
      std::uint64_t rest_ns = 0;
      for (const json& row : whole[table]) {
        if (row[number] >= least_ns) {
          expected.push_back(row);
        } else if (row["on_cpu_ns"].is_number()) {
          rest_ns += row["on_cpu_ns"].get<std::uint64_t>();
        }
      }
      CHECK(some[table] == expected);
      const json& rest = some["unselected"][table];
      CHECK(rest["rows"] == whole[table].size() - expected.size());
      if (rest.contains("on_cpu_ns")) CHECK(rest["on_cpu_ns"] == rest_ns);
      CHECK_FALSE(some["unselected"].contains("waits"));
    }
    // A condition on names is true of all that a process has.
    const std::size_t process = random() % built.index->processes().size();
    const std::string of_one = where(
        absl::StrFormat("pid == %d", built.index->processes()[process].pid));
    for (const char* table : {"hooks", "waits", "segments"}) {
      CAPTURE(range, table, process);
      json expected = json::array();
      const json whole = Ask(built, range + table);
      for (const json& row : whole[table]) {
        if (row["process"] == process) expected.push_back(row);
      }
      CHECK(Ask(built, range + table + of_one)[table] == expected);
    }
  }
  const std::string range = "aggregate?from=0&to=9999999999&tables=processes";
  CHECK_THAT(Refused(built, range + where("pid == 1 && colour == 3")),
             Catch::Matchers::Contains("--where:1:13"));
  // Its rows have no such field: they stay.
  const json cpus = Ask(
      built, "aggregate?from=0&to=9999999999&tables=cpus" + where("tid == 1"));
  CHECK(cpus["cpus"].size() == cpus["cpus_total"]);
  CHECK(cpus["unselected"].contains("threads"));
  CHECK_FALSE(cpus["unselected"].contains("processes"));
}

}  // namespace countrace::viewer
