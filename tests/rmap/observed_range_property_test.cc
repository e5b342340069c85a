// What RangeObserver passes on of a range is what the report of that range has:
// time and counts by account and thread, waits, records lost or not.
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "rmap/pipeline.h"
#include "rmap/range_observer.h"
#include "tests/rmap/lost_records.h"
#include "tests/rmap/range_sums.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::PropertyRuns;
using test_support::Ranges;
using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;

class Passed final : public TimelineObserver {
 public:
  void OnTime(const AttributedTime& time) override {
    const std::uint64_t ns = time.end_ns - time.begin_ns;
    time_[{time.cpu, time.account}] += ns;
    if (time.thread != kNoThread) on_cpu_ns_[time.thread] += ns;
  }
  void OnCounts(const AttributedCount& count) override {
    counts_[{count.event, count.account}] += count.count;
    if (count.thread != kNoThread) {
      of_threads_[{count.event, count.thread}] += count.count;
    }
  }
  void OnWait(const WaitSpan& span) override {
    wait_ns_[span.thread] += span.end_ns - span.begin_ns;
  }
  void OnBlocked(const BlockedSpan& span) override {
    blocked_ns_[span.thread] += span.end_ns - span.begin_ns;
  }

  void Check(const Report& report) {
    for (const CpuRow& row : report.cpu_rows) {
      CAPTURE(row.cpu);
      CHECK(time_[{row.cpu, Account::kProcesses}] == row.busy_ns);
      CHECK(time_[{row.cpu, Account::kIdle}] == row.idle_ns);
      CHECK(time_[{row.cpu, Account::kInterrupts}] == row.interrupts_ns);
      CHECK(time_[{row.cpu, Account::kOutside}] == row.outside_ns);
      CHECK(time_[{row.cpu, Account::kUnattributed}] == row.unattributed_ns);
    }
    for (std::uint32_t event = 0; event < report.books.size(); ++event) {
      const Books& books = report.books[event];
      CAPTURE(report.events[event].name);
      CHECK(counts_[{event, Account::kProcesses}] == books.processes);
      CHECK(counts_[{event, Account::kIdle}] == books.idle);
      CHECK(counts_[{event, Account::kInterrupts}] == books.interrupts);
      CHECK(counts_[{event, Account::kOutside}] == books.outside);
      CHECK(counts_[{event, Account::kUnattributed}] == books.unattributed);
      for (const ThreadRow& row : report.threads) {
        CAPTURE(row.tid);
        CHECK(of_threads_[{event, row.index}] == row.counts[event].value_or(0));
      }
    }
    for (const ThreadRow& row : report.threads) {
      CAPTURE(row.tid);
      CHECK(on_cpu_ns_[row.index] == row.on_cpu_ns.value_or(0));
      if (row.wait_ns) CHECK(wait_ns_[row.index] == *row.wait_ns);
      if (row.blocked_ns) CHECK(blocked_ns_[row.index] == *row.blocked_ns);
    }
  }

 private:
  std::map<std::pair<std::uint32_t, Account>, std::uint64_t> time_, counts_;
  std::map<std::pair<std::uint32_t, ThreadIndex>, std::uint64_t> of_threads_;
  std::map<ThreadIndex, std::uint64_t> on_cpu_ns_, wait_ns_, blocked_ns_;
};

TEST_CASE("range: what an observer gets of it is what its report has",
          "[rmap][property][range][loss]") {
  for (std::uint32_t seed = 0; seed < PropertyRuns(1500u); ++seed) {
    SimulationOptions options = test_support::RandomOptions(seed);
    options.steps = 100 + seed % 400;
    options.parks = seed % 2 == 0;
    const Simulation run = Simulate(options);
    if (seed % 3 != 0) {
      test_support::LostRecords lost(seed, *run.trace);
      run.trace->RemoveOf(lost);
    }
    const auto whole = Reconstruct(*run.trace, {});
    REQUIRE(whole.ok());
    if (whole->end_ns <= whole->begin_ns + 1) continue;
    for (const TableRange& range : Ranges(seed, *whole)) {
      CAPTURE(seed, range.from_ns, range.until_ns);
      Passed passed;
      RangeObserver in_range(range, passed);
      const auto report =
          Reconstruct(*run.trace, {.observer = &in_range, .range = range});
      REQUIRE(report.ok());
      passed.Check(*report);
    }
  }
}

}  // namespace
}  // namespace countrace::rmap
