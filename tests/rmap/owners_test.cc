// Users and cgroups of processes, and rows for each.
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rmap/pipeline.h"
#include "tests/rmap/grouped_rows.h"
#include "tests/rmap/memory_trace.h"

namespace countrace::rmap {
namespace {

using logformat::CountersReason;
using logformat::OwnerRecord;
using test_support::MemoryTrace;

// One CPU from 1000 to 9000, on which the tids of `turns` run in turn for
// 1000 ns each.
void Run(const std::vector<std::uint32_t>& turns, MemoryTrace& trace) {
  trace.mutable_info().cpus = 1;
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpu_events = {"task-clock"};
  std::uint64_t now = 1000;
  trace.Dump(now, 0, CountersReason::kBegin, turns[0], {0});
  for (std::size_t i = 1; i < turns.size(); ++i) {
    now += 1000;
    trace.Dispatch(now, 0, turns[i - 1], turns[i], 0, {now - 1000});
  }
  trace.Dump(9000, 0, CountersReason::kEnd, turns.back(), {8000});
}

OwnerRecord Owner(std::int32_t pid, std::uint32_t uid, std::uint64_t cgroup,
                  std::int32_t own_pid = 0) {
  return {0, pid, uid, cgroup, own_pid, pid};
}

std::map<std::int32_t, ProcessRow> Rows(MemoryTrace& trace) {
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  std::map<std::int32_t, ProcessRow> rows;
  for (const ProcessRow& row : report->processes) rows[row.pid] = row;
  return rows;
}

}  // namespace

TEST_CASE("owners: a process has its last one, a child its parent's",
          "[rmap]") {
  MemoryTrace trace;
  Run({5, 6, 7, 8, 5}, trace);
  trace.mutable_info().users = {{0, "root"}, {33, "www-data"}};
  trace.mutable_info().cgroups = {{11, "/a"}, {12, ""}};
  trace.State(1000, 0, {5, 5, 1, 0}, "master");
  trace.Owner(1000, 0, Owner(5, 0, 11, 1));
  trace.Fork(1100, 0, {6, 6, 5, 5});  // without a record of its own
  trace.Fork(1200, 0, {7, 7, 5, 5});
  trace.Owner(1210, 0, Owner(7, 0, 11, 2));
  trace.Owner(3500, 0, Owner(7, 33, 12, 2));  // it became another user
  trace.Fork(1300, 0, {8, 8, 5, 5});
  trace.Exit(4500, 0, {8, 8, 5, 5});
  trace.Owner(4600, 0, Owner(8, 33, 12));   // of the next process 8
  trace.Owner(4700, 0, Owner(99, 33, 12));  // of one without other records
  const auto rows = Rows(trace);
  CHECK(rows.count(99) == 0);
  CHECK(rows.at(5).user == "root");
  CHECK(rows.at(5).cgroup == "/a");
  CHECK(rows.at(5).own_pid == 1);
  CHECK(rows.at(6).user == "root");
  CHECK(rows.at(6).cgroup == "/a");
  CHECK(rows.at(6).own_pid == 0);  // its own number is not its parent's
  CHECK(rows.at(7).user == "www-data");
  CHECK(rows.at(7).uid == 33u);
  CHECK(rows.at(7).cgroup == "[cgroup 12]");
  CHECK(rows.at(8).user == "root");
}

TEST_CASE("owners: rows for users and cgroups are sums of all processes",
          "[rmap]") {
  MemoryTrace trace;
  Run({5, 6, 7, 8, 5}, trace);
  trace.mutable_info().users = {{0, "root"}, {33, "www-data"}};
  trace.mutable_info().cgroups = {{11, "/a"}, {12, "/b"}};
  for (const std::int32_t pid : {5, 6, 7, 8}) {
    trace.State(1000, 0, {pid, pid, 1, 0}, "p" + std::to_string(pid));
  }
  trace.Owner(1000, 0, Owner(5, 0, 11));
  trace.Owner(1000, 0, Owner(6, 33, 11));
  trace.Owner(1000, 0, Owner(7, 33, 12));
  trace.Owner(1000, 0, Owner(8, logformat::kNoUser, 0));
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  CHECK(report->owners);
  std::map<std::string, ProcessRow> users, cgroups;
  for (const auto& row : ProcessesBy("user", *report)) {
    users[row.user] = row;
  }
  for (const auto& row : ProcessesBy("cgroup", *report)) {
    cgroups[row.cgroup] = row;
  }
  REQUIRE(users.size() == 3);
  CHECK(users["root"].on_cpu_ns == 5000);
  CHECK(users["root"].pid == 5);
  CHECK(users["root"].comm == "p5");
  CHECK(users["www-data"].on_cpu_ns == 2000);
  CHECK(users["www-data"].processes == 2);
  CHECK(users["www-data"].pid == 0);
  CHECK(users["www-data"].comm.empty());
  CHECK(users["www-data"].uid == 33u);
  CHECK(users["www-data"].cgroup.empty());
  CHECK(users[kUnknownOwner].on_cpu_ns == 1000);
  REQUIRE(cgroups.size() == 3);
  CHECK(cgroups["/a"].on_cpu_ns == 6000);
  CHECK(cgroups["/b"].on_cpu_ns == 1000);
  CHECK(cgroups[kUnknownOwner].on_cpu_ns == 1000);
}

TEST_CASE("owners: a trace without them has one row, not known", "[rmap]") {
  MemoryTrace trace;
  Run({5, 6, 5}, trace);
  trace.State(1000, 0, {5, 5, 1, 0}, "a");
  trace.State(1000, 0, {6, 6, 1, 0}, "b");
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  CHECK_FALSE(report->owners);
  const auto rows = ProcessesBy("cgroup", *report);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].cgroup == kUnknownOwner);
  CHECK(rows[0].on_cpu_ns == 8000);
}

}  // namespace countrace::rmap
