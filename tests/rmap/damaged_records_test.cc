// Records that are shorter than their layout, or of a CPU that cannot be: each
// is counted once, and changes nothing else.
#include <catch2/catch.hpp>
#include <string>

#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"
#include "tests/rmap/memory_trace.h"

namespace countrace::rmap {
namespace {

using logformat::CountersReason;
using logformat::HookKind;
using logformat::HookOrigin;
using test_support::MemoryTrace;

constexpr std::uint32_t kCall = logformat::kHookIdKernelMin;
constexpr std::uint32_t kTimer = kCall + 1;

// One process on one CPU; `damage` adds its records at 1500.
template <typename Damage>
Report WithDamage(const Damage& damage) {
  MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpu_events = {"task-clock"};
  trace.AddHook(kCall, HookKind::kSegment, "syscall", "read",
                HookOrigin::kKernel);
  trace.AddHook(kTimer, HookKind::kSegment, "irq", "timer",
                HookOrigin::kInterrupt);
  trace.Dump(1000, 0, CountersReason::kBegin, 50, {0});
  trace.State(1000, 0, {50, 50, 1, 0}, "app");
  damage(trace);
  trace.Dump(2000, 0, CountersReason::kEnd, 50, {1000});
  auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  return *std::move(report);
}

void CheckSound(Report report, const std::string& malformed) {
  Report sound = WithDamage([](MemoryTrace&) {});
  REQUIRE(report.loss.messages.size() == 1);
  CHECK(report.loss.messages[0].rfind(malformed + " kernel records", 0) == 0);
  CHECK(sound.loss.messages.empty());
  report.loss.messages.clear();
  sound.records = report.records;
  CHECK(RenderReport(report, {.format = ReportFormat::kJson}) ==
        RenderReport(sound, {.format = ReportFormat::kJson}));
}

TEST_CASE("damaged records: each one that is too short is counted once",
          "[rmap]") {
  using Add = void (*)(MemoryTrace&);
  const Add add = GENERATE(values<Add>(
      {[](MemoryTrace& trace) {
         trace.Dispatch(1500, 0, 50, 60, logformat::kSwitchRunnable, {500});
         trace.CutLast(sizeof(logformat::DispatchRecord));
       },
       [](MemoryTrace& trace) {
         trace.Dump(1500, 0, CountersReason::kTick, 50, {500});
         trace.CutLast(sizeof(logformat::CountersRecord));
       },
       [](MemoryTrace& trace) {
         trace.SwitchIn(1500, 0, 50, 60);
         trace.CutLast(sizeof(logformat::SwitchInRecord));
       },
       [](MemoryTrace& trace) {
         trace.Wakeup(1500, 0, 50, 60);
         trace.CutLast(sizeof(logformat::WakeupRecord));
       },
       [](MemoryTrace& trace) {
         trace.Fork(1500, 0, {60, 60, 50, 50});
         trace.CutLast(sizeof(logformat::TaskRecord));
       },
       [](MemoryTrace& trace) {
         trace.Exit(1500, 0, {50, 50, 0, 0});
         trace.CutLast(sizeof(logformat::TaskRecord));
       },
       [](MemoryTrace& trace) {
         trace.Exec(1500, 0, {50, 50, 0, 0}, "other");
         trace.CutLast(sizeof(logformat::CommRecord));
       },
       [](MemoryTrace& trace) {
         trace.Comm(1500, 0, {50, 50, 0, 0}, "other");
         trace.CutLast(sizeof(logformat::CommRecord));
       },
       [](MemoryTrace& trace) {
         trace.Fault(1500, 0, {50, 50, 0, 0});
         trace.CutLast(sizeof(logformat::FaultRecord));
       },
       [](MemoryTrace& trace) {
         trace.State(1500, 0, {60, 60, 1, 0}, "other");
         trace.CutLast(sizeof(logformat::StateRecord));
       },
       [](MemoryTrace& trace) {
         trace.KernelHook(1500, 0, {50, 50, kCall, false});
         trace.CutLast(sizeof(logformat::KernelHookRecord));
       },
       [](MemoryTrace& trace) {
         trace.KernelHook(1500, 0, {50, 50, kTimer, false});
         trace.CutLast(sizeof(logformat::KernelHookRecord));
       }}));
  CheckSound(WithDamage(add), "1");
  CheckSound(WithDamage([&](MemoryTrace& trace) {
               for (int i = 0; i < 3; ++i) add(trace);
             }),
             "3");
}

TEST_CASE("damaged records: those of all kinds are counted together",
          "[rmap]") {
  CheckSound(WithDamage([](MemoryTrace& trace) {
               trace.KernelHook(1500, 0, {50, 50, kTimer, false});
               trace.CutLast(sizeof(logformat::KernelHookRecord));
               trace.Dispatch(1500, 0, 50, 60, logformat::kSwitchRunnable,
                              {500});
               trace.CutLast(sizeof(logformat::DispatchRecord));
             }),
             "2");
}

TEST_CASE("damaged records: one from before the tables is counted", "[rmap]") {
  const Report report = WithDamage([](MemoryTrace& trace) {
    trace.Comm(1100, 0, {50, 50, 0, 0}, "other");
    trace.CutLast(sizeof(logformat::CommRecord));
    trace.set_complete_from(1200);
  });
  REQUIRE(report.loss.messages.size() == 1);
  CHECK(report.loss.messages[0].rfind("1 kernel records", 0) == 0);
}

TEST_CASE("damaged records: a CPU that cannot be has no row", "[rmap]") {
  const std::int32_t cpu = GENERATE(-1, 1 << 16, 1 << 30);
  CheckSound(WithDamage([cpu](MemoryTrace& trace) {
               trace.Dispatch(1500, cpu, 0, 0, logformat::kSwitchRunnable,
                              {500});
               trace.Dump(1500, cpu, CountersReason::kBegin, 0, {500});
               trace.SwitchIn(1500, cpu, 0, 0);
             }),
             "3");
}

TEST_CASE("damaged records: an event that is not described is counted",
          "[rmap]") {
  CheckSound(WithDamage([](MemoryTrace& trace) {
               trace.Unknown(1500, 0, logformat::kCpuEventMax + 1);
             }),
             "1");
}

TEST_CASE("CPUs: the largest number has a row", "[rmap]") {
  constexpr std::int32_t kCpu = (1 << 16) - 1;
  const Report report = WithDamage([](MemoryTrace& trace) {
    trace.Dump(1500, kCpu, CountersReason::kBegin, 0, {500});
    trace.Dump(1600, kCpu, CountersReason::kEnd, 0, {600});
  });
  CHECK(report.loss.messages.empty());
  REQUIRE(report.cpu_rows.size() == 2);
  CHECK(report.cpu_rows[1].cpu == kCpu);
  CHECK(report.cpu_rows[1].idle_ns == 100);
}

TEST_CASE(
    "damaged records: a stream without a pid is no thread's that is known",
    "[rmap]") {
  MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.AddHook(10, logformat::HookKind::kSegment, "p", "a");
  trace.State(1000, 0, {50, 50, 1, 0}, "app");
  trace.HookRecord(1100, {50, 50, 10, false});
  trace.HookRecord(1200, {0, 50, 10, false});
  trace.HookRecord(1300, {0, 50, 10, true});
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  REQUIRE(report->segments.size() == 2);
  for (const SegmentRow& row : report->segments) {
    CAPTURE(row.pid);
    CHECK(row.calls == 1);
    CHECK(row.wall.incl == (row.pid == 0 ? 100 : 0));
    CHECK(row.end_inferred == (row.pid == 0 ? 0 : 1));
  }
}

TEST_CASE("hooks: the largest number has a row", "[rmap]") {
  MemoryTrace trace;
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.AddHook(logformat::kHookIdMax, logformat::HookKind::kPoint, "sched",
                "last", logformat::HookOrigin::kKernel);
  trace.KernelHook(1000, 0, {50, 50, logformat::kHookIdMax});
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  REQUIRE(report->hooks.size() == 1);
  CHECK(report->hooks[0].hook == "sched:last");
  CHECK(report->hooks[0].pid == 50);
  CHECK(report->hooks[0].hits == 1);
}

}  // namespace
}  // namespace countrace::rmap
