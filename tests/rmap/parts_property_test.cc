// Parts never exceed the whole, in any table of any trace: what segments have
// alone is in their process, threads make their process, processes the CPUs'
// accounts, and nothing is left over; whatever was lost, damaged, overwritten
// or not counted.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "rmap/over_time/interval_bounds.h"
#include "rmap/over_time/over_time.h"
#include "rmap/pipeline.h"
#include "rmap/result/limits.h"
#include "tests/rmap/lost_records.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::MemoryTrace;
using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;

std::uint64_t Most(const RowBounds& bounds, Number number,
                   std::uint64_t value) {
  const auto interval = bounds.Of(number);
  return interval ? interval->hi : value;
}

// A part may have less than is shown, the whole more.
std::uint64_t Least(const RowBounds& bounds, Number number,
                    std::uint64_t value) {
  const auto interval = bounds.Of(number);
  return interval ? std::min(interval->lo, value) : value;
}

std::uint64_t Lo(const RowBounds& bounds, Number number,
                 const std::optional<std::uint64_t>& value) {
  const auto interval = bounds.Of(number);
  return interval ? interval->lo : value.value_or(0);
}

// Times of one thread at a time: their least values have room in `whole`, and
// none is longer. Not `declared`: what was lost without a word may make what is
// shown longer, never the least value.
void CheckRoom(
    bool declared, const RowBounds& bounds, std::uint64_t whole,
    const std::vector<std::pair<Number, std::optional<std::uint64_t>>>& times) {
  std::uint64_t least = 0;
  for (const auto& [number, value] : times) {
    const std::uint64_t most = Most(bounds, number, value.value_or(0));
    CAPTURE(NumberName({}, number), value.value_or(0));
    if (declared) CHECK(most <= whole);
    least += Lo(bounds, number, value);
  }
  CHECK(least <= whole);
}

std::optional<std::uint64_t> InclOf(
    const std::optional<InclusiveExclusive>& pair) {
  if (!pair) return std::nullopt;
  return pair->incl;
}
std::optional<std::uint64_t> ExclOf(
    const std::optional<InclusiveExclusive>& pair) {
  if (!pair) return std::nullopt;
  return pair->excl;
}

// A thread is in one state at a time, and a CPU has one thread at a time.
// `declared`: nothing was lost without a word.
void CheckTimes(const Report& report, bool declared) {
  const std::uint64_t whole_ns = report.end_ns - report.begin_ns;
  const std::uint64_t all_ns = whole_ns * report.cpu_rows.size();
  for (const ThreadRow& row : report.threads) {
    CAPTURE(row.tid);
    CHECK(row.on_cpu_ns.value_or(0) + row.wait_ns.value_or(0) +
              row.blocked_ns.value_or(0) <=
          whole_ns);
    CheckRoom(declared, row.bounds, whole_ns,
              {{Number::kOnCpu, row.on_cpu_ns},
               {Number::kWait, row.wait_ns},
               {Number::kBlocked, row.blocked_ns}});
  }
  for (const ProcessRow& row : report.processes) {
    CAPTURE(row.pid);
    CHECK(Most(row.bounds, Number::kOnCpu, row.on_cpu_ns.value_or(0)) <=
          std::max(all_ns, whole_ns * 4));
  }
  for (const CpuRow& row : report.cpu_rows) {
    CAPTURE(row.cpu);
    CheckRoom(/*declared=*/true, row.bounds, row.wall_ns,
              {{Number::kBusy, row.busy_ns},
               {Number::kIdle, row.idle_ns},
               {Number::kInterrupts, row.interrupts_ns},
               {Number::kOutside, row.outside_ns}});
  }
  for (const auto* rows : {&report.segments, &report.segment_paths}) {
    for (const SegmentRow& row : *rows) {
      CAPTURE(row.pid, row.segment, rows == &report.segments);
      CHECK(InclOf(row.on_cpu).value_or(0) + InclOf(row.wait).value_or(0) +
                InclOf(row.blocked).value_or(0) <=
            row.wall.incl);
      CHECK(ExclOf(row.on_cpu).value_or(0) + ExclOf(row.wait).value_or(0) +
                ExclOf(row.blocked).value_or(0) <=
            row.wall.excl);
      const std::uint64_t incl =
          Most(row.bounds, Number::kWallIncl, row.wall.incl);
      const std::uint64_t excl =
          Most(row.bounds, Number::kWallExcl, row.wall.excl);
      CheckRoom(declared, row.bounds, incl,
                {{Number::kOnCpuIncl, InclOf(row.on_cpu)},
                 {Number::kWaitIncl, InclOf(row.wait)},
                 {Number::kBlockedIncl, InclOf(row.blocked)}});
      CheckRoom(declared, row.bounds, excl,
                {{Number::kOnCpuExcl, ExclOf(row.on_cpu)},
                 {Number::kWaitExcl, ExclOf(row.wait)},
                 {Number::kBlockedExcl, ExclOf(row.blocked)}});
      // And it is in one of them all the time, if no interrupt has its CPU. A
      // switch lost without a word leaves time off the CPU in no account.
      if (!report.wakeups || report.interrupts || row.pid == 0 || !declared) {
        continue;
      }
      const auto most = [&](Number number, std::uint64_t value) {
        return Most(row.bounds, number, value);
      };
      CHECK(AddBounded(AddBounded(most(Number::kOnCpuIncl, row.on_cpu->incl),
                                  most(Number::kWaitIncl, row.wait->incl)),
                       most(Number::kBlockedIncl, row.blocked->incl)) >=
            Lo(row.bounds, Number::kWallIncl, row.wall.incl));
      CHECK(AddBounded(AddBounded(most(Number::kOnCpuExcl, row.on_cpu->excl),
                                  most(Number::kWaitExcl, row.wait->excl)),
                       most(Number::kBlockedExcl, row.blocked->excl)) >=
            Lo(row.bounds, Number::kWallExcl, row.wall.excl));
    }
  }
}

void CheckThreads(const Report& report) {
  std::map<ProcessIndex, ProcessRow> sums;
  for (const ThreadRow& row : report.threads) {
    ProcessRow& sum = sums[row.process];
    sum.counts.resize(report.events.size(), 0);
    ++sum.threads;
    sum.dispatches += row.dispatches;
    sum.on_cpu_ns = sum.on_cpu_ns.value_or(0) + row.on_cpu_ns.value_or(0);
    for (std::size_t i = 0; i < row.counts.size(); ++i) {
      sum.counts[i] = *sum.counts[i] + row.counts[i].value_or(0);
    }
  }
  for (const ProcessRow& row : report.processes) {
    CAPTURE(row.pid);
    const ProcessRow& sum = sums[row.index];
    CHECK(row.threads == sum.threads);
    CHECK(row.dispatches == sum.dispatches);
    CHECK(row.on_cpu_ns.value_or(0) == sum.on_cpu_ns.value_or(0));
    for (std::size_t i = 0; i < row.counts.size(); ++i) {
      if (report.events[i].scaled) continue;  // each row has its own estimate
      CHECK(row.counts[i].value_or(0) == sum.counts[i].value_or(0));
    }
  }
}

void CheckCpus(const Report& report) {
  std::uint64_t busy_ns = 0, on_cpu_ns = 0, dispatches = 0, of_cpus = 0;
  for (const CpuRow& row : report.cpu_rows) {
    CHECK(row.wall_ns == row.busy_ns + row.idle_ns + row.interrupts_ns +
                             row.outside_ns + row.unattributed_ns);
    CHECK(row.wall_ns <= report.end_ns - report.begin_ns);
    busy_ns += row.busy_ns;
    of_cpus += row.dispatches;
  }
  for (const ProcessRow& row : report.processes) {
    on_cpu_ns += row.on_cpu_ns.value_or(0);
    dispatches += row.dispatches;
  }
  CHECK(on_cpu_ns == busy_ns);
  CHECK(dispatches == of_cpus);
  for (std::size_t i = 0; i < report.books.size(); ++i) {
    const Books& books = report.books[i];
    CAPTURE(report.events[i].name);
    CHECK(books.residual == 0);
    CHECK(books.in_segments.value_or(0) <= books.processes);
    if (report.events[i].scaled) continue;
    std::uint64_t sum = 0;
    for (const ProcessRow& row : report.processes) {
      sum += row.counts[i].value_or(0);
    }
    CHECK(sum == books.processes + books.own);
  }
}

// What the segments of a process have alone.
struct Alone {
  std::uint64_t on_cpu_ns = 0, wall_ns = 0;
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> shown;  // the same, whatever the limits
};

Alone& operator+=(Alone& sum, const SegmentRow& row) {
  sum.wall_ns += row.wall.excl;
  if (row.on_cpu) {
    sum.on_cpu_ns += Least(row.bounds, Number::kOnCpuExcl, row.on_cpu->excl);
  }
  sum.counts.resize(row.counts.size(), 0);
  sum.shown.resize(row.counts.size(), 0);
  for (std::size_t i = 0; i < row.counts.size(); ++i) {
    if (!row.counts[i]) continue;
    sum.shown[i] += row.counts[i]->excl;
    sum.counts[i] += Least(row.bounds, CountNumber(i, CountPart::kExcl),
                           row.counts[i]->excl);
  }
  return sum;
}

// Faults before the first dump of their CPU, which are in no account.
class FaultsLeftOut final : public TimelineObserver {
 public:
  void OnFault(const FaultHit& fault) override {
    if (!dumped_.contains(fault.cpu)) ++count_;
  }
  void OnCounters(const CounterDump& dump) override {
    dumped_.insert(dump.cpu);
  }
  std::uint64_t count() const { return count_; }

 private:
  std::uint64_t count_ = 0;
  std::set<std::uint32_t> dumped_;  // CPUs
};

// `faults_left_out`: absent: not known.
void CheckSegments(const Report& report,
                   std::optional<std::uint64_t> faults_left_out) {
  for (const auto* rows : {&report.segments, &report.segment_paths}) {
    std::map<ProcessIndex, Alone> sums;
    for (const SegmentRow& row : *rows) {
      CAPTURE(row.pid, row.segment);
      CHECK(row.wall.excl <= row.wall.incl);
      if (row.on_cpu) {
        CHECK(row.on_cpu->excl <= row.on_cpu->incl);
        CHECK(row.on_cpu->incl <= row.wall.incl);
        CHECK(row.on_cpu->incl + row.off_cpu->incl == row.wall.incl);
      }
      if (row.pid != 0) sums[row.process] += row;
    }
    for (const ProcessRow& row : report.processes) {
      CAPTURE(row.pid, rows == &report.segments);
      const Alone& sum = sums[row.index];
      CHECK(sum.on_cpu_ns <=
            Most(row.bounds, Number::kOnCpu, row.on_cpu_ns.value_or(0)));
      for (std::size_t i = 0; i < sum.counts.size(); ++i) {
        if (report.events[i].scaled || !row.counts[i]) continue;
        // Switches are counted after they are recorded: at the edges one more
        // for each thread (docs/definitions.md).
        const std::uint64_t edge =
            report.events[i].name == "context-switches" ? row.threads : 0;
        CAPTURE(report.events[i].name);
        // Each record of a fault names its owner, whatever was lost.
        if (faults_left_out && report.events[i].name == "page-faults") {
          CHECK(sum.shown[i] <= *row.counts[i] + *faults_left_out);
        }
        CHECK(sum.counts[i] <=
              AddBounded(Most(row.bounds, CountNumber(i, CountPart::kWhole),
                              *row.counts[i]),
                         edge));
      }
    }
  }
}

using Times = std::array<std::uint64_t, 4>;

Times InclTimes(const SegmentRow& row) {
  return {row.wall.incl, InclOf(row.on_cpu).value_or(0),
          InclOf(row.wait).value_or(0), InclOf(row.blocked).value_or(0)};
}

Times ExclTimes(const SegmentRow& row) {
  return {row.wall.excl, ExclOf(row.on_cpu).value_or(0),
          ExclOf(row.wait).value_or(0), ExclOf(row.blocked).value_or(0)};
}

void Add(const Times& more, Times& sum) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

// What a segment has alone is what its paths have alone; what a path has is
// what it has alone, and what the calls inside it have.
void CheckPaths(const Report& report) {
  std::map<std::pair<ProcessIndex, std::string>, std::array<Times, 2>> sums;
  for (const bool by_path : {false, true}) {
    for (const SegmentRow& row :
         by_path ? report.segment_paths : report.segments) {
      Add(ExclTimes(row), sums[{row.process, row.segment}][by_path ? 1 : 0]);
    }
  }
  for (const auto& [who, sum] : sums) {
    CAPTURE(who.second);
    CHECK(sum[0] == sum[1]);
  }
  std::map<std::pair<ProcessIndex, std::vector<std::string>>, Times> parts;
  for (const SegmentRow& row : report.segment_paths) {
    std::vector<std::string> path = row.path;
    Add(ExclTimes(row), parts[{row.process, path}]);
    path.pop_back();
    Add(InclTimes(row), parts[{row.process, path}]);
  }
  for (const SegmentRow& row : report.segment_paths) {
    CAPTURE(row.pid, row.path);
    CHECK(parts[{row.process, row.path}] == InclTimes(row));
  }
}

void CheckWakers(const Report& report) {
  std::map<ProcessIndex, std::uint64_t> of_threads, of_wakers;
  for (const ThreadRow& row : report.threads) {
    of_threads[row.process] += row.blocked_ns.value_or(0);
  }
  for (const WakerRow& row : report.wakers) {
    of_wakers[row.process] += row.blocked_ns;
    CHECK(row.longest_ns <= row.blocked_ns);
  }
  if (report.wakeups) {
    for (const auto& [process, ns] : of_threads) {
      CHECK(of_wakers[process] == ns);
    }
  }
}

void CheckOverTime(const TimeSeries& series, const Report& report) {
  std::uint64_t busy_ns = 0, sum_ns = 0;
  for (const CpuRow& row : report.cpu_rows) busy_ns += row.busy_ns;
  for (std::size_t i = 0; i < series.size(); ++i) {
    sum_ns += series.Time(i, Account::kProcesses);
    CHECK(series.SelectedTime(i) <= series.Time(i, Account::kProcesses));
    CHECK(series.TotalTime(i) <=
          (series.EndOf(i) - series.BeginOf(i)) * report.cpu_rows.size());
    for (const Account account : {Account::kProcesses, Account::kIdle,
                                  Account::kOutside, Account::kInterrupts}) {
      const Bounds bounds = TimeBounds(series, i, account);
      CHECK(bounds.lo <= series.Time(i, account));
      CHECK(bounds.hi >= series.Time(i, account));
      CHECK(bounds.hi <= series.TotalTime(i));
    }
  }
  CHECK(sum_ns == busy_ns);
}

// Damages a trace in the way of `seed`.
void Damage(std::uint32_t seed, MemoryTrace& trace) {
  std::mt19937 random(seed);
  const std::uint32_t one_in = 5 + seed % 60;
  switch (seed % 4) {
    case 0:
      return;
    case 1:  // records are lost
      trace.Remove([&](std::size_t) { return random() % one_in == 0; },
                   /*declare=*/true);
      return;
    case 2:  // and nothing says so
      trace.Remove([&](std::size_t) { return random() % one_in == 0; },
                   /*declare=*/false);
      return;
    default:
      test_support::OverwriteSome(seed, trace);
  }
}

TEST_CASE("parts never exceed the whole, in any table of any trace",
          "[rmap][property][loss]") {
  std::uint64_t snapshots = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(4000u); ++seed) {
    CAPTURE(seed);
    SimulationOptions options = RandomOptions(seed * 7 + seed / 4);
    options.steps = 80 + seed % 400;
    options.event_sets = seed % 9 == 0;
    options.parks = seed % 5 == 0;
    Simulation run = Simulate(options);
    Damage(seed, *run.trace);
    snapshots += run.trace->complete_from_ns() != 0 ? 1 : 0;
    OverTimeOptions over;
    over.begin_ns = run.trace->complete_from_ns();
    over.every_ns = run.truth.duration_ns / (1 + seed % 20) + 1;
    over.threads.emplace();
    for (std::uint32_t i = 0; i < 10; i += 2) over.threads->insert(i);
    OverTime over_time(run.trace->info(), over);
    PipelineOptions pipeline;
    FaultsLeftOut left_out;
    pipeline.observer = &left_out;
    if (seed % 2 == 0) pipeline.observer = &over_time;
    const auto report = Reconstruct(*run.trace, pipeline);
    REQUIRE(report.ok());
    CheckThreads(*report);
    CheckTimes(*report, seed % 4 != 2);
    CheckCpus(*report);
    CheckSegments(*report, seed % 2 != 0 ? std::optional(left_out.count())
                                         : std::nullopt);
    CheckPaths(*report);
    CheckWakers(*report);
    if (pipeline.observer != &over_time) continue;
    const auto series = over_time.Finish(*report);
    REQUIRE(series.ok());
    CheckOverTime(*series, *report);
  }
  CHECK(snapshots > PropertyRuns(500u));
}

}  // namespace
}  // namespace countrace::rmap
