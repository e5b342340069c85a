// A switch that the kernel did not show lies before records of interrupts,
// which name no thread: what they count is not the thread's that has left.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>

#include "rmap/pipeline.h"
#include "tests/rmap/memory_trace.h"

namespace countrace::rmap {
namespace {

using logformat::CountersReason;
using test_support::MemoryTrace;

constexpr std::uint32_t kInterrupt = logformat::kHookIdKernelMin;

void Describe(MemoryTrace& trace) {
  logformat::TraceInfo& info = trace.mutable_info();
  info.scope = logformat::SessionScope::kSystem;
  info.cpus = 1;
  info.cpu_events = {"cycles"};
  trace.AddHook(kInterrupt, logformat::HookKind::kSegment, "irq", "timer",
                logformat::HookOrigin::kInterrupt);
  for (const std::int32_t pid : {7, 8}) {
    trace.State(1000, 0, {pid, pid, 0, 0}, "app");
  }
  trace.Dump(1000, 0, CountersReason::kBegin, 7, {0});
}

void Interrupt(MemoryTrace& trace, std::uint64_t at,
               const std::optional<test_support::Counters>& enter,
               const std::optional<test_support::Counters>& exit) {
  trace.KernelHook(at, 0, {.pid = 7, .tid = 7, .hook_id = kInterrupt}, enter);
  trace.KernelHook(at + 10, 0,
                   {.pid = 7, .tid = 7, .hook_id = kInterrupt, .exit = true},
                   exit);
}

const ThreadRow& Row(const Report& report, std::int32_t tid) {
  const auto row =
      std::find_if(report.threads.begin(), report.threads.end(),
                   [tid](const ThreadRow& each) { return each.tid == tid; });
  REQUIRE(row != report.threads.end());
  return *row;
}

TEST_CASE("unconfirmed: an interrupt does not confirm who has the CPU",
          "[rmap]") {
  const bool dumps = GENERATE(false, true);
  CAPTURE(dumps);
  MemoryTrace trace;
  Describe(trace);
  // 7 left for 8 at 1200, unseen.
  using Counters = test_support::Counters;
  const auto at = [&](std::uint64_t count) {
    return dumps ? std::optional(Counters{count}) : std::nullopt;
  };
  Interrupt(trace, 1500, at(500), at(510));
  trace.Dispatch(1600, 0, 8, 7, 0, {600});
  trace.Dump(2000, 0, CountersReason::kEnd, 7, {1000});
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  const ThreadRow& left = Row(*report, 7);
  const ThreadRow& came = Row(*report, 8);
  CHECK(left.on_cpu_ns == 400);
  CHECK(left.bounds.Of(Number::kOnCpu)->hi >= 400 + 200);
  REQUIRE(came.bounds.Of(Number::kOnCpu));
  CHECK(came.bounds.Of(Number::kOnCpu)->hi >= 390);
  const Number cycles = CountNumber(0, CountPart::kWhole);
  CHECK(left.counts[0] == 400u);
  CHECK(left.bounds.Of(cycles)->hi >= 600);
  REQUIRE(came.bounds.Of(cycles));
  CHECK(came.bounds.Of(cycles)->hi >= 390);
  CHECK(report->cpu_rows[0].unattributed_ns == 590);
  CHECK(report->cpu_rows[0].interrupts_ns == 10);
}

TEST_CASE("unconfirmed: a later record of the thread confirms it", "[rmap]") {
  MemoryTrace trace;
  Describe(trace);
  Interrupt(trace, 1500, test_support::Counters{500},
            test_support::Counters{510});
  trace.Dispatch(1600, 0, 7, 8, 0, {600});
  trace.Dump(2000, 0, CountersReason::kEnd, 8, {1000});
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  CHECK(Row(*report, 7).on_cpu_ns == 590);
  CHECK_FALSE(Row(*report, 7).bounds.Of(Number::kOnCpu));
  CHECK(Row(*report, 7).counts[0] == 590u);
  CHECK(report->cpu_rows[0].unattributed_ns == 0);
}

TEST_CASE("unconfirmed: one that left unseen waits or blocks until it is seen",
          "[rmap]") {
  MemoryTrace trace;
  Describe(trace);
  trace.Dispatch(1600, 0, 8, 8, 0, {600});
  trace.Dispatch(5000, 0, 8, 7, 0, {4000});
  trace.Dump(6000, 0, CountersReason::kEnd, 7, {5000});
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  const auto wait = Row(*report, 7).bounds.Of(Number::kWait);
  REQUIRE(wait);
  CHECK(wait->hi >= 3400);
}

TEST_CASE("unconfirmed: one that left unseen may end before that is noticed",
          "[rmap]") {
  MemoryTrace trace;
  Describe(trace);
  trace.mutable_info().cpus = 2;
  trace.Dump(1000, 1, CountersReason::kBegin, 0, {0});
  // 7 left CPU 0 for 8 at 1400, and runs and ends on CPU 1.
  trace.Dispatch(1500, 1, 0, 7, 0, {0});
  trace.Dispatch(1550, 1, 7, 0, logformat::kSwitchDead, {50});
  trace.Dispatch(1600, 0, 8, 8, 0, {600});
  trace.Dump(2000, 0, CountersReason::kEnd, 8, {1000});
  trace.Dump(2000, 1, CountersReason::kEnd, 0, {50});
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  const ThreadRow& ended = Row(*report, 7);
  REQUIRE(ended.bounds.Of(Number::kOnCpu));
  CHECK(ended.bounds.Of(Number::kOnCpu)->hi >= 450);
  const auto cycles = ended.bounds.Of(CountNumber(0, CountPart::kWhole));
  REQUIRE(cycles);
  CHECK(cycles->hi >= 450);
}

}  // namespace
}  // namespace countrace::rmap
