// The observer's calls of segments add up to the rows of the call paths: calls,
// times and counts, on random machines.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "rmap/pipeline.h"
#include "rmap/tables/input/attribution.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Simulate;
using test_support::Simulation;

struct CallSums {
  std::uint64_t calls = 0, wall_ns = 0, on_cpu_ns = 0, switches = 0, faults = 0;
  std::vector<std::uint64_t> dumps;
  std::vector<bool> known;
};

// Sums by thread and path; paths come from the begins and their depths.
class Calls final : public TimelineObserver {
 public:
  bool WantsCallCounts() const override { return true; }
  void OnSegmentBegin(const SegmentBegin& begin) override {
    std::vector<std::uint32_t>& open = open_[begin.thread];
    CHECK(begin.depth <= open.size());
    open.resize(std::min<std::size_t>(open.size(), begin.depth));
    open.push_back(begin.hook_id);
  }
  void OnSegment(const SegmentSpan& span) override {
    if (span.begin_inferred) return;
    std::vector<std::uint32_t>& open = open_[span.thread];
    REQUIRE(span.depth < open.size());
    open.resize(span.depth + std::size_t{1});
    REQUIRE(open.back() == span.hook_id);
    CallSums& sums = sums_[{span.thread, open}];
    open.pop_back();
    ++sums.calls;
    sums.wall_ns += span.end_ns - span.begin_ns;
    sums.on_cpu_ns += span.on_cpu_ns.value_or(0);
    sums.switches += span.switches;
    sums.faults += span.faults;
    sums.dumps.resize(span.dumps.size());
    sums.known.resize(span.dumps.size());
    for (std::size_t i = 0; i < span.dumps.size(); ++i) {
      sums.dumps[i] += span.dumps[i].value_or(0);
      if (span.dumps[i]) sums.known[i] = true;
    }
  }

  std::map<std::pair<ThreadIndex, std::vector<std::uint32_t>>, CallSums> sums_;

 private:
  std::map<ThreadIndex, std::vector<std::uint32_t>> open_;
};

std::optional<std::uint64_t> CountOf(const CallSums& sums, SegmentSource source,
                                     std::size_t dump) {
  switch (source) {
    case SegmentSource::kNone:
      return std::nullopt;
    case SegmentSource::kOnCpuTime:
      return sums.on_cpu_ns;
    case SegmentSource::kSwitches:
      return sums.switches;
    case SegmentSource::kFaults:
      return sums.faults;
    case SegmentSource::kThreadDumps:
    case SegmentSource::kKernelDumps:
      break;
  }
  if (dump >= sums.known.size() || !sums.known[dump]) return std::nullopt;
  return sums.dumps[dump];
}

// Rows and sums are keyed by process id; a reused id has several of each.
using Key = std::pair<std::int32_t, std::vector<std::string>>;

}  // namespace

TEST_CASE("observer: calls with their counts add up to the rows of paths",
          "[rmap][property]") {
  const auto seed =
      static_cast<std::uint32_t>(GENERATE(range(0, PropertyRuns(120))));
  const bool losses = GENERATE(false, true);
  CAPTURE(seed, losses);
  Simulation run = Simulate(RandomOptions(seed));
  if (losses) {
    std::mt19937 random(seed);
    run.trace->Remove([&](std::size_t) { return random() % 50 == 0; },
                      /*declare=*/true);
  }
  // Dumps at hooks are copied if records do not stay in memory.
  run.trace->set_keeps_records(losses == (seed % 3 == 0));
  Calls calls;
  PipelineOptions options;
  options.observer = &calls;
  const auto report = Reconstruct(*run.trace, options);
  REQUIRE(report.ok());
  const std::vector<EventPlan> plans = PlanEvents(run.trace->info());
  REQUIRE(report->events.size() == plans.size());

  std::map<ThreadIndex, std::int32_t> pids;
  for (const ThreadRow& row : report->threads) pids[row.index] = row.pid;
  // Calls, wall time, then the known counts.
  std::map<Key, std::vector<std::uint64_t>> observed, shown;
  for (const auto& [of, sums] : calls.sums_) {
    Key key = {pids.at(of.first), {}};
    for (const std::uint32_t hook : of.second) {
      key.second.push_back(run.trace->info().FindHook(hook)->FullName());
    }
    std::vector<std::uint64_t>& numbers = observed[key];
    numbers.resize(2 + plans.size());
    numbers[0] += sums.calls;
    numbers[1] += sums.wall_ns;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const std::size_t dump =
          plans[i].thread_event
              ? *plans[i].thread_event
              : run.trace->info().thread_events.size() + *plans[i].cpu_event;
      numbers[2 + i] +=
          CountOf(sums, report->events[i].segment_source, dump).value_or(0);
    }
  }
  for (const SegmentRow& row : report->segment_paths) {
    // Interrupts of CPUs have interrupt spans instead.
    if (row.pid == 0 || row.calls == 0) continue;
    std::vector<std::uint64_t>& numbers = shown[{row.pid, row.path}];
    numbers.resize(2 + plans.size());
    numbers[0] += row.calls;
    numbers[1] += row.wall.incl;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (row.counts[i]) numbers[2 + i] += row.counts[i]->incl;
    }
  }
  CHECK(observed.size() == shown.size());
  for (const auto& [key, numbers] : shown) {
    CAPTURE(key.first, key.second);
    const std::vector<std::uint64_t>& of_calls = observed[key];
    REQUIRE(of_calls.size() == numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      CAPTURE(i);
      // On-CPU time of a path is at least its part outside inner segments,
      // which can exceed the sum after a loss.
      if (losses && i >= 2 &&
          report->events[i - 2].segment_source == SegmentSource::kOnCpuTime) {
        CHECK(of_calls[i] <= numbers[i]);
      } else {
        CHECK(of_calls[i] == numbers[i]);
      }
    }
  }
}

}  // namespace countrace::rmap
