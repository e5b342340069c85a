// The numbers of a report that add up over the ranges of a trace, and ranges.
#ifndef COUNTRACE_TESTS_RMAP_RANGE_SUMS_H_
#define COUNTRACE_TESTS_RMAP_RANGE_SUMS_H_

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "rmap/pipeline.h"

namespace countrace::test_support {

using rmap::Books;
using rmap::Counts;
using rmap::CpuRow;
using rmap::HookRow;
using rmap::PreemptorRow;
using rmap::ProcessRow;
using rmap::Report;
using rmap::SegmentRow;
using rmap::TableRange;
using rmap::ThreadRow;

inline std::string Join(const std::vector<std::string>& path) {
  std::string out;
  for (const std::string& name : path) out += (out.empty() ? "" : " > ") + name;
  return out;
}

// The numbers of a report that add up over ranges, by name.
class Sums {
 public:
  void Add(const Report& report) {
    for (const ProcessRow& row : report.processes) {
      const std::string who = "process " + std::to_string(row.pid);
      Add(who, "on_cpu", row.on_cpu_ns);
      Add(who, "dispatches", row.dispatches);
      AddCounts(who, report, row.counts);
    }
    for (const ThreadRow& row : report.threads) {
      const std::string who = "thread " + std::to_string(row.tid);
      Add(who, "on_cpu", row.on_cpu_ns);
      Add(who, "dispatches", row.dispatches);
      Add(who, "migrations", row.migrations);
      Add(who, "wait", row.wait_ns);
      Add(who, "blocked", row.blocked_ns);
      AddCounts(who, report, row.counts);
    }
    for (const SegmentRow& row : report.segment_paths) {
      const std::string who = std::to_string(row.pid) + " " + Join(row.path);
      Add(who, "calls", row.calls);
      Add(who, "wall", row.wall.incl);
      Add(who, "wall_excl", row.wall.excl);
      if (row.on_cpu) Add(who, "on_cpu", row.on_cpu->incl);
      if (row.wait) Add(who, "wait", row.wait->incl);
      if (row.blocked) Add(who, "blocked", row.blocked->excl);
    }
    for (const CpuRow& row : report.cpu_rows) {
      const std::string who = "cpu " + std::to_string(row.cpu);
      Add(who, "busy", row.busy_ns);
      Add(who, "idle", row.idle_ns);
      Add(who, "interrupts", row.interrupts_ns);
      Add(who, "outside", row.outside_ns);
    }
    for (std::size_t i = 0; i < report.books.size(); ++i) {
      const std::string& event = report.events[i].name;
      if (!IsRecorded(event)) continue;
      const Books& books = report.books[i];
      Add("books processes", event, books.processes);
      Add("books interrupts", event, books.interrupts);
      if (!IsRecordedOutside(report, event)) continue;
      CHECK(books.doubt.cut_intervals == 0);
      Add("books", event, books.total);
      Add("books idle", event, books.idle);
      Add("books outside", event, books.outside);
    }
    std::uint64_t waited_ns = 0;
    for (const PreemptorRow& row : report.preemptors) waited_ns += row.wait_ns;
    Add("preemptors", "wait", waited_ns);
    for (const HookRow& row : report.hooks) {
      Add("hook " + row.hook, std::to_string(row.pid), row.hits);
    }
  }
  const std::map<std::string, std::uint64_t>& all() const { return sums_; }

 private:
  // Every occurrence has a record, so that an edge separates them.
  static bool IsRecorded(const std::string& event) { return event != "cycles"; }
  // Those of other processes have none in a command's trace.
  static bool IsRecordedOutside(const Report& report,
                                const std::string& event) {
    return IsRecorded(event) &&
           (report.scope != "command" || event.ends_with("-clock"));
  }
  void Add(const std::string& who, const std::string& what,
           std::optional<std::uint64_t> value) {
    if (value.value_or(0) != 0) sums_[who + " " + what] += *value;
  }
  void AddCounts(const std::string& who, const Report& report,
                 const Counts& counts) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::string& event = report.events[i].name;
      if (IsRecorded(event)) Add(who, event, counts[i]);
    }
  }

  std::map<std::string, std::uint64_t> sums_;
};

// Any number of edges in the trace.
inline std::vector<TableRange> Ranges(std::uint32_t seed, const Report& whole) {
  std::mt19937 random(seed);
  std::vector<std::uint64_t> edges;
  for (std::uint32_t i = 0; i < 1 + seed % 5; ++i) {
    edges.push_back(whole.begin_ns + 1 +
                    random() % (whole.end_ns - whole.begin_ns));
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::vector<TableRange> ranges(1);
  for (const std::uint64_t edge_ns : edges) {
    ranges.back().until_ns = edge_ns;
    ranges.push_back({.from_ns = edge_ns});
  }
  return ranges;
}

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_RANGE_SUMS_H_
