// System calls whose exit record has no number.
#include "logformat/system_call_exit.h"

#include <catch2/catch.hpp>
#include <map>

#include "rmap/pipeline.h"
#include "rmap/report/render_options.h"
#include "rmap/report/report_render.h"
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

TEST_CASE("system calls: failures are counted by errno",
          "[rmap][kernel_hooks]") {
  MemoryTrace trace;
  logformat::TraceInfo& info = trace.mutable_info();
  info.scope = logformat::SessionScope::kSystem;
  info.cpu_events = {"task-clock"};
  trace.AddHook(kReturn, HookKind::kSegment, "syscall", "read",
                HookOrigin::kKernel);
  trace.AddHook(4096, HookKind::kSegment, "app", "work");
  trace.State(1000, 0, {7, 7, 0, 0}, "app");
  trace.Dump(1000, 0, logformat::CountersReason::kBegin, 7, {0});
  // Its call began before the recording.
  trace.KernelHook(1005, 0,
                   {.pid = 7,
                    .tid = 7,
                    .hook_id = kReturn,
                    .exit = true,
                    .returned = ~std::uint64_t{0}});
  std::uint64_t now_ns = 1010;
  const auto call = [&](std::int64_t returned) {
    trace.KernelHook(now_ns, 0, {.pid = 7, .tid = 7, .hook_id = kReturn});
    trace.KernelHook(now_ns + 5, 0,
                     {.pid = 7,
                      .tid = 7,
                      .hook_id = kReturn,
                      .exit = true,
                      .returned = static_cast<std::uint64_t>(returned)});
    now_ns += 10;
  };
  for (const std::int64_t returned : {0, 5, -2, -4096, -4095}) call(returned);
  trace.HookRecord(now_ns++, {.pid = 7, .tid = 7, .hook_id = 4096});
  for (const std::int64_t returned : {-2, -11, 1}) call(returned);
  trace.HookRecord(now_ns, {.pid = 7, .tid = 7, .hook_id = 4096, .exit = true});
  trace.Dump(2000, 0, logformat::CountersReason::kEnd, 7, {1000});
  const auto report = Reconstruct(trace, {});
  REQUIRE(report.ok());
  using Errors = std::map<int, std::uint64_t>;
  const auto errors_of = [](const SegmentRow& row) {
    REQUIRE(row.errors);
    return Errors(row.errors->begin(), row.errors->end());
  };
  for (const SegmentRow& row : report->segments) {
    CAPTURE(row.segment);
    if (row.segment == "app:work") {
      CHECK_FALSE(row.errors.has_value());
      continue;
    }
    CHECK(row.calls == 8);
    CHECK(errors_of(row) == Errors{{2, 2}, {11, 1}, {4095, 1}});
  }
  for (const SegmentRow& row : report->segment_paths) {
    if (row.segment != "syscall:read") continue;
    CHECK(errors_of(row) == (row.path.size() == 1 ? Errors{{2, 1}, {4095, 1}}
                                                  : Errors{{2, 1}, {11, 1}}));
  }
  RenderOptions options;
  options.by = ReportBy::kSegment;
  options.format = ReportFormat::kCsv;
  options.columns = {"segment",       "calls",         "failed",
                     "errors.ENOENT", "errors.EAGAIN", "errors.4095"};
  CHECK(RenderReport(*report, options) ==
        "segment,calls,failed,errors.ENOENT,errors.EAGAIN,errors.4095\r\n"
        "syscall:read,8,4,2,1,1\r\n"
        "app:work,1,,,,\r\n");
}

}  // namespace
}  // namespace countrace::rmap
