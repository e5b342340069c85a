// Calls that are left without their exits: by a jump whose record gives the
// time of setjmp, by one that does not, by one without a record; and calls
// that the tree of call paths has no room for.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "logformat/jump_hook.h"
#include "rmap/pipeline.h"
#include "rmap/result/timeline_observer.h"
#include "rmap/state/call_paths.h"
#include "tests/rmap/memory_trace.h"

namespace countrace::rmap {
namespace {

using logformat::HookKind;
using logformat::HookOrigin;
using test_support::HookDump;
using test_support::MemoryTrace;

constexpr std::uint32_t kLoop = 10, kJumper = 11, kWork = 12, kJump = 13,
                        kScope = 14;

// One thread, whose records are a step of 10 ns apart.
class Program {
 public:
  Program() {
    logformat::TraceInfo& info = trace.mutable_info();
    info.path = "left calls";
    trace.AddHook(kLoop, HookKind::kSegment, "app", "loop");
    trace.AddHook(kJumper, HookKind::kSegment, "app", "jumper");
    trace.AddHook(kWork, HookKind::kSegment, "app", "work");
    trace.AddHook(kJump, HookKind::kPoint, logformat::kJumpProvider,
                  logformat::kJumpName, HookOrigin::kProgram,
                  {logformat::PayloadType::kUnsigned});
    trace.AddHook(
        kScope, HookKind::kPoint, logformat::kJumpProvider,
        logformat::kScopeName, HookOrigin::kProgram,
        {logformat::PayloadType::kUnsigned, logformat::PayloadType::kUnsigned});
  }

  void Enter(std::uint32_t hook) { Hook(hook, false); }
  void Exit(std::uint32_t hook) { Hook(hook, true); }
  void Call(std::uint32_t hook) {
    Enter(hook);
    Exit(hook);
  }
  // A scope of kWork in the frame of a coroutine, at `place`.
  void Begin(std::uint64_t place) {
    Enter(kWork);
    trace.HookRecord(now_ns_, {7, 7, kScope, false, 0, {place, 0}}, Dump());
  }
  void End(std::uint64_t place) {
    trace.HookRecord(now_ns_, {7, 7, kScope, false, 0, {place, 1}}, Dump());
    Exit(kWork);
  }
  // Returns the time of a setjmp here.
  std::uint64_t Setjmp() { return now_ns_ += 10; }
  void Jump(std::uint64_t since_ns) {
    now_ns_ += 10;
    trace.HookRecord(now_ns_, {7, 7, kJump, false, 0, {since_ns}}, Dump());
  }

  std::uint64_t now_ns() const { return now_ns_; }
  bool with_dumps = false;
  MemoryTrace trace;

 private:
  void Hook(std::uint32_t hook, bool exit) {
    now_ns_ += 10;
    trace.HookRecord(now_ns_, {7, 7, hook, exit}, Dump());
  }
  std::optional<HookDump> Dump() const {
    if (!with_dumps) return std::nullopt;
    return HookDump{0, 1, {now_ns_ / 2}};
  }

  std::uint64_t now_ns_ = 1000;
};

struct CountSpans final : TimelineObserver {
  void OnSegment(const SegmentSpan& span) override {
    ++calls;
    inferred += span.end_inferred ? 1 : 0;
  }
  std::uint64_t calls = 0, inferred = 0;
};

Report Reconstructed(MemoryTrace& trace, TimelineObserver* observer = nullptr) {
  PipelineOptions options;
  options.observer = observer;
  auto report = Reconstruct(trace, options);
  REQUIRE(report.ok());
  return *std::move(report);
}

const SegmentRow& RowOf(const Report& report, const std::string& segment) {
  for (const SegmentRow& row : report.segments) {
    if (row.segment == segment) return row;
  }
  FAIL("no row of " << segment);
  return report.segments.front();
}

std::vector<const SegmentRow*> PathsOf(const Report& report,
                                       const std::string& segment) {
  std::vector<const SegmentRow*> rows;
  for (const SegmentRow& row : report.segment_paths) {
    if (row.segment == segment) rows.push_back(&row);
  }
  return rows;
}

// The limits of the wall time, if there are any; else the time itself.
Bounds WallOf(const SegmentRow& row) {
  return row.bounds.Of(Number::kWallIncl)
      .value_or(Bounds{row.wall.incl, row.wall.incl});
}

constexpr std::uint64_t kRounds = 2000;

TEST_CASE("jump: calls since setjmp end there, exactly", "[rmap][jump]") {
  Program program;
  program.with_dumps = GENERATE(false, true);
  if (program.with_dumps) {
    program.trace.mutable_info().thread_events = {"cycles"};
  }
  program.Enter(kLoop);
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    const std::uint64_t saved_ns = program.Setjmp();
    program.Enter(kJumper);
    program.Enter(kJumper);
    program.Jump(saved_ns);
    program.Call(kWork);
  }
  program.Exit(kLoop);

  CountSpans spans;
  const bool observed = GENERATE(false, true);
  const Report report =
      Reconstructed(program.trace, observed ? &spans : nullptr);
  if (observed) {
    CHECK(spans.calls == 3 * kRounds + 1);
    CHECK(spans.inferred == 0);
  }
  CHECK(report.loss.messages.empty());
  const SegmentRow& jumper = RowOf(report, "app:jumper");
  CHECK(jumper.calls == 2 * kRounds);
  CHECK(jumper.end_inferred == 0);
  CHECK(jumper.wall.incl == kRounds * 20);
  CHECK(jumper.quality == Quality::kExact);
  const SegmentRow& work = RowOf(report, "app:work");
  CHECK(work.calls == kRounds);
  CHECK(work.quality == Quality::kExact);
  const SegmentRow& loop = RowOf(report, "app:loop");
  CHECK(loop.quality == Quality::kExact);
  CHECK(loop.wall.excl == loop.wall.incl - kRounds * 30);
  const auto paths = PathsOf(report, "app:work");
  REQUIRE(paths.size() == 1);
  CHECK(paths[0]->path == std::vector<std::string>{"app:loop", "app:work"});
  CHECK(paths[0]->calls == kRounds);
  if (program.with_dumps) {
    REQUIRE(jumper.counts[0]);
    CHECK(jumper.counts[0]->incl == kRounds * 10);
    CHECK(jumper.counts[0]->quality == Quality::kExact);
  }
}

TEST_CASE("jump: a call that began before setjmp goes on", "[rmap][jump]") {
  Program program;
  program.Enter(kLoop);
  program.Enter(kWork);
  const std::uint64_t saved_ns = program.Setjmp();
  program.Enter(kJumper);
  program.Jump(saved_ns);
  program.Jump(saved_ns);  // from outside the jumper
  program.Exit(kWork);
  program.Exit(kLoop);
  const Report report = Reconstructed(program.trace);
  for (const SegmentRow& row : report.segments) {
    CHECK(row.calls == 1);
    CHECK(row.quality == Quality::kExact);
  }
  CHECK(RowOf(report, "app:work").wall.incl == 50);
  CHECK(RowOf(report, "app:jumper").wall.incl == 10);
}

TEST_CASE("jump: to a place that is not known, nothing inside is exact",
          "[rmap][jump]") {
  Program program;
  program.Call(kWork);
  program.Enter(kLoop);
  program.Enter(kJumper);
  program.Jump(0);
  program.Call(kWork);  // in either, or in none
  program.Call(kLoop);
  const Report report = Reconstructed(program.trace);
  const SegmentRow& work = RowOf(report, "app:work");
  CHECK(work.calls == 2);
  CHECK(RowOf(report, "app:jumper").calls == 1);
  CHECK(RowOf(report, "app:jumper").quality == Quality::kInferred);
  CHECK(RowOf(report, "app:loop").calls == 2);
  CHECK(RowOf(report, "app:loop").quality == Quality::kInferred);
  // Seen outermost before, so both are closed.
  const auto paths = PathsOf(report, "app:work");
  REQUIRE(paths.size() == 1);
  CHECK(paths[0]->path.size() == 1);
}

TEST_CASE("jump: a switch between two stacks is never exact", "[rmap][jump]") {
  Program program;
  program.Enter(kLoop);
  program.Jump(0);
  program.Enter(kJumper);
  program.Jump(0);
  program.Call(kWork);
  program.Exit(kLoop);
  program.Jump(0);
  program.Exit(kJumper);
  const Report report = Reconstructed(program.trace);
  CHECK(RowOf(report, "app:loop").calls == 1);
  CHECK(RowOf(report, "app:loop").quality == Quality::kInferred);
  CHECK(RowOf(report, "app:jumper").calls == 1);
  CHECK(RowOf(report, "app:jumper").quality == Quality::kInferred);
  for (const SegmentRow* row : PathsOf(report, "app:work")) {
    CHECK(row->quality == Quality::kInferred);
  }
  // Each has a stack of its own, from its enter to its exit.
  for (const char* name : {"app:loop", "app:jumper"}) {
    CAPTURE(name);
    CHECK(WallOf(RowOf(report, name)).lo <= 60);
    CHECK(WallOf(RowOf(report, name)).hi >= 60);
    CHECK(PathsOf(report, name).size() == 1);
  }
}

TEST_CASE("left calls: an exit behind that of the call around it is its own",
          "[rmap][jump]") {
  Program program;
  program.Enter(kLoop);
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    program.Enter(kJumper);
    program.Enter(kWork);
    program.Exit(kJumper);
    program.Exit(kWork);
  }
  program.Exit(kLoop);
  const Report report = Reconstructed(program.trace);
  CHECK(RowOf(report, "app:loop").quality == Quality::kBounded);
  CHECK(WallOf(RowOf(report, "app:loop")).lo ==
        RowOf(report, "app:loop").wall.incl);
  CHECK(RowOf(report, "app:loop").bounds.Of(Number::kWallExcl)->lo <=
        RowOf(report, "app:loop").wall.excl - kRounds * 10);
  CHECK(RowOf(report, "app:jumper").wall.incl == kRounds * 20);
  CHECK(WallOf(RowOf(report, "app:jumper")).lo == kRounds * 20);
  CHECK(WallOf(RowOf(report, "app:jumper")).hi == kRounds * 20);
  const SegmentRow& work = RowOf(report, "app:work");
  CHECK(work.calls == kRounds);
  CHECK(work.begin_inferred == 0);
  CHECK(work.end_inferred == kRounds);
  CHECK(work.wall.incl == kRounds * 10);
  CHECK(WallOf(work).lo == 0);
  CHECK(WallOf(work).hi == kRounds * 20);  // the time to its own exit
  CHECK(work.bounds.Of(Number::kWallMax)->hi >= 20);
  CHECK(PathsOf(report, "app:work").size() == 1);
}

TEST_CASE("left calls: without a record their number is exact, places are not",
          "[rmap][jump]") {
  Program program;
  const bool loop = GENERATE(false, true);
  CAPTURE(loop);
  if (loop) program.Enter(kLoop);
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    program.Enter(kJumper);
    program.Call(kWork);
  }
  if (loop) program.Exit(kLoop);
  const Report report = Reconstructed(program.trace);
  const SegmentRow& work = RowOf(report, "app:work");
  CHECK(work.calls == kRounds);
  CHECK(work.end_inferred == 0);
  CHECK(work.wall.incl == kRounds * 10);
  CHECK(work.wall.excl == kRounds * 10);
  CHECK(work.wall.max == 10);
  CHECK(work.quality == Quality::kExact);
  const SegmentRow& jumper = RowOf(report, "app:jumper");
  CHECK(jumper.calls == kRounds);
  CHECK(jumper.end_inferred == kRounds);
  CHECK(jumper.quality == Quality::kInferred);
  std::uint64_t calls = 0;
  for (const SegmentRow* row : PathsOf(report, "app:work")) {
    calls += row->calls;
    CHECK(row->quality == Quality::kInferred);
  }
  CHECK(calls < kRounds);  // the rest is in folded paths
  // Its own time holds that of the jumpers, too.
  if (loop) CHECK(RowOf(report, "app:loop").quality == Quality::kInferred);
  CHECK(report.loss.messages.size() == 1);
}

TEST_CASE("coroutines: of one segment, in turn, they are marked and counted",
          "[rmap][coroutines]") {
  Program program;
  program.with_dumps = GENERATE(false, true);
  if (program.with_dumps) {
    program.trace.mutable_info().thread_events = {"cycles"};
  }
  const bool in_turn = GENERATE(false, true);
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    program.Begin(1);
    program.Begin(2);
    program.Call(kLoop);
    program.End(in_turn ? 1 : 2);
    program.Call(kLoop);
    program.End(in_turn ? 2 : 1);
  }
  CountSpans spans;
  const bool observed = GENERATE(false, true);
  const Report report =
      Reconstructed(program.trace, observed ? &spans : nullptr);
  if (observed) CHECK(spans.inferred == (in_turn ? kRounds : 0));
  const SegmentRow& work = RowOf(report, "app:work");
  CHECK(work.calls == 2 * kRounds);
  CHECK(work.begin_inferred == 0);
  if (!in_turn) {
    CHECK(work.quality == Quality::kExact);
    CHECK(work.end_inferred == 0);
    CHECK(work.wall.incl == kRounds * 70);
    CHECK(report.loss.messages.empty());
    return;
  }
  CHECK(work.quality == Quality::kInferred);
  CHECK(work.end_inferred == kRounds);
  // Their exits are in the trace.
  CHECK(work.location.Read().empty());
  REQUIRE(report.loss.messages.size() == 1);
  CHECK(report.loss.messages[0].find("2000 calls of app:work ended after") ==
        0);
  // One of the two was open all the time.
  CHECK(work.wall.incl == kRounds * 40);
  CHECK(WallOf(work).lo <= kRounds * 70);
  CHECK(WallOf(work).hi >= kRounds * 70);
}

TEST_CASE("coroutines: each exit ends its own call, in any order",
          "[rmap][coroutines]") {
  struct Scope {
    std::uint64_t place;
    bool is_open;  // or ended with one around it
  };
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Program program;
    std::vector<Scope> scopes;  // that have begun; open ones outermost first
    std::uint64_t calls = 0, late = 0, elsewhere = 0, plain = 0;
    for (int step = 0; step < 100; ++step) {
      const std::uint64_t kind = random() % 8;
      if (kind < 3) {
        // Memory is used again.
        std::uint64_t place = 1;
        while (std::any_of(
            scopes.begin(), scopes.end(),
            [place](const Scope& each) { return each.place == place; })) {
          ++place;
        }
        program.Begin(place);
        scopes.push_back({place, true});
        ++calls;
      } else if (kind == 3) {
        program.Call(kWork);  // not in a coroutine
        ++plain;
      } else if (kind == 4) {
        program.End(1000);  // it began in another thread
        // Unless it is treated as that of one that has ended, in this segment.
        const auto ended =
            std::find_if(scopes.rbegin(), scopes.rend(),
                         [](const Scope& each) { return !each.is_open; });
        if (ended == scopes.rend()) {
          ++elsewhere;
        } else {
          scopes.erase(std::next(ended).base());
          ++late;
        }
      } else if (!scopes.empty()) {
        const auto scope = scopes.begin() + static_cast<std::ptrdiff_t>(
                                                random() % scopes.size());
        program.End(scope->place);
        if (scope->is_open) {
          for (auto inner = scope + 1; inner != scopes.end(); ++inner) {
            inner->is_open = false;
          }
        } else {
          ++late;
        }
        scopes.erase(scope);
      }
    }
    const Report report = Reconstructed(program.trace);
    const SegmentRow& work = RowOf(report, "app:work");
    CHECK(work.calls == calls + plain);
    CHECK(work.begin_inferred == elsewhere);
    const std::string found =
        report.loss.messages.empty() ? "" : report.loss.messages[0];
    CHECK(found.substr(0, found.find(" ended after")) ==
          (late == 0 ? "" : std::to_string(late) + " calls of app:work"));
  }
}

TEST_CASE("folded paths: by segment nothing is lost", "[rmap][paths]") {
  // Deeper than the tree, with a leaf in each call, and mutual recursion.
  Program program;
  constexpr std::uint64_t kDepth = CallPaths::kMaxPathDepth + 300;
  program.Enter(kLoop);
  for (std::uint64_t i = 0; i < kDepth; ++i) {
    program.Enter(i % 2 == 0 ? kLoop : kJumper);
    program.Call(kWork);
  }
  for (std::uint64_t i = kDepth; i-- > 0;) {
    program.Exit(i % 2 == 0 ? kLoop : kJumper);
  }
  program.Exit(kLoop);
  const Report report = Reconstructed(program.trace);
  const std::uint64_t all_ns = program.now_ns() - 1010;
  std::uint64_t excl_ns = 0;
  for (const SegmentRow& row : report.segments) {
    CHECK(row.quality == Quality::kExact);
    CHECK(row.segment != "[other paths]");
    excl_ns += row.wall.excl;
  }
  CHECK(excl_ns == all_ns);
  CHECK(RowOf(report, "app:work").calls == kDepth);
  CHECK(RowOf(report, "app:work").wall.incl == kDepth * 10);
  CHECK(RowOf(report, "app:loop").calls == 1 + kDepth / 2);
  CHECK(RowOf(report, "app:loop").wall.incl == all_ns);
  CHECK(RowOf(report, "app:jumper").calls == kDepth / 2);
  // It begins four records after the outermost loop, and ends two before it.
  CHECK(RowOf(report, "app:jumper").wall.incl == all_ns - 60);
}

TEST_CASE("folded paths: on-CPU time and faults by segment are exact",
          "[rmap][paths]") {
  Program program;
  program.trace.mutable_info().scope = logformat::SessionScope::kSystem;
  program.trace.mutable_info().cpu_events = {"task-clock", "page-faults"};
  program.trace.Dump(1000, 0, logformat::CountersReason::kBegin, 7, {0, 0});
  // Below the limit of the tree the thread leaves the CPU for 4 ns, and has a
  // fault before each call of the leaf.
  constexpr std::uint64_t kDepth = CallPaths::kMaxPathDepth + 100;
  for (std::uint64_t i = 0; i < kDepth; ++i) program.Enter(kLoop);
  std::uint64_t off_ns = 0, faults = 0;
  for (int i = 0; i < 20; ++i) {
    program.Enter(kWork);
    const std::uint64_t now_ns = program.now_ns();
    program.trace.Fault(now_ns + 1, 0, {7, 7, 0, 0});
    ++faults;
    program.trace.Dispatch(now_ns + 2, 0, 7, 0, logformat::kSwitchInterruptible,
                           {now_ns + 2 - 1000, faults});
    program.trace.Dispatch(now_ns + 6, 0, 0, 7, logformat::kSwitchRunnable,
                           {now_ns + 6 - 1000, faults});
    off_ns += 4;
    program.Exit(kWork);
  }
  for (std::uint64_t i = 0; i < kDepth; ++i) program.Exit(kLoop);
  const std::uint64_t end_ns = program.now_ns() + 10;
  program.trace.Dump(end_ns, 0, logformat::CountersReason::kEnd, 7,
                     {end_ns - 1000, faults});
  const Report report = Reconstructed(program.trace);
  const SegmentRow& work = RowOf(report, "app:work");
  const SegmentRow& loop = RowOf(report, "app:loop");
  CHECK(work.wall.incl == 200);
  REQUIRE(work.on_cpu);
  CHECK(work.on_cpu->incl == 200 - off_ns);
  CHECK(work.on_cpu->excl == 200 - off_ns);
  CHECK(work.counts.at(1)->incl == faults);
  CHECK(work.counts.at(1)->excl == faults);
  const std::uint64_t loop_ns = program.now_ns() - 1010;
  CHECK(loop.wall.incl == loop_ns);
  CHECK(loop.wall.excl == loop_ns - 200);
  REQUIRE(loop.on_cpu);
  CHECK(loop.on_cpu->incl == loop_ns - off_ns);
  CHECK(loop.on_cpu->excl == loop_ns - 200);
  CHECK(loop.counts.at(1)->incl == faults);
  CHECK(loop.counts.at(1)->excl == 0);
  for (const SegmentRow* row : {&work, &loop}) {
    CHECK_FALSE(row->bounds.Of(Number::kOnCpuIncl));
    CHECK_FALSE(row->bounds.Of(Number::kOffCpuExcl));
    // Where it was blocked is not kept, and the quality is of that, too.
    CHECK(row->bounds.Of(Number::kBlockedIncl));
    CHECK(row->on_cpu_quality == Quality::kBounded);
    CHECK(row->qualities.Has(Quality::kBounded));
  }
}

TEST_CASE("folded paths: counts by records are as sure as the calls' times",
          "[rmap][paths]") {
  Program program;
  program.trace.mutable_info().scope = logformat::SessionScope::kSystem;
  program.trace.mutable_info().cpu_events = {"task-clock", "page-faults"};
  program.trace.Dump(1000, 0, logformat::CountersReason::kBegin, 7, {0, 0});
  program.trace.State(1000, 0, {7, 7}, "app");
  // Either calls are deeper than they are followed, or a loss is in one that
  // has no path.
  const bool too_deep = GENERATE(false, true);
  const std::uint64_t depth =
      too_deep ? 8192 : std::uint64_t{CallPaths::kMaxPathDepth} + 100;
  for (std::uint64_t i = 0; i < depth; ++i) program.Enter(kLoop);
  program.Enter(kWork);
  const std::uint64_t now_ns = program.now_ns();
  program.trace.Fault(now_ns + 1, 0, {7, 7, 0, 0});
  if (!too_deep) {
    program.trace.LoseOnCpu(now_ns + 1, 0, 1,
                            logformat::DiscardCause::kKernelRingFull);
    program.trace.Dispatch(now_ns + 6, 0, 0, 7, logformat::kSwitchRunnable,
                           {now_ns + 6 - 1000, 1});
  }
  program.Exit(kWork);
  for (std::uint64_t i = 0; i < depth; ++i) program.Exit(kLoop);
  const std::uint64_t end_ns = program.now_ns() + 10;
  program.trace.Dump(end_ns, 0, logformat::CountersReason::kEnd, 7,
                     {end_ns - 1000, 1});
  const Report report = Reconstructed(program.trace);
  for (const char* segment : {"app:loop", "app:work"}) {
    const SegmentRow& row = RowOf(report, segment);
    for (const std::size_t event : {0u, 1u}) {
      CAPTURE(segment, event);
      CHECK(row.counts.at(event)->quality == Quality::kBounded);
      const auto bounds = row.bounds.Of(CountNumber(event, CountPart::kIncl));
      REQUIRE(bounds);
      CHECK(bounds->lo == 0);
      CHECK(bounds->hi == Bounds::kNone);
    }
  }
}

TEST_CASE("folded paths: counts at hooks of folded calls are bounded",
          "[rmap][paths]") {
  Program program;
  program.with_dumps = true;
  program.trace.mutable_info().thread_events = {"cycles"};
  constexpr std::uint64_t kDepth = CallPaths::kMaxPathDepth + 10;
  for (std::uint64_t i = 0; i < kDepth; ++i) program.Enter(kLoop);
  program.Call(kWork);
  for (std::uint64_t i = 0; i < kDepth; ++i) program.Exit(kLoop);
  program.Call(kJumper);
  const Report report = Reconstructed(program.trace);
  const SegmentRow& loop = RowOf(report, "app:loop");
  CHECK(loop.quality == Quality::kExact);
  CHECK(loop.qualities.Has(Quality::kBounded));
  REQUIRE(loop.counts[0]);
  CHECK(loop.counts[0]->quality == Quality::kBounded);
  // All its calls are folded.
  CHECK_FALSE(RowOf(report, "app:work").counts[0]);
  REQUIRE(RowOf(report, "app:jumper").counts[0]);
  CHECK(RowOf(report, "app:jumper").counts[0]->incl == 5);
  CHECK(RowOf(report, "app:jumper").counts[0]->quality == Quality::kExact);
}

TEST_CASE("left calls: what is inside two open calls of one segment is doubted",
          "[rmap][jump]") {
  Program program;
  program.Enter(kJumper);
  program.Enter(kJumper);  // inside the first, or it was left
  program.Call(kWork);
  const Report report = Reconstructed(program.trace);
  const auto paths = PathsOf(report, "app:work");
  REQUIRE(paths.size() == 1);
  CHECK(paths[0]->path.size() == 3);
  CHECK(paths[0]->quality == Quality::kInferred);
}

TEST_CASE("folded paths: calls beyond the depth limit are counted, bounded",
          "[rmap][paths]") {
  Program program;
  constexpr std::uint64_t kDepth = 10000;
  for (std::uint64_t i = 0; i < kDepth; ++i) program.Enter(kLoop);
  program.Call(kWork);
  for (std::uint64_t i = 0; i < kDepth; ++i) program.Exit(kLoop);
  program.Call(kWork);
  const Report report = Reconstructed(program.trace);
  CHECK(RowOf(report, "app:loop").calls == kDepth);
  CHECK(RowOf(report, "app:loop").end_inferred == 0);
  CHECK(RowOf(report, "app:loop").quality == Quality::kBounded);
  // The last exit is that of the outermost call.
  CHECK(RowOf(report, "app:loop").wall.max == 10 * (2 * kDepth + 1));
  CHECK(RowOf(report, "app:work").calls == 2);
  CHECK(RowOf(report, "app:work").quality == Quality::kBounded);
}

TEST_CASE("jump: calls beyond the depth limit end as well", "[rmap][jump]") {
  Program program;
  constexpr std::uint64_t kDepth = 8192;  // SegmentBuilder::kMaxDepth
  for (std::uint64_t i = 0; i < kDepth; ++i) program.Enter(kLoop);
  const std::uint64_t innermost_ns = program.now_ns();
  // setjmp when the innermost call began, or later.
  const std::uint64_t saved_ns =
      GENERATE(false, true) ? program.Setjmp() : innermost_ns;
  program.Enter(kJumper);
  program.Enter(kJumper);
  program.Jump(saved_ns);
  const std::uint64_t jumped_ns = program.now_ns();
  for (std::uint64_t i = 0; i < kDepth; ++i) program.Exit(kLoop);
  const Report report = Reconstructed(program.trace);
  const SegmentRow& loop = RowOf(report, "app:loop");
  CHECK(loop.calls == kDepth);
  CHECK(loop.end_inferred == 0);
  CHECK(loop.wall.min == jumped_ns + 10 - innermost_ns);
  CHECK(loop.wall.max == program.now_ns() - 1010);
  CHECK(loop.quality == Quality::kBounded);
  CHECK(RowOf(report, "app:jumper").calls == 2);
  CHECK(RowOf(report, "app:jumper").quality == Quality::kBounded);
}

TEST_CASE("jump: into calls beyond the depth limit, nothing is exact",
          "[rmap][jump]") {
  Program program;
  constexpr std::uint64_t kDepth = 8192;
  for (std::uint64_t i = 0; i < kDepth; ++i) program.Enter(kLoop);
  program.Enter(kWork);
  // At the instant of setjmp the first of them is open.
  const std::uint64_t saved_ns =
      GENERATE(false, true) ? program.Setjmp() : program.now_ns();
  program.Enter(kJumper);
  program.Jump(saved_ns);
  program.Exit(kWork);
  for (std::uint64_t i = 0; i < kDepth; ++i) program.Exit(kLoop);
  const Report report = Reconstructed(program.trace);
  CHECK(RowOf(report, "app:loop").calls == kDepth);
  // An exit too few is left for them, so each may end one call late.
  for (const SegmentRow* row : PathsOf(report, "app:loop")) {
    CHECK(row->quality == Quality::kInferred);
  }
}

}  // namespace
}  // namespace countrace::rmap
