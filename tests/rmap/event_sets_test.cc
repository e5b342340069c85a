// Counts of multiplexed and of always-counted events around switches without
// counters, and around time without a known owner.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "rmap/columns/report_columns.h"
#include "rmap/pipeline.h"
#include "rmap/stat/stat_numbers.h"
#include "tests/rmap/multiplexed_cpu.h"

namespace countrace::rmap {
namespace {

using test_support::Counters;
using test_support::MemoryTrace;
using test_support::MultiplexedCpu;

Report MustReconstruct(MemoryTrace& trace) {
  auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  return *std::move(report);
}

const ThreadRow& Row(const Report& report, std::int32_t tid) {
  for (const ThreadRow& row : report.threads) {
    if (row.tid == tid) return row;
  }
  FAIL("no thread " << tid);
  return report.threads.front();
}

TEST_CASE("event sets: an interval that cannot be split is in no estimate",
          "[rmap]") {
  // Each thread has a constant rate, so the estimates are exact however many
  // intervals are left out.
  constexpr std::uint64_t kNs = 1'000'000, kOfA = 3000, kOfB = 500;
  MemoryTrace trace;
  MultiplexedCpu cpu(trace, 2, /*seed=*/1, /*tid=*/10);
  std::uint64_t a = 0, b = 0;
  for (int rotation = 0; rotation < 40; ++rotation) {
    if (rotation != 0) cpu.Rotate();
    for (int part = 0; part < 4; ++part) {
      cpu.Run(kNs, kOfA);
      a += kOfA;
      // A fifth of the dispatches shares an interval.
      if ((4 * rotation + part) % 5 == 0) {
        cpu.SwitchUncounted(11);
      } else {
        cpu.Switch(11);
      }
      cpu.Run(kNs, kOfB);
      b += kOfB;
      cpu.Switch(10);
    }
  }
  cpu.End();
  const Report report = MustReconstruct(trace);
  for (const std::size_t event : {2u, 3u}) {
    CAPTURE(event);
    for (const auto& [tid, truth] : {std::pair(10, a), std::pair(11, b)}) {
      const auto& scaled = Row(report, tid).scaled[event];
      REQUIRE(scaled);
      CHECK(scaled->enabled == *Row(report, tid).on_cpu_ns);
      // Out of the numerator and of the denominator.
      CHECK(scaled->running < scaled->enabled / 2);
      CHECK(scaled->value == truth);
    }
    // The scaled books have these counts once, in the accounts of the time.
    const Books& books = report.books[event];
    CHECK(books.unattributed > 0);
    CHECK(books.residual == 0);
    CHECK(books.scaled->unattributed == 0u);
    CHECK(books.scaled->processes == a + b);
    CHECK(books.scaled->total == a + b);
  }
}

TEST_CASE("event sets: estimates of times are printed as times", "[rmap]") {
  ScaledCount count;
  count.value = 2'847'495'397;
  CHECK(ScaledText(count, Unit::kCount) == "~2,847,495,397 +-?");
  CHECK(ScaledText(count, Unit::kNanoseconds) == "~2.85 s +-?");
}

TEST_CASE("event sets: the recorder's estimate is its own account", "[rmap]") {
  MemoryTrace trace;
  trace.mutable_info().recorder_pid = 11;
  MultiplexedCpu cpu(trace, 2, /*seed=*/1, /*tid=*/10);
  for (int rotation = 0; rotation < 40; ++rotation) {
    if (rotation != 0) cpu.Rotate();
    cpu.Run(1'000'000, 3000);
    cpu.Switch(11);
    cpu.Run(1'000'000, 500);
    cpu.Switch(10);
  }
  cpu.End();
  const Report report = MustReconstruct(trace);
  CHECK(report.books[2].scaled->processes == 40 * 3000u);
  CHECK(report.books[2].scaled->own == 40 * 500u);
  CHECK(report.books[2].scaled->total == 40 * 3500u);
}

TEST_CASE("event sets: of many sets, those that had a turn are estimated",
          "[rmap]") {
  // 64 sets of one event: 66 events and 64 running times. Every event but the
  // clock happens 3,000 times in each of `rotations` intervals.
  constexpr std::size_t kSets = 64;
  const int rotations = GENERATE(32, 64, 640);
  CAPTURE(rotations);
  MemoryTrace trace;
  MultiplexedCpu cpu(trace, kSets, /*seed=*/3, /*tid=*/10);
  std::vector<bool> had_turn(kSets);
  for (int rotation = 0; rotation < rotations; ++rotation) {
    if (rotation != 0) cpu.Rotate();
    had_turn[cpu.set()] = true;
    cpu.Run(1'000'000, 3000);
    cpu.Switch(11);
    cpu.Run(500'000, 100);
    cpu.Switch(10);
  }
  cpu.End();
  const Report report = MustReconstruct(trace);
  REQUIRE(report.events.size() == 2 + kSets);
  const auto all = static_cast<std::uint64_t>(rotations);
  CHECK(Row(report, 10).counts[MultiplexedCpu::kAlways] == all * 3000);
  CHECK(std::count(had_turn.begin(), had_turn.end(), true) ==
        std::min(rotations, 64));
  std::string absent;
  for (std::size_t set = 0; set < kSets; ++set) {
    CAPTURE(set);
    const std::size_t event = MultiplexedCpu::kFirst + set;
    for (const auto& [tid, in_each] : {std::pair{10, 3000}, {11, 100}}) {
      const ThreadRow& row = Row(report, tid);
      CHECK(row.scaled[event].has_value() == had_turn[set]);
      if (had_turn[set]) {
        CHECK(row.counts[event] == all * static_cast<std::uint64_t>(in_each));
        CHECK(row.scaled[event]->slices >= all / kSets);
      } else {
        CHECK_FALSE(row.counts[event]);  // never a 0
      }
    }
    CHECK(report.books[event].residual == 0);
    CHECK(report.books[event].known == had_turn[set]);
    if (!had_turn[set]) absent += ", event-" + std::to_string(set);
  }
  const std::vector<std::string> notes = NotCountedNotes(report);
  CHECK(notes.size() == (absent.empty() ? 0 : 1));
  if (!absent.empty()) CHECK(notes.at(0).ends_with(": " + absent.substr(2)));
}

TEST_CASE("event sets: an interval is left out although it counted nothing",
          "[rmap]") {
  // Thread 10 has an event in every second interval, and none where a switch is
  // without counters: those intervals would make it look rarer.
  MemoryTrace trace;
  MultiplexedCpu cpu(trace, 2, /*seed=*/1, /*tid=*/10);
  std::uint64_t counted_ns = 0;
  for (int rotation = 0; rotation < 20; ++rotation) {
    if (rotation != 0) cpu.Rotate();
    const bool counts = cpu.set() == 0;
    cpu.Run(1'000'000, 1);
    counted_ns += counts ? 1'000'000 : 0;
    cpu.Switch(11);
    cpu.Run(1'000, 0);
    cpu.Switch(10);
    cpu.Run(1'000'000, 0);
    cpu.SwitchUncounted(11);
    cpu.Run(1'000, 0);
    cpu.Switch(10);
  }
  cpu.End();
  const Report report = MustReconstruct(trace);
  CHECK(Row(report, 10).scaled[2]->running == counted_ns);
}

TEST_CASE("event sets: what may have happened unseen widens the interval",
          "[rmap]") {
  // In some rotations thread 12 leaves the CPU that thread 10 had: when it came
  // is not known, so the time and the counts have no owner.
  constexpr std::uint64_t kNs = 5'000'000, kEvents = 1000;
  MemoryTrace trace;
  MultiplexedCpu cpu(trace, 2, /*seed=*/1, /*tid=*/10);
  std::uint64_t truth = 0, hidden = 0;
  for (int rotation = 0; rotation < 40; ++rotation) {
    if (rotation != 0) cpu.Rotate();
    cpu.Run(kNs, kEvents);
    truth += kEvents;
    if (rotation % 4 == 3) {
      cpu.SwitchHidden(12, 11);
      hidden += kEvents;
    } else {
      cpu.Switch(11);
    }
    cpu.Run(kNs, 0);
    cpu.Switch(10);
  }
  cpu.End();
  const Report report = MustReconstruct(trace);
  const ThreadRow& row = Row(report, 10);
  REQUIRE(row.scaled[2]);
  CHECK(row.scaled[2]->value == truth - hidden);
  const auto bounds = row.bounds.Of(CountNumber(2, CountPart::kWhole));
  REQUIRE(bounds);
  CHECK(bounds->lo <= truth - hidden);
  CHECK(bounds->hi >= truth);
  CHECK(bounds->hi < 2 * truth);
  CHECK(row.qualities.Has(Quality::kScaled));
  CHECK(row.qualities.Has(Quality::kBounded));
  CHECK(report.books[2].scaled->unattributed == hidden);
}

TEST_CASE("unattributed counts leave a mark on rows and on open calls",
          "[rmap]") {
  // "always" belongs to no kind that can be split: between 100 and 300 it is
  // unknown whose the 50 are, while task-clock is known.
  MemoryTrace trace;
  logformat::TraceInfo& info = trace.mutable_info();
  info.cpus = 1;
  info.scope = logformat::SessionScope::kSystem;
  info.cpu_events = {"task-clock", "always"};
  constexpr std::uint32_t kCall = logformat::kHookIdKernelMin;
  trace.AddHook(kCall, logformat::HookKind::kSegment, "syscall", "x",
                logformat::HookOrigin::kKernel);
  using logformat::CountersReason;
  trace.Dump(0, 0, CountersReason::kBegin, 10, {0, 0});
  trace.KernelHook(50, 0, {10, 10, kCall, false}, Counters{50, 5});
  trace.Dump(100, 0, CountersReason::kTick, 10, {100, 10});
  trace.SwitchIn(200, 0, 10, 11);
  trace.Dispatch(300, 0, 11, 10, logformat::kSwitchRunnable, {300, 60});
  trace.KernelHook(350, 0, {10, 10, kCall, true}, Counters{350, 65});
  trace.KernelHook(360, 0, {10, 10, kCall, false}, Counters{360, 66});
  trace.KernelHook(370, 0, {10, 10, kCall, true}, Counters{370, 68});
  trace.Dispatch(400, 0, 10, 12, logformat::kSwitchRunnable, {400, 70});
  trace.Dump(500, 0, CountersReason::kEnd, 12, {500, 80});
  const Report report = MustReconstruct(trace);
  CHECK(report.books[1].unattributed == 50);
  const auto count_of = [&](std::int32_t tid) {
    return Row(report, tid).bounds.Of(CountNumber(1, CountPart::kWhole));
  };
  REQUIRE(count_of(10));
  CHECK(count_of(10)->lo == 20);
  CHECK(count_of(10)->hi == 70);
  REQUIRE(count_of(11));
  CHECK(count_of(11)->lo == 0);
  CHECK(count_of(11)->hi == 50);
  CHECK(Row(report, 10).quality == Quality::kBounded);
  CHECK_FALSE(count_of(12));
  CHECK(Row(report, 12).quality == Quality::kExact);
  REQUIRE(report.segments.size() == 1);
  const SegmentRow& calls = report.segments.front();
  CHECK(calls.on_cpu->incl == 210);
  CHECK(calls.counts[0]->quality == Quality::kExact);
  // Perhaps the first call has some of the 50.
  REQUIRE(calls.counts[1]);
  CHECK(calls.counts[1]->incl == 2);
  CHECK(calls.counts[1]->quality == Quality::kBounded);
}

TEST_CASE("limits of a time on a CPU are within the life of a thread",
          "[rmap]") {
  // Who had CPU 0 from 200 on is not known, but thread 10 ended at 400. One
  // lost record hides no other thread of its process.
  MemoryTrace trace;
  logformat::TraceInfo& info = trace.mutable_info();
  info.cpus = 2;
  info.scope = logformat::SessionScope::kSystem;
  info.cpu_events = {"task-clock", "exec-runtime"};
  using logformat::CountersReason;
  trace.Dump(0, 0, CountersReason::kBegin, 11, {0, 0});
  trace.Dump(0, 1, CountersReason::kBegin, 0, {0, 0});
  trace.Fork(90, 0, {10, 10, 11, 11});
  trace.Dispatch(100, 0, 11, 10, logformat::kSwitchRunnable, {100, 100});
  trace.LoseOnCpu(200, 0, 1, logformat::DiscardCause::kKernelRingFull);
  trace.Dispatch(350, 1, 0, 10, logformat::kSwitchRunnable, {350, 0});
  trace.Exit(390, 1, {10, 10});
  trace.Dispatch(400, 1, 10, 0, logformat::kSwitchDead, {400, 50});
  trace.Dispatch(2000, 0, 11, 12, logformat::kSwitchRunnable, {2000, 2000});
  trace.Dump(2500, 0, CountersReason::kEnd, 12, {2500, 2500});
  trace.Dump(2500, 1, CountersReason::kEnd, 0, {2500, 50});
  const Report report = MustReconstruct(trace);
  for (const std::size_t event : {0u, 1u}) {
    CAPTURE(event);
    const Number number = CountNumber(event, CountPart::kWhole);
    const auto of_thread = Row(report, 10).bounds.Of(number);
    REQUIRE(of_thread);
    CHECK(of_thread->hi >= 300);
    CHECK(of_thread->hi <= 311);
  }
}

TEST_CASE("run time of a process is inside its limits after a loss", "[rmap]") {
  // Thread 11 of process 10 has CPU 0 from 100 to 300, and 20 up to 400. Of the
  // 200 ns the hypervisor took 80, so that its account got 120. The record of
  // its switch-out is lost.
  MemoryTrace trace;
  logformat::TraceInfo& info = trace.mutable_info();
  info.cpus = 1;
  info.scope = logformat::SessionScope::kSystem;
  info.cpu_events = {"task-clock", "exec-runtime"};
  using logformat::CountersReason;
  trace.Dump(0, 0, CountersReason::kBegin, 0, {0, 0});
  for (const MemoryTrace::Task& task :
       {MemoryTrace::Task{10, 10}, {10, 11}, {20, 20}}) {
    trace.State(0, 0, task, "app");
  }
  trace.Dispatch(100, 0, 0, 11, logformat::kSwitchRunnable, {100, 0});
  trace.Fault(250, 0, {10, 11});
  trace.LoseOnCpu(250, 0, 1, logformat::DiscardCause::kKernelRingFull);
  trace.Dispatch(400, 0, 20, 0, logformat::kSwitchInterruptible, {400, 180});
  trace.Dump(500, 0, CountersReason::kEnd, 0, {500, 180});
  const Report report = MustReconstruct(trace);
  const auto check = [](const auto& row, std::uint64_t truth) {
    const auto limits = row.bounds.Of(CountNumber(1, CountPart::kWhole));
    REQUIRE(limits);
    CHECK(limits->lo <= truth);
    CHECK(limits->hi >= truth);
    CHECK(limits->hi <= 501);
  };
  check(Row(report, 10), 0);
  check(Row(report, 11), 120);
  check(Row(report, 20), 60);
  REQUIRE(report.processes.size() == 2);
  for (const ProcessRow& row : report.processes) {
    check(row, row.pid == 10 ? 120 : 60);
  }
  CHECK(report.books[1].total == 180);
  CHECK(report.books[1].residual == 0);
}

TEST_CASE("a fault shows who runs at a dump that does not say it", "[rmap]") {
  // 11 has the CPU from 100 on; that 10 came back at 110 was not shown. A dump
  // that another CPU takes does not say who runs.
  MemoryTrace trace;
  logformat::TraceInfo& info = trace.mutable_info();
  info.cpus = 1;
  info.scope = logformat::SessionScope::kSystem;
  info.cpu_events = {"task-clock", "page-faults"};
  using logformat::CountersReason;
  constexpr std::uint32_t kUnknown = logformat::kRunningTidUnknown;
  trace.Dump(0, 0, CountersReason::kBegin, 10, {0, 0});
  trace.Dispatch(100, 0, 10, 11, logformat::kSwitchRunnable, {100, 0});
  trace.Fault(150, 0, {10, 10});
  trace.Dump(200, 0, CountersReason::kTick, kUnknown, {200, 1});
  trace.Fault(250, 0, {10, 10});
  trace.Dump(300, 0, CountersReason::kTick, kUnknown, {300, 2});
  trace.Dispatch(400, 0, 10, 12, logformat::kSwitchRunnable, {400, 2});
  trace.Dump(500, 0, CountersReason::kEnd, 12, {500, 2});
  const Report report = MustReconstruct(trace);
  CHECK(Row(report, 10).on_cpu_ns == 300u);
  CHECK(Row(report, 10).counts[1] == 2u);
  CHECK(Row(report, 11).on_cpu_ns == 0u);
  CHECK(report.cpu_rows[0].unattributed_ns == 100);
  for (const auto& [tid, truth] : {std::pair(10, 390u), std::pair(11, 10u)}) {
    const auto bounds = Row(report, tid).bounds.Of(Number::kOnCpu);
    REQUIRE(bounds);
    CHECK(bounds->lo <= truth);
    CHECK(bounds->hi >= truth);
  }
}

TEST_CASE(
    "event sets: without an always-counted event rows are estimates alone",
    "[rmap]") {
  MemoryTrace trace;
  logformat::TraceInfo& info = trace.mutable_info();
  info.cpus = 1;
  info.begin_ns = 1000;
  info.scope = logformat::SessionScope::kSystem;
  info.cpu_events = {"cycles", "loads"};
  info.cpu_set_sizes = {1, 1};
  std::uint64_t now_ns = 1000, counted[2] = {}, running_ns[2] = {};
  std::uint32_t set = 0;
  const auto dump = [&](logformat::CountersReason reason) {
    trace.Dump(now_ns, 0, reason, 10, Counters{counted[set], running_ns[set]});
  };
  trace.SetEventSet(0, set);
  dump(logformat::CountersReason::kBegin);
  for (int rotation = 0; rotation < 40; ++rotation) {
    now_ns += 1000;
    counted[set] += 500 + 100 * (rotation % 4);
    running_ns[set] += 1000;
    if (rotation == 39) break;
    dump(logformat::CountersReason::kSetEnd);
    set ^= 1;
    trace.SetEventSet(0, set);
    dump(logformat::CountersReason::kSetBegin);
  }
  dump(logformat::CountersReason::kEnd);
  const Report report = MustReconstruct(trace);
  const ThreadRow& row = Row(report, 10);
  for (const std::size_t event : {0u, 1u}) {
    REQUIRE(row.scaled[event]);
    CHECK(row.scaled[event]->counted == counted[event]);
    CHECK(row.scaled[event]->running == 20000);
    CHECK(row.scaled[event]->enabled == 40000);
    CHECK(row.counts[event] == 2 * counted[event]);
    CHECK(row.bounds.Of(CountNumber(event, CountPart::kWhole)));
  }
  for (const Qualities& qualities :
       {row.qualities, report.processes.at(0).qualities,
        report.cpu_rows.at(0).qualities}) {
    CHECK(qualities.Has(Quality::kScaled));
    CHECK_FALSE(qualities.Has(Quality::kBounded));
  }
}

}  // namespace
}  // namespace countrace::rmap
