// The observer's spans against the simulated machine, instant by instant.
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
#include "tests/rmap/simulated_machine.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::kSimulatedEvents;
using test_support::PropertyRuns;
using test_support::RandomOptions;
using test_support::Simulate;
using test_support::SimulatedCounts;
using test_support::Simulation;
using test_support::SimulationOptions;
using test_support::TrueInstant;

constexpr std::size_t kFaults = 2, kCycles = 4;

SimulationOptions MachineOf(std::uint32_t seed) {
  SimulationOptions options = RandomOptions(seed);
  options.steps = 150 + seed % 300;
  options.instants = true;
  return options;
}

// All spans, stored; the counts of a dispatch are copied.
struct Timeline final : TimelineObserver {
  bool WantsCallCounts() const override { return true; }
  void OnTime(const AttributedTime& span) override { time.push_back(span); }
  void OnDispatch(const DispatchSpan& span) override {
    dispatches.push_back(span);
    counts.emplace_back(span.counts.begin(), span.counts.end());
  }
  void OnWait(const WaitSpan& span) override { waits.push_back(span); }
  void OnInterrupt(const InterruptSpan& span) override {
    interrupts.push_back(span);
  }
  void OnSegment(const SegmentSpan& span) override { segments.push_back(span); }
  void OnHook(const HookHit& hit) override { ++hits[hit.hook_id]; }
  void OnFault(const FaultHit& hit) override {
    if (hit.thread != kNoThread) ++faults[hit.thread];
  }
  void OnCounters(const CounterDump& dump) override {
    const std::vector<std::uint64_t> values(dump.values.begin(),
                                            dump.values.end());
    first_values.emplace(dump.cpu, values);
    last_values[dump.cpu] = values;
    dump_times[dump.cpu].push_back(dump.time_ns);
  }

  std::vector<AttributedTime> time;
  std::vector<DispatchSpan> dispatches;
  std::vector<std::vector<std::uint64_t>> counts;
  std::vector<WaitSpan> waits;
  std::vector<InterruptSpan> interrupts;
  std::vector<SegmentSpan> segments;
  std::map<std::uint32_t, std::uint64_t> hits;
  std::map<ThreadIndex, std::uint64_t> faults;
  std::map<std::uint32_t, std::vector<std::uint64_t>> first_values, last_values,
      dump_times;
};

template <typename Span>
bool Holds(const Span& span, const TrueInstant& instant) {
  return span.begin_ns <= instant.begin_ns && instant.end_ns <= span.end_ns;
}

const TrueInstant::Thread* FindThread(const TrueInstant& instant,
                                      std::int32_t tid) {
  for (const TrueInstant::Thread& thread : instant.threads) {
    if (thread.tid == tid) return &thread;
  }
  return nullptr;
}

// The machine's state and counts, by time.
class Instants {
 public:
  explicit Instants(const test_support::Truth& truth)
      : instants_(truth.instants) {}
  // The instant that begins at `time_ns` or holds it; null after the last one.
  const TrueInstant* At(std::uint64_t time_ns) const {
    const auto next = std::upper_bound(
        instants_.begin(), instants_.end(), time_ns,
        [](std::uint64_t ns, const TrueInstant& at) { return ns < at.end_ns; });
    return next == instants_.end() ? nullptr : &*next;
  }
  template <typename Span, typename Visit>
  void In(const Span& span, const Visit& visit) const {
    std::uint64_t ns = 0;
    for (const TrueInstant* at = At(span.begin_ns);
         at != nullptr && at < instants_.data() + instants_.size() &&
         at->begin_ns < span.end_ns;
         ++at) {
      // A span begins and ends where something happens.
      CHECK(Holds(span, *at));
      ns += at->end_ns - at->begin_ns;
      visit(*at);
    }
    CHECK(ns == span.end_ns - span.begin_ns);
  }
  std::uint64_t begin_ns() const { return instants_.front().begin_ns; }
  std::uint64_t end_ns() const { return instants_.back().end_ns; }

 private:
  const std::vector<TrueInstant>& instants_;
};

class Checker {
 public:
  Checker(const Report& report, const Simulation& run)
      : info_(run.trace->info()), truth_(run.truth), instants_(run.truth) {
    for (const ThreadRow& row : report.threads) tids_[row.index] = row.tid;
  }

  void CheckDispatch(const DispatchSpan& span,
                     const std::vector<std::uint64_t>& counts,
                     bool cycles_known) const {
    const bool counted = span.thread != kNoThread;
    const std::int32_t tid = counted ? tids_.at(span.thread) : 0;
    CAPTURE(span.cpu, tid, span.begin_ns, span.end_ns);
    std::uint64_t interrupts_ns = 0;
    instants_.In(span, [&](const TrueInstant& now) {
      const TrueInstant::Cpu& cpu = now.cpus[span.cpu];
      CHECK(cpu.tid == tid);
      CHECK(cpu.outside == span.outside);
      if (!cpu.interrupts.empty()) interrupts_ns += now.end_ns - now.begin_ns;
    });
    CHECK(span.interrupts_ns == interrupts_ns);
    CHECK(span.begin_inferred == (span.begin_ns == instants_.begin_ns()));
    CHECK(span.end_inferred == (span.end_ns == instants_.end_ns()));
    if (!counted) return;
    const TrueInstant* const next = instants_.At(span.end_ns);
    if (next == nullptr) return;
    const TrueInstant::Thread* const after = FindThread(*next, tid);
    const bool dead = (span.end_state & logformat::kSwitchDead) != 0;
    CHECK((after == nullptr) == dead);
    if (after == nullptr || after->cpu >= 0) return;
    CHECK(after->waiting ==
          (span.end_state == logformat::kSwitchRunnable ||
           (span.end_state & logformat::kSwitchPreempted) != 0));
    SimulatedCounts before{};
    if (const TrueInstant* const at = instants_.At(span.begin_ns - 1);
        span.begin_ns > instants_.begin_ns() && at != nullptr) {
      if (const auto* thread = FindThread(*at, tid)) before = thread->counts;
    }
    REQUIRE(counts.size() >= kSimulatedEvents);
    for (std::size_t i = 0; i < kSimulatedEvents; ++i) {
      if (i == kCycles && !cycles_known) continue;
      CAPTURE(i);
      CHECK(counts[i] == after->counts[i] - before[i]);
    }
  }

  void CheckWait(const WaitSpan& span) const {
    const std::int32_t tid = tids_.at(span.thread);
    CAPTURE(tid, span.begin_ns, span.end_ns);
    instants_.In(span, [&](const TrueInstant& now) {
      const TrueInstant::Thread* const thread = FindThread(now, tid);
      REQUIRE(thread != nullptr);
      CHECK(thread->waiting);
    });
  }

  void CheckSegment(const SegmentSpan& span) const {
    const std::int32_t tid = tids_.at(span.thread);
    const std::string name = info_.FindHook(span.hook_id)->FullName();
    CAPTURE(tid, name, span.depth, span.begin_ns, span.end_ns);
    CHECK_FALSE(span.begin_inferred);
    if (span.end_inferred) return;  // it may have been left before
    CHECK(span.on_cpu_exact);
    std::uint64_t on_cpu_ns = 0;
    instants_.In(span, [&](const TrueInstant& now) {
      const TrueInstant::Thread* const thread = FindThread(now, tid);
      REQUIRE(thread != nullptr);
      REQUIRE(span.depth < thread->open.size());
      const TrueInstant::Call& call = thread->open[span.depth];
      CHECK(call.segment == name);
      CHECK(call.begin_ns == span.begin_ns);
      if (thread->on_cpu) on_cpu_ns += now.end_ns - now.begin_ns;
    });
    CHECK(span.on_cpu_ns == on_cpu_ns);
  }

  void CheckInterrupt(const InterruptSpan& span) const {
    const std::string name = info_.FindHook(span.hook_id)->FullName();
    CAPTURE(span.cpu, name, span.depth, span.begin_ns, span.end_ns);
    CHECK_FALSE(span.end_inferred);
    instants_.In(span, [&](const TrueInstant& now) {
      const TrueInstant::Cpu& cpu = now.cpus[span.cpu];
      REQUIRE(span.depth < cpu.interrupts.size());
      CHECK(cpu.interrupts[span.depth] == name);
    });
  }

  // False: this interval is attributed to a thread that did not run there.
  bool IsTrue(const AttributedTime& span) const {
    if (span.account != Account::kProcesses) return true;
    const std::int32_t tid = tids_.at(span.thread);
    if (truth_.reused_tids.contains(tid)) return true;
    for (const TrueInstant* at = instants_.At(span.begin_ns);
         at != nullptr && at->begin_ns < span.end_ns;
         at = instants_.At(at->end_ns)) {
      const TrueInstant::Cpu& cpu = at->cpus[span.cpu];
      if (cpu.tid != tid || !cpu.interrupts.empty()) return false;
    }
    return true;
  }

 private:
  const logformat::TraceInfo& info_;
  const test_support::Truth& truth_;
  Instants instants_;
  std::map<ThreadIndex, std::int32_t> tids_;
};

Report MustReconstruct(logformat::TraceReader& reader, Timeline& timeline) {
  PipelineOptions options;
  options.observer = &timeline;
  auto report = Reconstruct(reader, options);
  REQUIRE(report.ok());
  return *std::move(report);
}

}  // namespace

TEST_CASE("timeline: each span is the simulated machine's, to the nanosecond",
          "[rmap][property]") {
  const auto seed =
      static_cast<std::uint32_t>(GENERATE(range(0, PropertyRuns(120))));
  CAPTURE(seed);
  const SimulationOptions options = MachineOf(seed);
  Simulation run = Simulate(options);
  Timeline timeline;
  const Report report = MustReconstruct(*run.trace, timeline);
  const Checker checker(report, run);
  for (std::size_t i = 0; i < timeline.dispatches.size(); ++i) {
    checker.CheckDispatch(timeline.dispatches[i], timeline.counts[i],
                          !options.interrupts || options.dumps);
  }
  for (const WaitSpan& span : timeline.waits) checker.CheckWait(span);
  for (const SegmentSpan& span : timeline.segments) checker.CheckSegment(span);
  for (const InterruptSpan& span : timeline.interrupts) {
    checker.CheckInterrupt(span);
  }
  for (const ThreadRow& row : report.threads) {
    CHECK(timeline.faults[row.index] == row.counts[kFaults]);
  }
  for (const HookRow& row : report.hooks) {
    if (row.hook != "countrace:jump") continue;
    timeline.hits.begin()->second -= row.hits;
  }
  for (const auto& [hook, hits] : timeline.hits) CHECK(hits == 0);
  // The dumps of a CPU are in order, and its counts are the last less the
  // first.
  for (const CpuRow& row : report.cpu_rows) {
    const auto& times = timeline.dump_times[row.cpu];
    CHECK(std::is_sorted(times.begin(), times.end()));
    CHECK(times.front() == run.truth.instants.front().begin_ns);
    CHECK(times.back() == run.truth.instants.back().end_ns);
    for (std::size_t i = 0; i < row.counts.size(); ++i) {
      CHECK(timeline.last_values[row.cpu][i] -
                timeline.first_values[row.cpu][i] ==
            row.counts[i]);
    }
  }
}

TEST_CASE("timeline: what a thread gets beside lost records was its own",
          "[rmap][property][loss]") {
  std::size_t intervals = 0, wrong = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(300u); ++seed) {
    SimulationOptions options = MachineOf(seed);
    Simulation run = Simulate(options);
    std::mt19937 random(seed);
    const std::uint32_t every = 3 + seed % 60;
    run.trace->Remove([&](std::size_t) { return random() % every == 0; },
                      /*declare=*/true);
    Timeline timeline;
    const Report report = MustReconstruct(*run.trace, timeline);
    const Checker checker(report, run);
    for (const AttributedTime& span : timeline.time) {
      ++intervals;
      if (!checker.IsTrue(span)) ++wrong;
    }
  }
  CHECK(intervals > PropertyRuns(10000u));
  CHECK(wrong == 0);
}

TEST_CASE(
    "timeline: of a dispatch that the kernel began unseen the end is seen",
    "[rmap]") {
  test_support::MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpu_events = {"task-clock"};
  trace.Dump(1000, 0, logformat::CountersReason::kBegin, 50, {0});
  trace.State(1000, 0, {50, 50, 1, 0}, "app");
  trace.State(1000, 0, {60, 60, 1, 0}, "two");
  // 50 left, and 60 came, without a record.
  trace.Dispatch(1200, 0, 60, 50, logformat::kSwitchInterruptible, {200});
  trace.Dump(2000, 0, logformat::CountersReason::kEnd, 50, {1000});
  Timeline timeline;
  const Report report = MustReconstruct(trace, timeline);
  REQUIRE(timeline.dispatches.size() == 3);
  const DispatchSpan& hidden = timeline.dispatches[0];  // of 50, up to a dump
  CHECK(hidden.end_inferred);
  CHECK(hidden.end_ns == 1000);
  const DispatchSpan& seen = timeline.dispatches[1];  // of 60
  CHECK(seen.begin_inferred);
  CHECK_FALSE(seen.end_inferred);
  CHECK(seen.begin_ns == 1200);
  CHECK(seen.end_ns == 1200);
  CHECK(seen.end_state == logformat::kSwitchInterruptible);
  const DispatchSpan& last = timeline.dispatches[2];
  CHECK_FALSE(last.begin_inferred);
  CHECK(last.end_inferred);
  CHECK(last.end_ns == 2000);
  CHECK(report.hidden_switches == 1);
}

}  // namespace countrace::rmap
