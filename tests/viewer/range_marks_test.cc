// The marks of rows of a range, and of threads at an instant: what has none is
// the truth, and what is away from all that is missing has none.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rmap/pipeline.h"
#include "tests/rmap/lost_records.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/viewer/index_fixture.h"
#include "viewer/index/build/index_builder.h"
#include "viewer/index/build/missing_spans.h"
#include "viewer/index/instant/instant_state.h"
#include "viewer/index/range/range_totals.h"
#include "viewer/index/range/thread_totals.h"
#include "viewer/index/range/wait_totals.h"

namespace countrace::viewer {
namespace {

using logformat::CountersReason;
using test_support::MemoryTrace;
using test_support::Simulation;
using test_support::SimulationOptions;
using test_support::TrueInstant;

struct Indexed {
  std::unique_ptr<TemporaryDirectory> directory;
  std::unique_ptr<TimelineIndex> index;
  rmap::Report report;
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
  rmap::PipelineOptions options;
  options.observer = builder->get();
  auto report = rmap::Reconstruct(reader, options);
  REQUIRE(report.ok());
  out.report = *std::move(report);
  REQUIRE((*builder)
              ->Finish(out.report, reader.info(), kTestFingerprint, path)
              .ok());
  auto index = TimelineIndex::Open(path, &kTestFingerprint);
  REQUIRE(index.ok());
  out.index = *std::move(index);
  return out;
}

const RunTotals& ProcessIn(const Indexed& indexed, const RangeTotals& totals,
                           std::int32_t pid) {
  const auto found =
      std::find_if(totals.processes.begin(), totals.processes.end(),
                   [&](const ProcessTotals& each) {
                     return indexed.index->processes()[each.process].pid == pid;
                   });
  REQUIRE(found != totals.processes.end());
  return found->run;
}

RunTotals ProcessIn(const Indexed& indexed, TimeRange range, std::int32_t pid) {
  return ProcessIn(
      indexed,
      TotalsIn(*indexed.index, {range.begin_ns - 1000, range.end_ns - 1000}),
      pid);
}

bool IsBounded(const RunTotals& run) {
  return run.qualities.Has(rmap::Quality::kBounded);
}

ThreadState ThreadAt(const Indexed& indexed, std::uint64_t time_ns,
                     std::int32_t tid) {
  const InstantState state =
      StateAt(*indexed.index, time_ns - 1000, {.threads = StateThreads::kAll});
  const auto found = std::find_if(
      state.threads.begin(), state.threads.end(), [&](const auto& thread) {
        return indexed.index->threads()[thread.thread].tid == tid;
      });
  REQUIRE(found != state.threads.end());
  return *found;
}

// task-clock, page-faults, context-switches, cycles, exec-runtime.
void Describe(MemoryTrace& trace) {
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpus = 1;
  trace.mutable_info().cpu_events = {"task-clock", "page-faults",
                                     "context-switches", "cycles",
                                     "exec-runtime"};
  for (const std::int32_t pid : {7, 8, 9}) {
    trace.State(1000, 0, {pid, pid, 0, 0}, "app" + std::to_string(pid));
  }
}

// Process 7 alone, which has CPU 0 from 1000 on; context-switches and cycles.
void BeginWithOne(MemoryTrace& trace, logformat::SessionScope scope) {
  trace.mutable_info().scope = scope;
  trace.mutable_info().cpus = 1;
  trace.mutable_info().cpu_events = {"context-switches", "cycles"};
  trace.State(1000, 0, {7, 7, 0, 0}, "app",
              scope == logformat::SessionScope::kCommand
                  ? std::uint32_t{logformat::kStateMarked}
                  : 0);
  trace.Dump(1000, 0, CountersReason::kBegin, 7, {0, 0});
}

// Threads 7 and 8 by turns, 100 ns each. A switch at 1400 is not shown: what
// CPU 0 did from 1300 to 1500 is unattributed.
Indexed WithHiddenSwitch() {
  MemoryTrace trace;
  Describe(trace);
  trace.Dump(1000, 0, CountersReason::kBegin, 7, {0, 0, 0, 0, 0});
  std::uint64_t runs = 7, n = 1;
  for (; n < 10; ++n) {
    if (n != 4) {
      trace.Dispatch(1000 + 100 * n, 0, static_cast<std::uint32_t>(runs),
                     static_cast<std::uint32_t>(15 - runs), 0,
                     {100 * n, 0, n - 1, 1000 * n, 100 * n});
    }
    runs = 15 - runs;
  }
  trace.Dump(2000, 0, CountersReason::kEnd, static_cast<std::uint32_t>(runs),
             {1000, 0, 9, 10000, 1000});
  return IndexOf(trace);
}

}  // namespace

TEST_CASE("range marks: a range away from what is unattributed is exact",
          "[viewer][loss]") {
  const Indexed indexed = WithHiddenSwitch();
  REQUIRE(indexed.report.hidden_switches == 1);
  for (const std::int32_t pid : {7, 8}) {
    CAPTURE(pid);
    for (const TimeRange range : {TimeRange{1000, 1200}, {1600, 1800}}) {
      CAPTURE(range.begin_ns);
      const RunTotals run = ProcessIn(indexed, range, pid);
      CHECK(run.dispatches == 1);
      CHECK(run.counts[0] == 100);
      CHECK(run.counts[3] == 1000);
      CHECK(!run.qualities.any());
    }
    // It may have all of the interval.
    CHECK(IsBounded(ProcessIn(indexed, {1200, 1600}, pid)));
  }
  const ThreadState before = ThreadAt(indexed, 1200, 8);
  CHECK(before.counts[3].count == 1000);
  CHECK(before.dispatches == 1);
  CHECK(!before.bounded);
  CHECK(ThreadAt(indexed, 2000, 8).bounded);
}

TEST_CASE("range marks: waits beside a computed switch are inferred",
          "[viewer][loss]") {
  MemoryTrace trace;
  Describe(trace);
  trace.Dump(1000, 0, CountersReason::kBegin, 7, {0, 0, 0, 0, 0});
  trace.Dispatch(1100, 0, 7, 8, 0, {100, 0, 0, 100, 100});
  trace.SwitchIn(1200, 0, 8, 9, /*computed=*/true);
  trace.Dispatch(1300, 0, 9, 7, 0, {300, 0, 2, 300, 300});
  trace.Dispatch(1500, 0, 7, 8, 0, {500, 0, 3, 500, 500});
  trace.Dispatch(1600, 0, 8, 7, 0, {600, 0, 4, 600, 600});
  trace.Dump(2000, 0, CountersReason::kEnd, 7, {1000, 0, 4, 1000, 1000});
  const Indexed indexed = IndexOf(trace);
  const auto is_inferred = [&](TimeRange range, std::int32_t pid) {
    const auto waits =
        WaitsIn(*indexed.index, {range.begin_ns - 1000, range.end_ns - 1000});
    REQUIRE(waits.ok());
    std::size_t rows = 0, inferred = 0;
    for (const WaitRow& row : *waits) {
      if (indexed.index->processes()[row.process].pid != pid) continue;
      ++rows;
      inferred += row.qualities.Has(rmap::Quality::kInferred);
    }
    CHECK(rows != 0);
    return inferred == rows;
  };
  // It waited for 8 and 9, until when is computed.
  CHECK(is_inferred({1100, 1300}, 7));
  CHECK_FALSE(is_inferred({1500, 1600}, 7));
}

TEST_CASE("range marks: an interrupt without its exit is perhaps its thread's",
          "[viewer][loss]") {
  constexpr std::uint32_t kTimer = logformat::kHookIdKernelMin;
  MemoryTrace trace;
  Describe(trace);
  trace.AddHook(kTimer, logformat::HookKind::kSegment, "irq", "timer",
                logformat::HookOrigin::kInterrupt);
  trace.Dump(1000, 0, CountersReason::kBegin, 7, {0, 0, 0, 0, 0});
  trace.Dispatch(1200, 0, 7, 8, 0, {200, 0, 0, 200, 200});
  trace.KernelHook(1250, 0, {.pid = 8, .tid = 8, .hook_id = kTimer});
  trace.Dispatch(1400, 0, 8, 7, 0, {400, 0, 1, 400, 400});
  trace.Dispatch(1500, 0, 7, 8, 0, {500, 0, 2, 500, 500});
  trace.Dump(2000, 0, CountersReason::kEnd, 8, {1000, 0, 3, 1000, 1000});
  const Indexed indexed = IndexOf(trace);
  // Its exit may have followed at once.
  const RunTotals there = ProcessIn(indexed, {1200, 1400}, 8);
  CHECK(there.counts[0] == 50);
  CHECK(IsBounded(there));
  const RunTotals later = ProcessIn(indexed, {1500, 2000}, 8);
  CHECK(later.counts[0] == 500);
  CHECK(!later.qualities.any());
}

TEST_CASE("range marks: a fault before the first dump is in its own range",
          "[viewer][loss]") {
  MemoryTrace trace;
  Describe(trace);
  trace.mutable_info().cpus = 2;
  trace.Dump(1000, 0, CountersReason::kBegin, 7, {0, 0, 0, 0, 0});
  trace.Fault(1100, 1, {9, 9, 0, 0});
  trace.Dump(1200, 1, CountersReason::kBegin, 9, {0, 5, 0, 0, 0});
  trace.Dispatch(1500, 1, 9, 8, 0, {300, 5, 1, 300, 300});
  trace.Dispatch(1600, 1, 8, 9, 0, {400, 5, 2, 400, 400});
  trace.Dump(1700, 0, CountersReason::kEnd, 7, {700, 0, 0, 700, 700});
  trace.Dump(1700, 1, CountersReason::kEnd, 9, {500, 5, 3, 500, 500});
  const Indexed indexed = IndexOf(trace);
  CHECK(IsBounded(ProcessIn(indexed, {1050, 1500}, 9)));
  CHECK(ProcessIn(indexed, {1200, 1500}, 9).marks[1] == CountMark::kExact);
}

TEST_CASE("range marks: a dispatch that began unseen began perhaps before",
          "[viewer][loss]") {
  const bool lost = GENERATE(false, true);
  CAPTURE(lost);
  MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpus = 1;
  trace.mutable_info().cpu_events = {"task-clock"};
  for (const std::int32_t pid : {7, 8}) {
    trace.State(1000, 0, {pid, pid, 0, 0}, "app");
  }
  trace.Dump(1000, 0, CountersReason::kBegin, 7, {0});
  trace.Dispatch(1100, 0, 7, 7, 0, {100});
  if (lost) {
    trace.LoseOnCpu(1100, 0, 1, logformat::DiscardCause{});
    trace.Dump(1500, 0, CountersReason::kTick, 8, {500});
    trace.Dispatch(1600, 0, 8, 7, 0, {600});
  } else {
    trace.Dispatch(1500, 0, 8, 7, 0, {500});  // its switch-in is not there
  }
  trace.Dump(2000, 0, CountersReason::kEnd, 7, {1000});
  const Indexed indexed = IndexOf(trace);
  const RunTotals run = ProcessIn(indexed, {1400, 1700}, 8);
  CHECK(run.dispatches == 1);
  CHECK(IsBounded(run));
}

TEST_CASE("range marks: a counter that dumps lack may count before the last",
          "[viewer][loss]") {
  MemoryTrace trace;
  Describe(trace);
  trace.Dump(1000, 0, CountersReason::kBegin, 7, {0, 0, 0, 0, 0});
  trace.Dispatch(1100, 0, 7, 8, 0, {100, 0, 0, 100, 100});
  trace.Dispatch(1200, 0, 8, 7, 0, {200, 0, 1, 200});
  trace.Dispatch(1300, 0, 7, 8, 0, {300, 0, 2, 300, 300});
  trace.Dump(2000, 0, CountersReason::kEnd, 8, {1000, 0, 3, 1000, 1000});
  const Indexed indexed = IndexOf(trace);
  CHECK(IsBounded(ProcessIn(indexed, {1100, 1150}, 8)));
}

TEST_CASE("range marks: a thread without a process may be of any",
          "[viewer][loss]") {
  MemoryTrace trace;
  BeginWithOne(trace, logformat::SessionScope::kSystem);
  trace.Dispatch(1100, 0, 7, 8, 0, {0, 100});
  trace.Dispatch(1300, 0, 7, 8, 0, {2, 300});  // 8 left unseen
  trace.Dispatch(1400, 0, 8, 7, 0, {3, 400});
  trace.Dispatch(1500, 0, 7, 8, 0, {4, 500});
  trace.Dispatch(1600, 0, 8, 7, 0, {5, 600});
  trace.Dump(2000, 0, CountersReason::kEnd, 7, {6, 1000});
  const Indexed indexed = IndexOf(trace);
  // Both have 100 of it.
  CHECK(IsBounded(ProcessIn(indexed, {1400, 1600}, 7)));
}

TEST_CASE("range marks: after a loss a thread outside may be of the command",
          "[viewer][loss]") {
  MemoryTrace trace;
  BeginWithOne(trace, logformat::SessionScope::kCommand);
  trace.LoseOnCpu(1050, 0, 1, logformat::DiscardCause{});  // a fork of 8
  trace.Dispatch(1100, 0, 7, 8, 0, {0, 100});
  trace.Dispatch(1200, 0, 8, 7, 0, {1, 200});
  trace.Dispatch(1300, 0, 7, 8, 0, {2, 300});
  trace.Dispatch(1400, 0, 8, 7, 0, {3, 400});
  trace.Dump(2000, 0, CountersReason::kEnd, 7, {4, 1000});
  const Indexed indexed = IndexOf(trace);
  CHECK(IsBounded(ProcessIn(indexed, {1200, 1400}, 7)));
}

TEST_CASE("range marks: in a snapshot a thread outside may be of the command",
          "[viewer][loss]") {
  MemoryTrace trace;
  BeginWithOne(trace, logformat::SessionScope::kCommand);
  trace.AddHook(1, logformat::HookKind::kPoint, "app", "here");
  // The fork of 8 was overwritten.
  trace.Dispatch(1100, 0, 7, 8, 0, {0, 100});
  trace.Dispatch(1200, 0, 8, 7, 0, {1, 200});
  trace.Dispatch(1300, 0, 7, 8, 0, {2, 300});
  trace.HookRecord(1350, {8, 8, 1});
  trace.Dispatch(1400, 0, 8, 7, 0, {3, 400});
  trace.Dump(2000, 0, CountersReason::kEnd, 7, {4, 1000});
  trace.set_complete_from(1050);
  const Indexed indexed = IndexOf(trace);
  const RunTotals run = ProcessIn(indexed, {1050, 1380}, 8);
  CHECK(run.dispatches <= 1);
  CHECK(IsBounded(run));
}

// Their own records are there.
TEST_CASE("range marks: calls are sure where a switch alone was not shown",
          "[viewer][loss]") {
  constexpr std::uint32_t kRead = logformat::kHookIdKernelMin;
  MemoryTrace trace;
  Describe(trace);
  trace.AddHook(kRead, logformat::HookKind::kSegment, "syscall", "read",
                logformat::HookOrigin::kKernel);
  trace.Dump(1000, 0, CountersReason::kBegin, 7, {0, 0, 0, 0, 0});
  for (const std::uint64_t at : {1010ull, 1030ull}) {
    trace.KernelHook(at, 0, {.pid = 7, .tid = 7, .hook_id = kRead});
    trace.KernelHook(at + 5, 0,
                     {.pid = 7, .tid = 7, .hook_id = kRead, .exit = true});
  }
  trace.Dispatch(1100, 0, 7, 8, 0, {100, 0, 0, 100, 100});
  trace.Dispatch(1300, 0, 7, 8, 0, {300, 0, 2, 300, 300});
  trace.Dump(2000, 0, CountersReason::kEnd, 8, {1000, 0, 3, 1000, 1000});
  const Indexed indexed = IndexOf(trace);
  const RangeTotals totals = TotalsIn(*indexed.index, {0, 1000});
  REQUIRE(totals.segments.size() == 1);
  CHECK(totals.segments[0].calls == 2);
  CHECK_FALSE(totals.segments[0].qualities.Has(rmap::Quality::kBounded));
}

TEST_CASE("range marks: many missing spans become fewer, and cover as much",
          "[viewer]") {
  MissingSpans spans;
  const std::uint64_t many = 5 * kMaxMissing;
  for (std::uint64_t i = 0; i < many; ++i) {
    spans.Add({10 * (many - i), 10 * (many - i) + 5});
  }
  const std::vector<MissingSpan> joined =
      spans.Take({.begin_ns = 0, .duration_ns = 20 * many});
  REQUIRE(!joined.empty());
  REQUIRE(joined.size() <= kMaxMissing);
  CHECK(joined.front().begin_ns == 10);
  CHECK(joined.back().end_ns == 10 * many + 5);
  for (std::size_t i = 1; i < joined.size(); ++i) {
    REQUIRE(joined[i - 1].end_ns < joined[i].begin_ns);
  }
  // Each is inside of one.
  std::size_t at = 0;
  for (std::uint64_t i = 1; i <= many; ++i) {
    while (at < joined.size() && joined[at].end_ns < 10 * i) ++at;
    REQUIRE(at < joined.size());
    REQUIRE(joined[at].begin_ns <= 10 * i);
    REQUIRE(joined[at].end_ns >= 10 * i + 5);
  }
}

namespace {

struct Cells {
  std::uint64_t compared = 0, sure = 0, narrower = 0;
};

class RangeChecker {
 public:
  RangeChecker(const Simulation& run, const Indexed& indexed, Cells& cells)
      : run_(run), indexed_(indexed), cells_(cells) {}

  // The edges are inside of the instants `first` and `last`, where no record
  // is.
  void Check(std::size_t first, std::uint64_t begin_ns, std::size_t last,
             std::uint64_t end_ns) {
    CAPTURE(begin_ns, end_ns);
    const TimelineIndex& index = *indexed_.index;
    const TimeRange range{begin_ns - indexed_.begin_ns(),
                          end_ns - indexed_.begin_ns()};
    for (const ProcessTotals& process : TotalsIn(index, range).processes) {
      const ProcessEntry& entry = index.processes()[process.process];
      CAPTURE(entry.pid);
      if (IsBounded(process.run)) continue;
      ++cells_.sure;
      cells_.narrower += entry.unsure != kSure;
      CheckTruth(first, last, entry.pid, process.run);
    }
  }

 private:
  void CheckTruth(std::size_t first, std::size_t last, std::int32_t pid,
                  const RunTotals& found) {
    const auto& instants = run_.truth.instants;
    const auto in_process = [pid](const auto& each) { return each.pid == pid; };
    if (std::count_if(indexed_.report.processes.begin(),
                      indexed_.report.processes.end(), in_process) != 1) {
      return;
    }
    const auto before = ThreadsAt(first, pid), after = ThreadsAt(last, pid);
    // Both have the same threads of it, of which none is another's.
    const auto threads = std::count_if(run_.truth.threads.begin(),
                                       run_.truth.threads.end(), in_process);
    if (after.empty() || before.size() != after.size() ||
        after.size() != static_cast<std::size_t>(threads)) {
      return;
    }
    // A thread whose fork was overwritten has a process of its own.
    for (const rmap::ThreadRow& row : indexed_.report.threads) {
      if (after.contains(row.tid) && row.pid != pid) return;
    }
    std::uint64_t dispatches = 0;
    std::map<std::size_t, std::uint64_t> counts;
    for (const auto& [tid, thread] : after) {
      if (!before.contains(tid) || run_.truth.reused_tids.contains(tid)) return;
      dispatches += thread.dispatches - before.at(tid).dispatches;
      // These do not change inside of an instant.
      for (const std::size_t event : {2u, 3u}) {
        counts[event] += thread.counts[event] - before.at(tid).counts[event];
      }
    }
    if (run_.truth.reused_tids.contains(pid)) return;
    ++cells_.compared;
    CHECK(found.dispatches == dispatches);
    for (const auto& [event, count] : counts) {
      CAPTURE(event);
      CHECK(found.counts[event] == count);
    }
    if (last + 1 == instants.size()) return;
    const auto later = ThreadsAt(first + 1, pid);
    const auto latest = ThreadsAt(last + 1, pid);
    for (const std::size_t event : {0u, 1u, 4u}) {
      CAPTURE(event);
      std::uint64_t least = 0, most = 0;
      for (const auto& [tid, thread] : after) {
        if (!later.contains(tid) || !latest.contains(tid)) return;
        least += thread.counts[event] - later.at(tid).counts[event];
        most += latest.at(tid).counts[event] - before.at(tid).counts[event];
      }
      CHECK(found.counts[event] <= most);
      CHECK(least <= found.counts[event]);
      if (event != 0) continue;
      CHECK(found.on_cpu_ns <= most);
      CHECK(least <= found.on_cpu_ns);
    }
  }

  std::map<std::int32_t, TrueInstant::Thread> ThreadsAt(
      std::size_t instant, std::int32_t pid) const {
    std::map<std::int32_t, TrueInstant::Thread> threads;
    for (const auto& each : run_.truth.instants[instant].threads) {
      if (each.pid == pid) threads[each.tid] = each;
    }
    return threads;
  }

  const Simulation& run_;
  const Indexed& indexed_;
  Cells& cells_;
};

enum class Defect { kNone, kHidden, kLost, kOverwritten };

Simulation WithDefect(std::uint32_t seed, Defect defect) {
  SimulationOptions options = test_support::RandomOptions(seed);
  options.steps = 150 + seed % 500;
  options.instants = true;
  Simulation run = test_support::Simulate(options);
  std::mt19937_64 random(seed);
  switch (defect) {
    case Defect::kNone:
      break;
    case Defect::kHidden:
      run.trace->HideSwitches(
          [&](std::size_t n) { return n % 40 == seed % 40; });
      break;
    case Defect::kLost:
      run.trace->Remove([&](std::size_t) { return random() % 100 == 0; },
                        /*declare=*/true);
      break;
    case Defect::kOverwritten:
      test_support::OverwriteSome(seed, *run.trace);
      break;
  }
  return run;
}

// By tid; of a tid that several threads had, none.
template <typename Row, typename Tid>
std::map<std::int32_t, const Row*> ByTid(const std::vector<Row>& rows,
                                         Tid tid) {
  std::map<std::int32_t, const Row*> found;
  for (const Row& row : rows) {
    const auto [at, added] = found.try_emplace(tid(row), &row);
    if (!added) at->second = nullptr;
  }
  return found;
}

}  // namespace

TEST_CASE("range marks: the whole trace has the waits of the report",
          "[viewer][property][loss]") {
  for (const Defect defect :
       {Defect::kNone, Defect::kHidden, Defect::kLost, Defect::kOverwritten}) {
    std::size_t compared = 0, sure = 0;
    for (std::uint32_t seed = 0; seed < 400; ++seed) {
      CAPTURE(seed, static_cast<int>(defect));
      const Simulation run = WithDefect(seed, defect);
      const Indexed indexed = IndexOf(*run.trace);
      const TimelineIndex& index = *indexed.index;
      const auto threads = ThreadsIn(index, {0, index.duration_ns()});
      const auto ours = ByTid(threads, [&](const ThreadTotals& row) {
        return index.threads()[row.thread].tid;
      });
      const auto theirs =
          ByTid(indexed.report.threads,
                [](const rmap::ThreadRow& row) { return row.tid; });
      for (const auto& [tid, row] : ours) {
        const auto other = theirs.find(tid);
        if (row == nullptr || other == theirs.end() ||
            other->second == nullptr || !other->second->wait_ns) {
          continue;
        }
        CAPTURE(tid);
        CHECK(row->wait_ns == *other->second->wait_ns);
        compared += row->wait_ns != 0;
        // The report has no limits of a row without the mark.
        if (IsBounded(row->run)) continue;
        ++sure;
        for (const rmap::Number number :
             {rmap::Number::kOnCpu, rmap::Number::kWait, rmap::Number::kBlocked,
              rmap::Number::kDispatches}) {
          CAPTURE(static_cast<int>(number));
          CHECK(!other->second->bounds.Of(number));
        }
        CHECK(row->run.on_cpu_ns == other->second->on_cpu_ns);
        CHECK(row->run.dispatches == other->second->dispatches);
      }
    }
    CHECK(compared > 100);
    CHECK(sure > 100);
  }
}

TEST_CASE("range marks: a row without one has the truth",
          "[viewer][property][loss]") {
  for (const Defect defect :
       {Defect::kNone, Defect::kHidden, Defect::kLost, Defect::kOverwritten}) {
    Cells cells;
    const std::uint32_t machines = defect == Defect::kHidden ? 1500 : 200;
    for (std::uint32_t seed = 0; seed < machines; ++seed) {
      CAPTURE(seed, static_cast<int>(defect));
      const Simulation run = WithDefect(seed, defect);
      const Indexed indexed = IndexOf(*run.trace);
      RangeChecker checker(run, indexed, cells);
      const auto& instants = run.truth.instants;
      std::mt19937_64 random(seed);
      for (int i = 0; i < 20; ++i) {
        const std::size_t first = random() % instants.size();
        const std::size_t last = first + random() % (instants.size() - first);
        const auto inside = [&](const TrueInstant& instant) {
          return instant.begin_ns + 1 +
                 random() % std::max<std::uint64_t>(
                                1, instant.end_ns - instant.begin_ns - 1);
        };
        const TrueInstant &begin = instants[first], &end = instants[last];
        if (begin.begin_ns < indexed.begin_ns() || first == last ||
            begin.end_ns - begin.begin_ns < 2 ||
            end.end_ns - end.begin_ns < 2) {
          continue;
        }
        checker.Check(first, inside(begin), last, inside(end));
      }
    }
    WARN("defect " << static_cast<int>(defect) << ": " << cells.compared
                   << " rows compared, " << cells.sure << " without a mark, "
                   << cells.narrower << " of rows that have one elsewhere");
    CHECK(cells.compared > 50);
    if (defect == Defect::kHidden) CHECK(cells.narrower > 100);
  }
}

}  // namespace countrace::viewer
