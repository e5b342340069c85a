// Threads that switch between stacks: each stack has its own open calls.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "logformat/jump_hook.h"
#include "rmap/pipeline.h"
#include "rmap/result/timeline_observer.h"
#include "tests/rmap/memory_trace.h"

namespace countrace::rmap {
namespace {

using logformat::CountersReason;
using logformat::HookKind;
using logformat::HookOrigin;
using logformat::PayloadType;
using test_support::HookDump;
using test_support::MemoryTrace;

constexpr std::uint32_t kOuter = 10, kInner = 11, kJump = 12, kStack = 13,
                        kRead = 12288;

// One thread on one CPU, whose records are a step of 10 ns apart.
class Program {
 public:
  Program() {
    logformat::TraceInfo& info = trace.mutable_info();
    info.path = "stacks";
    info.scope = logformat::SessionScope::kSystem;
    info.cpu_events = {"task-clock", "page-faults"};
    trace.AddHook(kOuter, HookKind::kSegment, "app", "outer");
    trace.AddHook(kInner, HookKind::kSegment, "app", "inner");
    trace.AddHook(kJump, HookKind::kPoint, logformat::kJumpProvider,
                  logformat::kJumpName, HookOrigin::kProgram,
                  {PayloadType::kUnsigned});
    trace.AddHook(kStack, HookKind::kPoint, logformat::kJumpProvider,
                  logformat::kStackName, HookOrigin::kProgram,
                  {PayloadType::kUnsigned, PayloadType::kUnsigned});
    trace.AddHook(kRead, HookKind::kSegment, "syscall", "read",
                  HookOrigin::kKernel);
    trace.Dump(1000, 0, CountersReason::kBegin, 7, {0, 0});
    trace.State(1000, 0, {7, 7}, "app");
  }

  void Enter(std::uint32_t hook) { Hook({7, 7, hook, false}); }
  void Exit(std::uint32_t hook) { Hook({7, 7, hook, true}); }
  void GoTo(std::uint64_t from, std::uint64_t to) {
    Hook({7, 7, kStack, false, 0, {from, to}});
    Hook({7, 7, kJump, false, 0, {0}});
  }
  void Jump(std::uint64_t since_ns) {
    Hook({7, 7, kJump, false, 0, {since_ns}});
  }
  // 10 ns in a system call, 4 on no CPU, a fault before it.
  void Read() {
    trace.Fault(now_ns_ += 10, 0, {7, 7, 0, 0});
    ++faults_;
    trace.KernelHook(now_ns_ += 10, 0, {7, 7, kRead, false, 0});
    trace.Dispatch(now_ns_ + 2, 0, 7, 0, logformat::kSwitchInterruptible,
                   {on_cpu(2), faults_});
    trace.Dispatch(now_ns_ + 6, 0, 0, 7, logformat::kSwitchRunnable,
                   {on_cpu(6), faults_});
    trace.KernelHook(now_ns_ += 10, 0, {7, 7, kRead, true, 0});
  }
  Report Finish(TimelineObserver* observer = nullptr) {
    now_ns_ += 10;
    trace.Dump(now_ns_, 0, CountersReason::kEnd, 7, {on_cpu(0), faults_});
    PipelineOptions options;
    options.observer = observer;
    options.range = range;
    auto report = Reconstruct(trace, options);
    REQUIRE(report.ok());
    return *std::move(report);
  }
  std::uint64_t now_ns() const { return now_ns_; }

  bool with_dumps = false;
  TableRange range;
  MemoryTrace trace;

 private:
  void Hook(const MemoryTrace::Hook& hook) {
    now_ns_ += 10;
    if (with_dumps) {
      trace.HookRecord(now_ns_, hook, HookDump{0, 1, {now_ns_ / 2}});
    } else {
      trace.HookRecord(now_ns_, hook);
    }
  }
  std::uint64_t on_cpu(std::uint64_t after) const {
    return now_ns_ + after - 1000;
  }

  std::uint64_t now_ns_ = 1000, faults_ = 0;
};

const SegmentRow& RowOf(const Report& report, const std::string& segment) {
  for (const SegmentRow& row : report.segments) {
    if (row.segment == segment) return row;
  }
  FAIL("no row of " << segment);
  return report.segments.front();
}

std::uint64_t CallsOf(const Report& report,
                      const std::vector<std::string>& path) {
  std::uint64_t calls = 0;
  for (const SegmentRow& row : report.segment_paths) {
    if (row.path == path) calls += row.calls;
  }
  return calls;
}

void CheckExact(const Report& report) {
  for (const SegmentRow& row : report.segments) {
    CAPTURE(row.segment);
    CHECK(row.quality == Quality::kExact);
    CHECK(row.end_inferred == 0);
    CHECK(row.begin_inferred == 0);
    CHECK_FALSE(row.bounds.Of(Number::kWallIncl));
    CHECK_FALSE(row.bounds.Of(Number::kOnCpuIncl));
  }
}

TEST_CASE("stacks: each has its own open calls", "[rmap][stacks]") {
  Program program;
  program.with_dumps = GENERATE(false, true);
  if (program.with_dumps) {
    program.trace.mutable_info().thread_events = {"cycles"};
  }
  program.trace.set_keeps_records(GENERATE(false, true));
  program.Enter(kOuter);  // 1010, on stack 1
  program.GoTo(1, 2);     // 1020, 1030
  program.Enter(kOuter);  // 1040
  program.Enter(kInner);  // 1050
  program.Read();         // fault at 1060, read 1070 to 1080
  program.GoTo(2, 1);     // 1090, 1100
  program.Read();         // fault at 1110, read 1120 to 1130
  program.Exit(kOuter);   // 1140: 10 + 50 ns
  program.GoTo(1, 2);     // 1150, 1160
  program.Exit(kInner);   // 1170: 40 + 20 ns
  program.Exit(kOuter);   // 1180: 50 + 30 ns
  const Report report = program.Finish();
  CheckExact(report);
  const SegmentRow& outer = RowOf(report, "app:outer");
  const SegmentRow& inner = RowOf(report, "app:inner");
  CHECK(outer.calls == 2);
  CHECK(outer.wall.incl == 60 + 80);
  CHECK(outer.wall.min == 60);
  CHECK(outer.wall.max == 80);
  CHECK(outer.wall.excl == 140 - 60 - 10);
  CHECK(inner.wall.incl == 60);
  CHECK(inner.wall.excl == 50);
  REQUIRE(outer.on_cpu);
  CHECK(outer.on_cpu->incl == 140 - 8);
  CHECK(inner.on_cpu->incl == 60 - 4);
  CHECK(outer.off_cpu->incl == 8);
  CHECK(outer.counts.at(1)->incl == 2);
  CHECK(inner.counts.at(1)->incl == 1);
  CHECK(CallsOf(report, {"app:outer"}) == 2);
  CHECK(CallsOf(report, {"app:outer", "app:inner"}) == 1);
  CHECK(CallsOf(report, {"app:outer", "app:inner", "syscall:read"}) == 1);
  CHECK(CallsOf(report, {"app:outer", "syscall:read"}) == 1);
}

TEST_CASE("stacks: counts at hooks lack the calls that were left for a time",
          "[rmap][stacks]") {
  Program program;
  program.with_dumps = true;
  program.trace.mutable_info().thread_events = {"cycles"};
  program.trace.set_keeps_records(GENERATE(false, true));
  program.Enter(kOuter);
  program.GoTo(1, 2);
  program.Enter(kOuter);
  program.Exit(kOuter);  // 10 ns: 5
  program.GoTo(2, 1);
  program.Exit(kOuter);
  const Report report = program.Finish();
  const SegmentRow& outer = RowOf(report, "app:outer");
  CHECK(outer.quality == Quality::kExact);
  CHECK(outer.qualities.Has(Quality::kBounded));
  CHECK(std::any_of(
      outer.counts.begin(), outer.counts.end(), [](const auto& count) {
        return count && count->incl == 5 && count->quality == Quality::kBounded;
      }));
}

TEST_CASE("stacks: the first one has the number of its first record",
          "[rmap][stacks]") {
  Program program;
  program.Enter(kOuter);  // on stack 5, which had no record yet
  program.GoTo(5, 1);
  program.Enter(kInner);
  program.Exit(kInner);
  program.GoTo(1, 5);
  program.Exit(kOuter);
  const Report report = program.Finish();
  CheckExact(report);
  CHECK(CallsOf(report, {"app:inner"}) == 1);
  CHECK(RowOf(report, "app:outer").wall.incl == 10 + 20);
}

TEST_CASE("stacks: a jump ends calls of its own stack", "[rmap][stacks]") {
  Program program;
  program.Enter(kOuter);
  const std::uint64_t saved_ns = program.now_ns() + 5;
  program.GoTo(1, 2);
  program.Enter(kInner);
  program.GoTo(2, 1);
  program.Enter(kInner);
  program.Jump(saved_ns);
  program.Exit(kOuter);
  program.GoTo(1, 2);
  program.Exit(kInner);
  const Report report = program.Finish();
  CheckExact(report);
  CHECK(CallsOf(report, {"app:outer", "app:inner"}) == 1);
  CHECK(CallsOf(report, {"app:inner"}) == 1);
}

TEST_CASE("stacks: calls of one that never comes back ended there",
          "[rmap][stacks]") {
  Program program;
  program.Enter(kOuter);
  program.GoTo(1, 2);
  program.Enter(kInner);  // 1040
  program.GoTo(2, 1);     // 1050
  program.GoTo(1, 3);     // on the memory of 2
  program.Enter(kInner);  // 1090
  program.Exit(kInner);
  program.GoTo(3, 1);
  program.Exit(kOuter);
  const Report report = program.Finish();
  const SegmentRow& inner = RowOf(report, "app:inner");
  CHECK(inner.calls == 2);
  CHECK(inner.end_inferred == 1);
  CHECK(inner.quality == Quality::kInferred);
  CHECK(inner.wall.incl == 10 + 10);
  CHECK(inner.on_cpu->incl == 20);
  CHECK(RowOf(report, "app:outer").quality == Quality::kExact);
}

TEST_CASE("stacks: a context that goes on in another thread is not exact",
          "[rmap][stacks]") {
  Program program;
  program.Enter(kOuter);
  program.GoTo(2, 1);
  // Thread 8 continues at 2.
  program.trace.HookRecord(program.now_ns() + 1,
                           {7, 8, kStack, false, 0, {3, 2}});
  program.trace.HookRecord(program.now_ns() + 2, {7, 8, kJump, false, 0, {0}});
  program.trace.HookRecord(program.now_ns() + 9, {7, 8, kOuter, true});
  program.Enter(kInner);
  program.Exit(kInner);
  const Report report = program.Finish();
  const SegmentRow& outer = RowOf(report, "app:outer");
  CHECK(outer.end_inferred == 1);
  CHECK(outer.begin_inferred == 1);
  CHECK(outer.quality != Quality::kExact);
  REQUIRE(outer.bounds.Of(Number::kWallIncl));
  CHECK(outer.bounds.Of(Number::kWallIncl)->hi >= 27);
  CHECK(CallsOf(report, {"app:inner"}) == 1);
}

TEST_CASE("stacks: an exit that comes late is of a call on its own stack",
          "[rmap][stacks]") {
  Program program;
  program.Enter(kOuter);
  program.Enter(kInner);
  program.Exit(kOuter);  // inner ends with it, or goes on
  program.GoTo(1, 2);
  program.Enter(kOuter);
  program.Exit(kOuter);
  program.GoTo(2, 1);
  program.Exit(kInner);
  const SegmentRow inner = RowOf(program.Finish(), "app:inner");
  CHECK(inner.wall.incl == 10);
  // 20 ns more after the thread came back, 10 before it left.
  const auto wall = inner.bounds.Of(Number::kWallIncl);
  REQUIRE(wall);
  CHECK(wall->lo <= 10);
  CHECK(wall->hi == 40);
}

TEST_CASE("stacks: exits that never come end with the thread",
          "[rmap][stacks]") {
  Program program;
  for (std::uint64_t stack = 1; stack < 5; ++stack) {
    program.Enter(kOuter);
    program.Enter(kInner);
    program.Exit(kOuter);
    program.GoTo(stack, stack + 1);
  }
  const Report report = program.Finish();
  CHECK(CallsOf(report, {"app:outer", "app:inner"}) == 4);
}

TEST_CASE("stacks: switches without a record end what is open",
          "[rmap][stacks]") {
  Program program;
  program.Enter(kOuter);
  program.GoTo(1, 2);
  program.Enter(kInner);
  program.GoTo(3, 1);  // from another than the last record led to
  program.Exit(kOuter);
  const Report report = program.Finish();
  CHECK(RowOf(report, "app:outer").quality == Quality::kExact);
  const SegmentRow& inner = RowOf(report, "app:inner");
  CHECK(inner.quality == Quality::kInferred);
  REQUIRE(inner.bounds.Of(Number::kWallIncl));
  CHECK(inner.bounds.Of(Number::kWallIncl)->lo == 0);
}

TEST_CASE("stacks: a jump to an unknown target is doubtful as before",
          "[rmap][stacks]") {
  Program program;
  program.Enter(kOuter);
  program.GoTo(1, 2);
  program.Enter(kInner);
  program.Jump(0);
  program.Exit(kInner);
  program.GoTo(2, 1);
  program.Exit(kOuter);
  const Report report = program.Finish();
  CHECK(RowOf(report, "app:outer").quality == Quality::kExact);
  CHECK(RowOf(report, "app:inner").quality == Quality::kInferred);
}

TEST_CASE("stacks: a loss makes the calls of all of them bounded",
          "[rmap][stacks]") {
  Program program;
  program.Enter(kOuter);
  program.GoTo(1, 2);
  program.Enter(kInner);
  program.trace.LoseOfThread(program.now_ns() + 1, 7, 7, 4,
                             logformat::DiscardCause::kTraceFull);
  program.GoTo(1, 2);  // it was on 1 meanwhile
  program.Exit(kInner);
  program.GoTo(2, 1);
  program.Exit(kOuter);
  const Report report = program.Finish();
  for (const char* segment : {"app:outer", "app:inner"}) {
    CAPTURE(segment);
    CHECK(RowOf(report, segment).quality != Quality::kExact);
    CHECK(RowOf(report, segment).bounds.Of(Number::kWallIncl));
  }
}

TEST_CASE("stacks: neighbouring ranges add up", "[rmap][stacks]") {
  std::uint64_t wall[3] = {}, on_cpu[3] = {}, inner[3] = {};
  const std::uint64_t cut_ns = GENERATE(range(1015, 1195, 10));
  CAPTURE(cut_ns);
  for (int part = 0; part < 3; ++part) {
    Program program;
    program.Enter(kOuter);
    program.GoTo(1, 2);
    program.Enter(kOuter);
    program.Enter(kInner);
    program.Read();
    program.GoTo(2, 1);
    program.Read();
    program.Exit(kOuter);
    program.GoTo(1, 2);
    program.Exit(kInner);
    program.Exit(kOuter);
    if (part == 1) program.range.until_ns = cut_ns;
    if (part == 2) program.range.from_ns = cut_ns;
    const Report report = program.Finish();
    for (const SegmentRow& row : report.segments) {
      if (row.segment == "app:inner") inner[part] = row.wall.incl;
      if (row.segment != "app:outer") continue;
      wall[part] = row.wall.incl;
      on_cpu[part] = row.on_cpu ? row.on_cpu->incl : 0;
    }
  }
  CHECK(wall[0] == 140);
  CHECK(wall[1] + wall[2] == wall[0]);
  CHECK(on_cpu[1] + on_cpu[2] == on_cpu[0]);
  CHECK(inner[1] + inner[2] == inner[0]);
}

// Spans of a thread nest, and add up to the report's times.
struct Spans final : TimelineObserver {
  void OnSegmentBegin(const SegmentBegin& begin) override {
    REQUIRE(begin.depth == open.size());
    open.push_back(begin);
    calls += begin.goes_on ? 0 : 1;
  }
  void OnSegment(const SegmentSpan& span) override {
    REQUIRE(span.depth + 1 == open.size());
    REQUIRE(span.begin_ns == open.back().time_ns);
    open.pop_back();
    (span.hook_id == kOuter ? outer_ns : other_ns) +=
        span.end_ns - span.begin_ns;
    on_cpu_ns += span.hook_id == kOuter ? span.on_cpu_ns.value_or(0) : 0;
  }
  std::vector<SegmentBegin> open;
  std::uint64_t calls = 0, outer_ns = 0, other_ns = 0, on_cpu_ns = 0;
};

TEST_CASE("stacks: a call is a span for each time on its stack",
          "[rmap][stacks]") {
  Program program;
  program.Enter(kOuter);
  program.GoTo(1, 2);
  program.Enter(kOuter);
  program.Read();
  program.GoTo(2, 1);
  program.Read();
  program.GoTo(1, 2);
  program.Exit(kOuter);
  program.GoTo(2, 1);
  program.Exit(kOuter);
  program.Enter(kOuter);
  program.GoTo(1, 3);
  Spans spans;
  const Report report = program.Finish(&spans);
  CHECK(spans.open.empty());
  const SegmentRow& outer = RowOf(report, "app:outer");
  CHECK(spans.calls == outer.calls + 2);
  CHECK(spans.outer_ns == outer.wall.incl);
  CHECK(spans.other_ns == 20);
  CHECK(spans.on_cpu_ns == outer.on_cpu->incl);
}

}  // namespace
}  // namespace countrace::rmap
