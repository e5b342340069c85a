// System calls whose exit record has no number.
#include "logformat/system_call_exit.h"

#include <catch2/catch.hpp>

#include "rmap/pipeline.h"
#include "tests/rmap/memory_trace.h"

namespace countrace::rmap {
namespace {

using logformat::HookKind;
using logformat::HookOrigin;
using test_support::MemoryTrace;

constexpr std::uint32_t kReturn = logformat::kHookIdKernelMin;
constexpr std::uint32_t kUnnamed = kReturn + 1;

TEST_CASE("system calls: an exit without a number ends the open one",
          "[rmap][kernel_hooks]") {
  MemoryTrace trace;
  logformat::TraceInfo& info = trace.mutable_info();
  info.path = "rt_sigreturn";
  info.scope = logformat::SessionScope::kSystem;
  info.cpu_events = {"task-clock"};
  trace.AddHook(kReturn, HookKind::kSegment, "syscall", "rt_sigreturn",
                HookOrigin::kKernel);
  trace.AddHook(kUnnamed, HookKind::kSegment, "syscall", "65535",
                HookOrigin::kKernel);
  trace.State(1000, 0, {7, 7, 0, 0}, "spin");
  trace.Dump(1000, 0, logformat::CountersReason::kBegin, 7, {0});
  // From a call that began before the recording.
  trace.KernelHook(1010, 0,
                   {7, 7, kUnnamed, true, logformat::kUnnamedSystemCall});
  for (std::uint64_t at = 2000; at < 5000; at += 1000) {
    trace.KernelHook(at, 0, {7, 7, kReturn, false, 15});
    trace.KernelHook(at + 10, 0,
                     {7, 7, kUnnamed, true, logformat::kUnnamedSystemCall});
  }
  // In the child of a fork without a record.
  trace.KernelHook(5100, 1,
                   {8, 8, kUnnamed, true, logformat::kUnnamedSystemCall});
  trace.Dump(6000, 0, logformat::CountersReason::kEnd, 7, {5000});
  const auto reconstructed = Reconstruct(trace, {});
  REQUIRE(reconstructed.ok());
  const Report& report = *reconstructed;
  REQUIRE(report.segments.size() == 1);
  const SegmentRow& row = report.segments[0];
  CHECK(row.segment == "syscall:rt_sigreturn");
  CHECK(row.calls == 3);
  CHECK(row.end_inferred + row.begin_inferred == 0);
  CHECK(row.wall.incl == 30);
  CHECK(row.on_cpu->incl == 30);
  CHECK(row.quality == Quality::kExact);
  REQUIRE(report.hooks.size() == 1);
  CHECK(report.hooks[0].hits == 6);
}

}  // namespace
}  // namespace countrace::rmap
