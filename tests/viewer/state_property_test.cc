// state(t) from the index against a simulated machine whose truth is known at
// every instant, and against a linear scan of the reconstruction's output.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "rmap/pipeline.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/viewer/index_fixture.h"
#include "viewer/index/build/index_builder.h"
#include "viewer/index/file/visit_count.h"
#include "viewer/index/instant/instant_state.h"
#include "viewer/index/instant/nearest_step.h"
#include "viewer/index/range/range_totals.h"

namespace countrace::viewer {
namespace {

using test_support::Simulate;
using test_support::Simulation;
using test_support::SimulationOptions;
using test_support::TrueInstant;

SimulationOptions MachineOf(std::uint32_t seed) {
  SimulationOptions options = test_support::RandomOptions(seed);
  options.steps = 150 + seed % 500;
  options.instants = true;
  return options;
}

// The spans from reconstruction, stored unchanged.
class Spans final : public rmap::TimelineObserver {
 public:
  explicit Spans(rmap::TimelineObserver& next) : next_(next) {}
  void OnTime(const rmap::AttributedTime& attributed) override {
    time.push_back(attributed);
    next_.OnTime(attributed);
  }
  void OnUnseen(const rmap::UnseenCount& unseen) override {
    next_.OnUnseen(unseen);
  }
  void OnOwnersUnknown(std::uint64_t since_ns) override {
    next_.OnOwnersUnknown(since_ns);
  }
  void OnDispatch(const rmap::DispatchSpan& span) override {
    dispatches.push_back(span);
    dispatches.back().counts = {};
    next_.OnDispatch(span);
  }
  void OnWait(const rmap::WaitSpan& span) override {
    waits.push_back(span);
    next_.OnWait(span);
  }
  void OnInterrupt(const rmap::InterruptSpan& span) override {
    interrupts.push_back(span);
    next_.OnInterrupt(span);
  }
  void OnSegment(const rmap::SegmentSpan& span) override {
    segments.push_back(span);
    next_.OnSegment(span);
  }
  void OnHook(const rmap::HookHit& hit) override {
    hooks.push_back(hit);
    next_.OnHook(hit);
  }
  void OnCounters(const rmap::CounterDump& dump) override {
    next_.OnCounters(dump);
  }
  void OnLoss(const rmap::LossSpan& loss) override {
    losses.push_back(loss);
    next_.OnLoss(loss);
  }
  std::vector<rmap::AttributedTime> time;
  std::vector<rmap::DispatchSpan> dispatches;
  std::vector<rmap::WaitSpan> waits;
  std::vector<rmap::InterruptSpan> interrupts;
  std::vector<rmap::SegmentSpan> segments;
  std::vector<rmap::HookHit> hooks;
  std::vector<rmap::LossSpan> losses;

 private:
  rmap::TimelineObserver& next_;
};

struct Indexed {
  std::unique_ptr<TemporaryDirectory> directory;
  std::unique_ptr<IndexBuilder> builder;
  std::unique_ptr<Spans> spans;
  std::unique_ptr<TimelineIndex> index;
  std::uint64_t begin_ns() const { return index->header().begin_ns; }
};

Indexed IndexOf(logformat::TraceReader& reader) {
  Indexed out;
  out.directory = std::make_unique<TemporaryDirectory>();
  const std::string path = out.directory->path() + "/" + kIndexFile;
  auto builder = IndexBuilder::Create(
      static_cast<std::uint32_t>(reader.info().cpu_events.size()),
      out.directory->path());
  REQUIRE(builder.ok());
  out.builder = *std::move(builder);
  out.spans = std::make_unique<Spans>(*out.builder);
  rmap::PipelineOptions options;
  options.observer = out.spans.get();
  const auto report = rmap::Reconstruct(reader, options);
  REQUIRE(report.ok());
  REQUIRE(
      out.builder->Finish(*report, reader.info(), kTestFingerprint, path).ok());
  auto index = TimelineIndex::Open(path, &kTestFingerprint);
  REQUIRE(index.ok());
  out.index = *std::move(index);
  return out;
}

std::string HookName(const TimelineIndex& index, std::uint32_t id) {
  for (const HookEntry& hook : index.hooks()) {
    if (hook.id == id) return std::string(index.Text(hook.name));
  }
  return "?";
}

std::int32_t TidOf(const TimelineIndex& index, std::uint32_t thread) {
  return index.threads()[thread].tid;
}

void CheckThread(const TimelineIndex& index, const ThreadState& state,
                 const TrueInstant::Thread& truth, std::uint64_t into_ns,
                 std::uint64_t trace_begin_ns) {
  CAPTURE(truth.tid);
  CHECK(index.threads()[state.thread].pid == truth.pid);
  CHECK((state.state == RunState::kRunning) == (truth.cpu >= 0));
  if (truth.cpu >= 0) {
    CHECK(state.cpu == static_cast<std::uint32_t>(truth.cpu));
  }
  CHECK((state.state == RunState::kWaiting) ==
        (truth.waiting && !truth.throttled));
  CHECK((state.state == RunState::kThrottled) == truth.throttled);
  CHECK(state.state != RunState::kEnded);
  const std::uint64_t ran_ns = truth.on_cpu ? into_ns : 0;
  CHECK(state.on_cpu_ns.value_or(0) == truth.on_cpu_ns + ran_ns);
  CHECK(state.wait_ns.value_or(0) ==
        truth.wait_ns + (truth.waiting ? into_ns : 0));
  if (state.on_cpu_ns) CHECK(state.dispatches == truth.dispatches);
  // Cycles of an interval with several threads are not attributed.
  for (std::size_t event = 0; event < 4 && !state.counts.empty(); ++event) {
    if (state.counts[event].estimated) {
      CHECK(truth.cpu >= 0);  // never after a dispatch
    } else if (truth.cpu < 0) {
      CAPTURE(event);
      CHECK(state.counts[event].count == truth.counts[event]);
    }
  }
  REQUIRE(state.open.size() == truth.open.size());
  for (std::size_t i = 0; i < truth.open.size(); ++i) {
    CHECK(HookName(index, state.open[i].hook_id) == truth.open[i].segment);
    CHECK(state.open[i].depth == i);
    CHECK(state.open[i].begin_ns == truth.open[i].begin_ns - trace_begin_ns);
    CHECK(state.open[i].on_cpu_ns.value_or(0) ==
          truth.open[i].on_cpu_ns + ran_ns);
  }
}

void CheckInstant(const Indexed& indexed, const TrueInstant& truth,
                  std::uint64_t at_ns) {
  CAPTURE(at_ns, truth.begin_ns);
  const TimelineIndex& index = *indexed.index;
  const std::uint64_t into_ns = at_ns - truth.begin_ns;
  const InstantState state =
      StateAt(index, at_ns - indexed.begin_ns(),
              {.threads = StateThreads::kAll, .window_ns = 0});
  REQUIRE(state.cpus.size() == truth.cpus.size());
  for (const CpuState& cpu : state.cpus) {
    const TrueInstant::Cpu& real = truth.cpus[cpu.cpu];
    CAPTURE(cpu.cpu);
    REQUIRE(cpu.known);
    CHECK((cpu.flags & kLeafOutside) / kLeafOutside ==
          (real.outside ? 1u : 0u));
    CHECK((cpu.thread == kNoKey ? 0 : TidOf(index, cpu.thread)) == real.tid);
    CHECK(cpu.in_interrupt == !real.interrupts.empty());
    CHECK(cpu.interrupts_ns ==
          real.interrupts_ns + (real.interrupts.empty() ? 0 : into_ns));
    REQUIRE(cpu.interrupts.size() == real.interrupts.size());
    for (std::size_t i = 0; i < real.interrupts.size(); ++i) {
      CHECK(HookName(index, cpu.interrupts[i].hook_id) == real.interrupts[i]);
    }
  }
  std::map<std::int32_t, const ThreadState*> by_tid;
  for (const ThreadState& thread : state.threads) {
    CHECK(by_tid.emplace(TidOf(index, thread.thread), &thread).second);
  }
  for (const TrueInstant::Thread& real : truth.threads) {
    const auto found = by_tid.find(real.tid);
    if (found == by_tid.end()) {
      // The trace has no record of it yet, or only of its existence.
      CHECK(real.dispatches == 0);
      CHECK(real.open.empty());
      continue;
    }
    CheckThread(index, *found->second, real, into_ns, indexed.begin_ns());
    by_tid.erase(found);
  }
  for (const auto& [tid, thread] : by_tid) {
    CAPTURE(tid, RunStateName(thread->state));
    CHECK(tid < 0);  // no other thread is alive
  }
  for (std::size_t event = 0; event < state.events.size(); ++event) {
    CHECK_FALSE(state.events[event].gap);
    // Values between two dumps are exact only if nothing was counted between.
    // The switch that a dump records is counted just after it.
    const bool switches_at_dump = event == 3 && at_ns == truth.begin_ns;
    if (!state.events[event].estimated && !switches_at_dump) {
      CHECK(state.events[event].count ==
            static_cast<double>(truth.total[event]));
    }
  }
}

}  // namespace

TEST_CASE("state: equals the simulated machine at every instant",
          "[viewer][property]") {
  const auto seed = static_cast<std::uint32_t>(GENERATE(range(0, 48)));
  CAPTURE(seed);
  Simulation run = Simulate(MachineOf(seed));
  const Indexed indexed = IndexOf(*run.trace);
  std::mt19937_64 random(seed);
  for (const TrueInstant& instant : run.truth.instants) {
    CheckInstant(indexed, instant, instant.begin_ns);  // a record's own time
    if (random() % 4 != 0) continue;
    CheckInstant(indexed, instant, instant.end_ns - 1);
    const std::uint64_t length_ns = instant.end_ns - instant.begin_ns;
    CheckInstant(indexed, instant, instant.begin_ns + random() % length_ns);
  }
  // After the end nothing runs, and the sums are the trace's.
  for (const std::uint64_t beyond_ns : {0ull, 1ull, 1'000'000'000'000ull}) {
    const InstantState state =
        StateAt(*indexed.index, indexed.index->duration_ns() + beyond_ns,
                {.threads = StateThreads::kAll, .window_ns = 1000});
    for (const CpuState& cpu : state.cpus) CHECK_FALSE(cpu.known);
    std::multiset<std::uint64_t> found, expected;
    for (const ThreadState& thread : state.threads) {
      CHECK(thread.open.empty());
      CHECK(thread.state != RunState::kRunning);
      found.insert(thread.on_cpu_ns.value_or(0));
    }
    for (const auto& thread : run.truth.instants.back().threads) {
      expected.insert(thread.on_cpu_ns +
                      (thread.on_cpu ? run.truth.instants.back().end_ns -
                                           run.truth.instants.back().begin_ns
                                     : 0));
    }
    // Threads that never ran may have no record. What follows is unknown for
    // threads that ran to the last record.
    found.erase(0);
    expected.erase(0);
    if (beyond_ns == 0) CHECK(found == expected);
  }
}

TEST_CASE("state: with records lost, equals a linear scan of what is known",
          "[viewer][property]") {
  const auto seed = static_cast<std::uint32_t>(GENERATE(range(0, 60)));
  const bool declare = GENERATE(false, true);
  CAPTURE(seed, declare);
  Simulation run = Simulate(MachineOf(seed));
  std::mt19937_64 random(seed);
  run.trace->Remove([&](std::size_t) { return random() % 25 == 0; }, declare);
  const Indexed indexed = IndexOf(*run.trace);
  const TimelineIndex& index = *indexed.index;
  const Spans& spans = *indexed.spans;
  const std::uint64_t begin_ns = indexed.begin_ns();
  // Losses can put a thread on two CPUs at once, which no row can hold.
  std::set<std::uint32_t> overlapping;
  std::map<rmap::ThreadIndex, std::uint64_t> last_end_ns;
  for (const rmap::DispatchSpan& span : spans.dispatches) {
    if (span.thread == rmap::kNoThread) continue;
    if (span.begin_ns < last_end_ns[span.thread]) {
      overlapping.insert(static_cast<std::uint32_t>(span.thread));
    }
    last_end_ns[span.thread] = span.end_ns;
  }
  CHECK(overlapping.size() <= 1);
  const auto covers = [](const auto& span, std::uint64_t at_ns) {
    return span.begin_ns <= at_ns && at_ns < span.end_ns;
  };
  for (int i = 0; i < 40; ++i) {
    std::uint64_t at_ns = begin_ns + random() % (index.duration_ns() + 20);
    if (i % 2 == 0) {
      at_ns = spans.dispatches[random() % spans.dispatches.size()].begin_ns;
    }
    CAPTURE(at_ns);
    const InstantState state =
        StateAt(index, at_ns - begin_ns,
                {.threads = StateThreads::kAll, .window_ns = 0});
    for (const CpuState& cpu : state.cpus) {
      const auto found =
          std::find_if(spans.dispatches.begin(), spans.dispatches.end(),
                       [&](const auto& span) {
                         return span.cpu == cpu.cpu && covers(span, at_ns);
                       });
      REQUIRE(cpu.known == (found != spans.dispatches.end()));
      if (cpu.known) {
        CHECK(cpu.begin_ns == found->begin_ns - begin_ns);
        if (!found->outside) {
          CHECK(cpu.thread == static_cast<std::uint32_t>(found->thread));
        }
      }
    }
    for (const ThreadState& thread : state.threads) {
      CAPTURE(thread.thread);
      std::uint64_t on_cpu_ns = 0, wait_ns = 0;
      bool waiting = false;
      for (const rmap::AttributedTime& attributed : spans.time) {
        if (static_cast<std::uint32_t>(attributed.thread) != thread.thread) {
          continue;
        }
        on_cpu_ns +=
            std::min(attributed.end_ns, std::max(attributed.begin_ns, at_ns)) -
            attributed.begin_ns;
      }
      for (const rmap::WaitSpan& wait : spans.waits) {
        if (static_cast<std::uint32_t>(wait.thread) != thread.thread) continue;
        wait_ns += std::min(wait.end_ns, std::max(wait.begin_ns, at_ns)) -
                   wait.begin_ns;
        waiting |= covers(wait, at_ns);
      }
      if (!overlapping.contains(thread.thread)) {
        CHECK(thread.on_cpu_ns.value_or(0) == on_cpu_ns);
      }
      CHECK(thread.wait_ns.value_or(0) == wait_ns);
      CHECK((!waiting || thread.state == RunState::kWaiting ||
             thread.state == RunState::kThrottled ||
             thread.state == RunState::kRunning));
      std::multiset<std::uint32_t> open, expected;
      for (const OpenSegment& call : thread.open) open.insert(call.hook_id);
      for (const rmap::SegmentSpan& call : spans.segments) {
        if (static_cast<std::uint32_t>(call.thread) == thread.thread &&
            covers(call, at_ns)) {
          expected.insert(call.hook_id);
        }
      }
      CHECK(open == expected);
    }
  }
}

TEST_CASE("nearest_step: next and previous equal a linear scan",
          "[viewer][property]") {
  const auto seed = static_cast<std::uint32_t>(GENERATE(range(0, 40)));
  CAPTURE(seed);
  Simulation run = Simulate(MachineOf(seed));
  std::mt19937_64 random(seed);
  if (seed % 2 == 1) {
    run.trace->Remove([&](std::size_t) { return random() % 40 == 0; }, true);
  }
  const Indexed indexed = IndexOf(*run.trace);
  const TimelineIndex& index = *indexed.index;
  const Spans& spans = *indexed.spans;
  const std::uint64_t begin_ns = indexed.begin_ns();

  // Filtered by one thread and one hook, or by none.
  const auto thread =
      static_cast<std::uint32_t>(random() % index.threads().size());
  const std::uint32_t hook = index.hooks()[random() % 4].id;
  for (const std::uint32_t kind : {kStepDispatch + 0u, kStepSegment + 0u,
                                   kStepInterrupt + 0u, kStepLoss + 0u}) {
    for (const bool by_thread : {false, true}) {
      for (const bool by_hook : {false, true}) {
        const bool begins_only = random() % 2 == 0;
        CAPTURE(kind, by_thread, by_hook, thread, hook, begins_only);
        std::set<std::uint64_t> times;
        const auto add = [&](std::uint64_t from_ns, std::uint64_t to_ns) {
          times.insert(from_ns - begin_ns);
          if (!begins_only) times.insert(to_ns - begin_ns);
        };
        if (kind == kStepDispatch && !by_hook) {
          for (const auto& span : spans.dispatches) {
            if (by_thread && (span.outside || static_cast<std::uint32_t>(
                                                  span.thread) != thread)) {
              continue;
            }
            add(span.begin_ns, span.end_ns);
          }
        }
        if (kind == kStepSegment) {
          for (const auto& span : spans.segments) {
            if (by_thread &&
                static_cast<std::uint32_t>(span.thread) != thread) {
              continue;
            }
            if (by_hook && span.hook_id != hook) continue;
            add(span.begin_ns, span.end_ns);
          }
        }
        if (kind == kStepInterrupt && !by_thread) {
          for (const auto& span : spans.interrupts) {
            if (by_hook && span.hook_id != hook) continue;
            add(span.begin_ns, span.end_ns);
          }
        }
        if (kind == kStepLoss && !by_thread && !by_hook) {
          // Adjacent losses are merged.
          std::vector<std::pair<std::uint64_t, std::uint64_t>> merged;
          for (const auto& loss : spans.losses) {
            merged.emplace_back(loss.begin_ns,
                                std::max(loss.begin_ns, loss.end_ns));
          }
          std::sort(merged.begin(), merged.end());
          std::size_t kept = 0;
          for (std::size_t i = 0; i < merged.size(); ++i) {
            if (kept != 0 && merged[i].first <= merged[kept - 1].second) {
              merged[kept - 1].second =
                  std::max(merged[kept - 1].second, merged[i].second);
            } else {
              merged[kept++] = merged[i];
            }
          }
          merged.resize(kept);
          for (const auto& [from_ns, to_ns] : merged) add(from_ns, to_ns);
        }
        StepFilter filter;
        filter.begins_only = begins_only;
        if (by_thread) filter.threads = {thread};
        if (by_hook) filter.hooks = {hook};
        for (int i = 0; i < 60; ++i) {
          std::uint64_t at_ns = random() % (index.duration_ns() + 20);
          if (i % 2 == 0 && !times.empty()) {
            at_ns = *std::next(times.begin(), static_cast<std::ptrdiff_t>(
                                                  random() % times.size()));
          }
          CAPTURE(at_ns);
          const auto next = NearestStep(index, at_ns, true, kind, filter);
          const auto above = times.upper_bound(at_ns);
          REQUIRE(next.has_value() == (above != times.end()));
          if (next) CHECK(next->time_ns == *above);
          const auto previous = NearestStep(index, at_ns, false, kind, filter);
          const auto below = times.lower_bound(at_ns);
          REQUIRE(previous.has_value() == (below != times.begin()));
          if (previous) CHECK(previous->time_ns == *std::prev(below));
        }
      }
    }
  }
}

TEST_CASE("state: a hundred times the records cost a little more to ask",
          "[viewer]") {
  // The same machine for a hundred times as long.
  std::map<std::uint64_t, std::uint64_t> most;  // visits, by dispatches
  for (const std::uint64_t dispatches : {10'000ull, 1'000'000ull}) {
    const BuiltIndex built = BuildSyntheticIndex(
        {.seed = 3, .dispatches = dispatches, .max_depth = 2, .losses = false});
    std::mt19937_64 random(3);
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t at_ns = random() % built.index->duration_ns();
      const std::uint64_t before = VisitCount();
      (void)StateAt(*built.index, at_ns,
                    {.threads = StateThreads::kAll, .window_ns = 1'000'000});
      (void)NearestStep(*built.index, at_ns, i % 2 == 0,
                        kStepDispatch | kStepSegment | kStepHook);
      most[dispatches] = std::max(most[dispatches], VisitCount() - before);
    }
    std::printf("state + step: dispatches=%llu rows=%zu visits<=%llu\n",
                static_cast<unsigned long long>(dispatches),
                built.index->rows().size(),
                static_cast<unsigned long long>(most[dispatches]));
  }
  // Linear cost would be a hundred times as many.
  CHECK(most[1'000'000] < 2 * most[10'000]);
}

TEST_CASE("state: what is not marked is the truth, whatever was lost",
          "[viewer][property][loss]") {
  const auto seed = static_cast<std::uint32_t>(GENERATE(range(0, 200)));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  Simulation run = Simulate(MachineOf(seed));
  const std::uint64_t one_in = 10 + seed % 50;
  run.trace->Remove([&](std::size_t) { return random() % one_in == 0; },
                    /*declare=*/true);
  const Indexed indexed = IndexOf(*run.trace);
  const TimelineIndex& index = *indexed.index;
  static std::uint64_t sure = 0;  // over all seeds
  std::uint64_t bounded = 0;
  for (int i = 0; i < 30; ++i) {
    const TrueInstant& truth =
        run.truth.instants[random() % run.truth.instants.size()];
    const std::uint64_t into_ns = random() % (truth.end_ns - truth.begin_ns);
    if (truth.begin_ns < indexed.begin_ns()) continue;
    const InstantState state =
        StateAt(index, truth.begin_ns + into_ns - indexed.begin_ns(),
                {.threads = StateThreads::kAll});
    for (const ThreadState& thread : state.threads) {
      const std::int32_t tid = TidOf(index, thread.thread);
      const auto same = [&](const auto& each) { return each.tid == tid; };
      if (run.truth.reused_tids.contains(tid) || !thread.on_cpu_ns) continue;
      const auto found =
          std::find_if(truth.threads.begin(), truth.threads.end(), same);
      if (found == truth.threads.end()) continue;
      CAPTURE(tid, truth.begin_ns, into_ns);
      if (thread.bounded) {
        ++bounded;
        continue;
      }
      ++sure;
      CHECK(*thread.on_cpu_ns ==
            found->on_cpu_ns + (found->on_cpu ? into_ns : 0));
      CHECK(*thread.wait_ns == found->wait_ns + (found->waiting ? into_ns : 0));
      CHECK(thread.dispatches == found->dispatches);
      // Page faults and switches, which do not change between two instants.
      for (const std::size_t event : {2u, 3u}) {
        if (thread.counts[event].estimated) continue;
        CAPTURE(event);
        CHECK(thread.counts[event].count == found->counts[event]);
      }
    }
  }
  if (seed % 50 == 0) CHECK(bounded > 0);
  if (seed == 199) CHECK(sure > 1000);
}

TEST_CASE(
    "aggregate: what is not marked is the truth, and marks are of the range",
    "[viewer][property][loss]") {
  const auto seed = static_cast<std::uint32_t>(GENERATE(range(0, 200)));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  Simulation run = Simulate(MachineOf(seed));
  const std::uint64_t one_in = 100 + seed % 500;
  run.trace->Remove([&](std::size_t) { return random() % one_in == 0; },
                    /*declare=*/true);
  const Indexed indexed = IndexOf(*run.trace);
  const TimelineIndex& index = *indexed.index;
  const auto& instants = run.truth.instants;
  static std::uint64_t sure = 0;  // over all seeds
  for (int i = 0; i < 30; ++i) {
    std::size_t first = random() % instants.size();
    std::size_t last = first + random() % (instants.size() - first);
    const TrueInstant &begin = instants[first], &end = instants[last];
    if (begin.begin_ns < indexed.begin_ns()) continue;
    CAPTURE(begin.begin_ns, end.begin_ns);
    const RangeTotals totals =
        TotalsIn(index, {begin.begin_ns - indexed.begin_ns(),
                         end.begin_ns - indexed.begin_ns()});
    for (const ProcessTotals& process : totals.processes) {
      const std::int32_t pid = index.processes()[process.process].pid;
      CAPTURE(pid);
      if (process.run.qualities.Has(rmap::Quality::kBounded)) continue;
      ++sure;
      // Both have the same threads of it, of which none is another's.
      std::map<std::int32_t, std::uint64_t> before, after;
      for (const auto& each : begin.threads) {
        if (each.pid == pid) before[each.tid] = each.on_cpu_ns;
      }
      for (const auto& each : end.threads) {
        if (each.pid == pid) after[each.tid] = each.on_cpu_ns;
      }
      std::uint64_t on_cpu_ns = 0;
      const auto threads =
          std::count_if(run.truth.threads.begin(), run.truth.threads.end(),
                        [&](const auto& each) { return each.pid == pid; });
      bool same = before.size() == after.size() &&
                  after.size() == static_cast<std::size_t>(threads);
      for (const auto& [tid, ns] : after) {
        same &= before.contains(tid) && !run.truth.reused_tids.contains(tid);
        on_cpu_ns += ns - before[tid];
      }
      if (!same || run.truth.reused_tids.contains(pid)) continue;
      CHECK(process.run.on_cpu_ns == on_cpu_ns);
    }
  }
  if (seed == 199) CHECK(sure > 100);
}

enum SegmentField : std::size_t {
  kSegmentCalls,
  kSegmentWallIncl,
  kSegmentWallExcl,
  kSegmentOnCpuIncl,
  kSegmentOnCpuExcl,
  kSegmentFields,
};

// Over its paths. The inclusive times are of the outermost calls, as in the
// report.
std::array<std::uint64_t, kSegmentFields> TrueSums(
    const test_support::TrueProcess& process, const std::string& segment) {
  std::array<std::uint64_t, kSegmentFields> sums{};
  for (const auto& [path, sum] : process.by_path) {
    if (path != segment && !path.ends_with("> " + segment)) continue;
    const bool inner = ("> " + path).find("> " + segment + " >") != path.npos;
    sums[kSegmentCalls] += sum.calls;
    sums[kSegmentWallIncl] += inner ? 0 : sum.wall_incl;
    sums[kSegmentWallExcl] += sum.wall_excl;
    sums[kSegmentOnCpuIncl] += inner ? 0 : sum.on_cpu_incl;
    sums[kSegmentOnCpuExcl] += sum.on_cpu_excl;
  }
  return sums;
}

TEST_CASE("aggregate: segments without a mark are the truth, whatever was lost",
          "[viewer][property][loss]") {
  const auto seed = static_cast<std::uint32_t>(GENERATE(range(0, 200)));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  Simulation run = Simulate(MachineOf(seed));
  const std::uint64_t one_in = 10 + seed % 200;
  const bool lossy = seed % 4 != 0;
  run.trace->Remove(
      [&](std::size_t) { return lossy && random() % one_in == 0; },
      /*declare=*/true);
  const Indexed indexed = IndexOf(*run.trace);
  const TimelineIndex& index = *indexed.index;
  std::map<std::int32_t, int> rows, processes;
  for (const auto& each : index.processes()) {
    if (each.listed != 0) ++rows[each.pid];
  }
  for (const auto& each : run.truth.processes) ++processes[each.pid];
  std::map<std::uint32_t, std::string> names;
  for (const auto& hook : index.hooks()) names[hook.id] = index.Text(hook.name);
  static std::uint64_t compared = 0;  // over all seeds
  std::uint64_t bounded = 0;
  for (const SegmentTotals& row :
       TotalsIn(index, {0, index.duration_ns()}).segments) {
    const std::int32_t pid = index.processes()[row.process].pid;
    const auto reused = [&](const auto& each) {
      return each.pid == pid && run.truth.reused_tids.contains(each.tid);
    };
    if (rows[pid] != 1 || processes[pid] != 1 ||
        std::any_of(run.truth.threads.begin(), run.truth.threads.end(),
                    reused)) {
      continue;
    }
    const std::array<std::uint64_t, kSegmentFields> values = {
        row.calls, row.wall_incl_ns, row.wall_excl_ns, row.on_cpu_incl_ns,
        row.on_cpu_excl_ns};
    const auto process =
        std::find_if(run.truth.processes.begin(), run.truth.processes.end(),
                     [pid](const auto& each) { return each.pid == pid; });
    const auto truth = TrueSums(*process, names[row.hook_id]);
    CAPTURE(pid, names[row.hook_id]);
    if (row.qualities.Has(rmap::Quality::kBounded)) {
      ++bounded;
      continue;
    }
    for (std::size_t i = 0; i < kSegmentFields; ++i) {
      CAPTURE(i);
      ++compared;
      CHECK(values[i] == truth[i]);
    }
  }
  if (seed == 199) CHECK(compared > 1000);
  if (!lossy) CHECK(bounded == 0);
  if (seed == 1) CHECK(bounded > 0);
}

}  // namespace countrace::viewer
