// Rows that are sums of rows: system calls over processes, processes of one
// name, call paths without their recursion.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rmap/pipeline.h"
#include "rmap/tables/rows/system_call_rows.h"
#include "tests/rmap/grouped_rows.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;
using test_support::TrueProcess;

Report Of(Simulation& run, const WantedRows& rows = {}) {
  auto report = Reconstruct(*run.trace, {.rows = rows});
  REQUIRE(report.ok());
  return *std::move(report);
}

void Lose(std::uint32_t seed, Simulation& run) {
  run.trace->Remove([seed](std::size_t i) { return i % 41 == seed % 41; },
                    /*declare=*/true);
}

TEST_CASE("system calls: equal the simulated machine's over its processes",
          "[rmap][property]") {
  std::uint64_t compared = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(200u); ++seed) {
    CAPTURE(seed);
    Simulation run = Simulate(RandomOptions(seed));
    const Report report = Of(run);
    struct Sum {
      std::uint64_t calls = 0, wall_ns = 0, on_cpu_ns = 0, longest_ns = 0;
      bool operator==(const Sum&) const = default;
    };
    std::map<std::string, Sum> truth, rows;
    for (const TrueProcess& process : run.truth.processes) {
      for (const auto& [name, segment] : process.by_segment) {
        if (name.substr(0, 8) != "syscall:") continue;
        Sum& sum = truth[name.substr(8)];
        sum.calls += segment.calls;
        sum.wall_ns += segment.wall_incl;
        sum.on_cpu_ns += segment.on_cpu_incl;
        for (const std::uint64_t ns : segment.durations) {
          sum.longest_ns = std::max(sum.longest_ns, ns);
        }
      }
    }
    for (const SystemCallRow& row : report.system_call_rows) {
      rows[row.syscall] = {row.calls, row.wall_ns, row.on_cpu_ns.value_or(0),
                           row.longest_ns};
      ++compared;
    }
    REQUIRE(rows == truth);
  }
  CHECK(compared > PropertyRuns(100u));
}

TEST_CASE("system calls: are the rows of segments, added up",
          "[rmap][property]") {
  for (std::uint32_t seed = 0; seed < PropertyRuns(100u); ++seed) {
    CAPTURE(seed);
    Simulation run = Simulate(RandomOptions(seed));
    Lose(seed, run);
    Report report = Of(run);
    // The simulated kernel has no errors.
    int error = 0;
    for (SegmentRow& row : report.segments) {
      if (row.errors) (*row.errors)[1 + error++ % 3] = 1 + row.calls / 2;
    }
    std::uint64_t processes = 0, calls = 0, wall_ns = 0, lo = 0;
    std::map<int, std::uint64_t> errors, of_rows;
    for (const SegmentRow& row : report.segments) {
      if (!row.errors) continue;
      ++processes;
      calls += row.calls;
      wall_ns += row.wall.incl;
      const auto bounds = row.bounds.Of(Number::kWallIncl);
      lo += bounds ? bounds->lo : row.wall.incl;
      for (const auto& [number, failed] : *row.errors) errors[number] += failed;
    }
    for (const SystemCallRow& row : SystemCallRows(report.segments)) {
      processes -= row.processes;
      calls -= row.calls;
      wall_ns -= row.wall_ns;
      const auto bounds = row.bounds.Of(Number::kWallIncl);
      lo -= bounds ? bounds->lo : row.wall_ns;
      if (bounds) CHECK(row.qualities.Has(Quality::kBounded));
      for (const auto& [number, failed] : row.errors) {
        of_rows[number] += failed;
      }
    }
    CHECK(processes == 0);
    CHECK(calls == 0);
    CHECK(wall_ns == 0);
    CHECK(lo == 0);
    CHECK(errors == of_rows);
  }
}

TEST_CASE("processes of one name: are their rows, added up",
          "[rmap][property]") {
  std::uint64_t merged = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(100u); ++seed) {
    CAPTURE(seed);
    SimulationOptions options = RandomOptions(seed);
    options.event_sets = seed % 4 == 1;
    Simulation run = Simulate(options);
    if (seed % 2 == 0) Lose(seed, run);
    Report report = Of(run);
    std::vector<ProcessRow>& rows = report.processes;
    for (ProcessRow& row : rows) {
      row.comm = row.pid % 3 == 0 ? "cc1" : "as" + std::to_string(row.pid % 2);
    }
    const std::vector<ProcessRow> groups = ProcessesBy("comm", report);
    std::map<std::string, bool> seen;
    for (const ProcessRow& group : groups) {
      CHECK_FALSE(seen[group.comm]);
      seen[group.comm] = true;
      ProcessRow sum;
      sum.processes = 0;
      std::uint64_t on_cpu_ns = 0, lo = 0;
      std::map<std::size_t, std::uint64_t> counts;
      for (const ProcessRow& row : rows) {
        if (row.comm != group.comm) continue;
        ++sum.processes;
        sum.threads += row.threads;
        sum.dispatches += row.dispatches;
        on_cpu_ns += row.on_cpu_ns.value_or(0);
        const auto bounds = row.bounds.Of(Number::kOnCpu);
        lo += bounds ? bounds->lo : row.on_cpu_ns.value_or(0);
        for (std::size_t i = 0; i < row.counts.size(); ++i) {
          if (row.counts[i]) counts[i] += *row.counts[i];
        }
      }
      CHECK(group.processes == sum.processes);
      CHECK(group.threads == sum.threads);
      CHECK(group.dispatches == sum.dispatches);
      CHECK(group.on_cpu_ns.value_or(0) == on_cpu_ns);
      const auto bounds = group.bounds.Of(Number::kOnCpu);
      CHECK((bounds ? bounds->lo : on_cpu_ns) == lo);
      for (const auto& [event, count] : counts) {
        CHECK(group.counts[event] == count);
      }
      CHECK((group.pid == 0) == (group.processes > 1));
      merged += group.processes > 1 ? 1 : 0;
    }
    for (const ProcessRow& row : rows) CHECK(seen[row.comm]);
  }
  CHECK(merged > PropertyRuns(50u));
}

// "a > b > b > c": "a > b > c".
std::string Folded(const std::vector<std::string>& path) {
  std::string folded;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i != 0 && path[i] == path[i - 1]) continue;
    folded += (folded.empty() ? "" : " > ") + path[i];
  }
  return folded;
}
std::vector<std::string> Split(const std::string& path) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = path.find(" > ", begin);
    names.push_back(path.substr(begin, end - begin));
    if (end == path.npos) return names;
    begin = end + 3;
  }
}
bool IsInner(const std::vector<std::string>& path) {
  return path.size() > 1 && path.back() == path[path.size() - 2];
}

struct PathSum {
  std::uint64_t calls = 0, wall_incl = 0, wall_excl = 0;
  std::uint64_t on_cpu_incl = 0, on_cpu_excl = 0, wait_incl = 0, max = 0;
  auto operator<=>(const PathSum&) const = default;
};

TEST_CASE("folded recursion: equals the simulated machine's paths",
          "[rmap][property]") {
  std::uint64_t folded = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(200u); ++seed) {
    CAPTURE(seed);
    Simulation run = Simulate(RandomOptions(seed));
    const Report report = Of(run, {.fold_recursion = true});
    // Serial numbers of processes differ, so rows are compared as a multiset.
    std::vector<std::pair<std::string, PathSum>> truths, rows;
    for (const TrueProcess& process : run.truth.processes) {
      std::map<std::string, PathSum> paths;
      for (const auto& [name, sums] : process.by_path) {
        const std::vector<std::string> path = Split(name);
        PathSum& sum = paths[Folded(path)];
        const bool inner = IsInner(path);
        folded += inner ? 1 : 0;
        sum.calls += sums.calls;
        sum.wall_incl += inner ? 0 : sums.wall_incl;
        sum.wall_excl += sums.wall_excl;
        sum.on_cpu_incl += inner ? 0 : sums.on_cpu_incl;
        sum.on_cpu_excl += sums.on_cpu_excl;
        sum.wait_incl += inner ? 0 : sums.wait_incl;
        for (const std::uint64_t ns : sums.durations) {
          sum.max = std::max(sum.max, ns);
        }
      }
      for (const auto& [name, sum] : paths) {
        truths.emplace_back(std::to_string(process.pid) + " " + name, sum);
      }
    }
    for (const SegmentRow& row : report.segment_paths) {
      CHECK_FALSE(IsInner(row.path));
      rows.emplace_back(
          std::to_string(row.pid) + " " + Folded(row.path),
          PathSum{row.calls, row.wall.incl, row.wall.excl, row.on_cpu->incl,
                  row.on_cpu->excl, row.wait->incl, row.wall.max});
    }
    std::sort(truths.begin(), truths.end());
    std::sort(rows.begin(), rows.end());
    REQUIRE(rows == truths);
  }
  CHECK(folded > PropertyRuns(200u));
}

TEST_CASE("folded recursion: changes no row of segments", "[rmap][property]") {
  for (std::uint32_t seed = 0; seed < PropertyRuns(60u); ++seed) {
    CAPTURE(seed);
    Simulation one = Simulate(RandomOptions(seed));
    Simulation two = Simulate(RandomOptions(seed));
    Lose(seed, one);
    Lose(seed, two);
    const Report plain = Of(one);
    const Report folded = Of(two, {.fold_recursion = true});
    REQUIRE(plain.segments.size() == folded.segments.size());
    std::uint64_t calls = 0, wall_excl = 0;
    for (std::size_t i = 0; i < plain.segments.size(); ++i) {
      const SegmentRow& a = plain.segments[i];
      const SegmentRow& b = folded.segments[i];
      CHECK(a.segment == b.segment);
      CHECK(a.calls == b.calls);
      CHECK(a.wall.incl == b.wall.incl);
      CHECK(a.wall.p99 == b.wall.p99);
      CHECK(a.bounds.entries().size() == b.bounds.entries().size());
    }
    for (const SegmentRow& row : plain.segment_paths) {
      calls += row.calls;
      wall_excl += row.wall.excl;
    }
    for (const SegmentRow& row : folded.segment_paths) {
      calls -= row.calls;
      wall_excl -= row.wall.excl;
    }
    CHECK(calls == 0);
    CHECK(wall_excl == 0);
  }
}

}  // namespace
}  // namespace countrace::rmap
