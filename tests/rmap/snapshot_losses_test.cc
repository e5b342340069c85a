// Records that a flight recording lost, not overwrote, near the instant at
// which its tables begin.
#include <catch2/catch.hpp>
#include <cstdint>

#include "rmap/pipeline.h"
#include "tests/rmap/memory_trace.h"

namespace countrace::rmap {
namespace {

using logformat::CountersReason;
using logformat::DiscardCause;
using test_support::MemoryTrace;

constexpr std::uint64_t kBeginNs = 1500;  // of the tables

// Thread 50 has CPU 0 at 1000; the tables begin at 1500.
MemoryTrace Snapshot() {
  MemoryTrace trace;
  logformat::TraceInfo& info = trace.mutable_info();
  info.cpus = 1;
  info.scope = logformat::SessionScope::kSystem;
  info.cpu_events = {"task-clock", "cycles"};
  trace.AddHook(10, logformat::HookKind::kSegment, "app", "work");
  trace.Dump(1000, 0, CountersReason::kBegin, 50, {0, 0});
  for (const std::int32_t pid : {50, 60, 70}) {
    trace.State(1000, 0, {pid, pid}, "app");
  }
  trace.set_complete_from(kBeginNs);
  return trace;
}

void End(MemoryTrace& trace) {
  trace.Dispatch(1600, 0, 60, 70, logformat::kSwitchRunnable, {600, 90});
  trace.Dump(2000, 0, CountersReason::kEnd, 70, {1000, 99});
}

const ThreadRow& Row(const Report& report, std::int32_t tid) {
  for (const ThreadRow& row : report.threads) {
    if (row.tid == tid) return row;
  }
  FAIL("no thread " << tid);
  return report.threads.front();
}

TEST_CASE(
    "snapshot: after a loss before the tables the CPU's thread is unknown",
    "[rmap][snapshot][loss]") {
  MemoryTrace trace = Snapshot();
  trace.LoseOnCpu(1100, 0, 2, DiscardCause::kKernelRingFull);
  End(trace);
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  CHECK(report->hidden_switches == 0);
  REQUIRE(report->cpu_rows.size() == 1);
  CHECK(report->cpu_rows[0].wall_ns == 400);
  CHECK(report->cpu_rows[0].unattributed_ns == 0);
  CHECK(Row(*report, 50).on_cpu_ns == 0u);
  CHECK(Row(*report, 70).on_cpu_ns == 400u);
  CHECK(report->books[1].total == 9);
}

TEST_CASE("snapshot: a loss where the tables begin is in them",
          "[rmap][snapshot][loss]") {
  MemoryTrace trace = Snapshot();
  const bool of_thread = GENERATE(false, true);
  if (of_thread) {
    trace.HookRecord(kBeginNs, {50, 50, 10, false});
    trace.LoseOfThread(kBeginNs, 50, 50, 2, DiscardCause::kNoSubBuffer);
    trace.HookRecord(kBeginNs + 20, {50, 50, 10, true});
  } else {
    trace.LosePackets(kBeginNs + GENERATE(0, 10), 0, "damaged");
  }
  End(trace);
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  if (of_thread) {
    REQUIRE(report->segments.size() == 1);
    CHECK(report->segments[0].quality == Quality::kBounded);
  } else {
    CHECK(report->hidden_switches == 0);
    CHECK(Row(*report, 50).bounds.Of(Number::kOnCpu));
    CHECK(Row(*report, 60).bounds.Of(Number::kOnCpu));
  }
}

TEST_CASE("snapshot: packets lost over the begin of the tables are in them",
          "[rmap][snapshot][loss]") {
  MemoryTrace trace = Snapshot();
  trace.LosePackets(1100, 0, "damaged", /*end_ns=*/kBeginNs + 50);
  End(trace);
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  CHECK(Row(*report, 60).bounds.Of(Number::kOnCpu));
  CHECK(report->cpu_rows[0].wall_ns == 400);
}

TEST_CASE("snapshot: an interrupt that is open where the tables begin",
          "[rmap][snapshot]") {
  constexpr std::uint32_t kTimer = 12288;
  MemoryTrace trace = Snapshot();
  trace.AddHook(kTimer, logformat::HookKind::kSegment, "irq", "timer",
                logformat::HookOrigin::kInterrupt);
  trace.KernelHook(1400, 0, {50, 50, kTimer, false});
  trace.KernelHook(1550, 0, {50, 50, kTimer, true});
  trace.Dump(2000, 0, CountersReason::kEnd, 50, {1000, 99});
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  CHECK(report->cpu_rows[0].wall_ns == 500);
  CHECK(report->cpu_rows[0].interrupts_ns == 50);
  CHECK(report->cpu_rows[0].busy_ns == 450);
}

TEST_CASE("snapshot: run time of a dispatch that the tables' begin cuts",
          "[rmap][snapshot]") {
  MemoryTrace trace;
  logformat::TraceInfo& info = trace.mutable_info();
  info.cpus = 1;
  info.scope = logformat::SessionScope::kSystem;
  info.cpu_events = {"task-clock", "exec-runtime"};
  trace.Dump(1000, 0, CountersReason::kBegin, 50, {0, 0});
  trace.State(1000, 0, {50, 50}, "app");
  trace.set_complete_from(kBeginNs);
  trace.Dispatch(1800, 0, 50, 0, logformat::kSwitchRunnable, {800, 680});
  trace.Dump(2000, 0, CountersReason::kEnd, 0, {1000, 680});
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  const ThreadRow& row = Row(*report, 50);
  CHECK(row.on_cpu_ns == 300u);
  const auto run_time = row.bounds.Of(CountNumber(1, CountPart::kWhole));
  REQUIRE(run_time);
  CHECK(run_time->lo == 0);
  CHECK(run_time->hi >= 300);
}

// A switch was not shown: what was counted until the next record is no thread's
// for sure, and the observer gets it as what threads may have.
TEST_CASE("loss: an observer sees what threads may have counted",
          "[rmap][loss]") {
  class Unseen final : public TimelineObserver {
   public:
    void OnUnseen(const UnseenCount& unseen) override {
      if (unseen.event == 1u) counts += unseen.count;
    }
    std::uint64_t counts = 0;
  } unseen;
  MemoryTrace trace = Snapshot();
  trace.set_complete_from(0);
  trace.LoseOnCpu(1100, 0, 2, DiscardCause::kKernelRingFull);
  End(trace);
  PipelineOptions options;
  options.observer = &unseen;
  const auto report = Reconstruct(trace, options);
  REQUIRE(report.ok());
  CHECK(unseen.counts == 90);
  CHECK(report->books[1].unattributed == 90);
}

}  // namespace
}  // namespace countrace::rmap
