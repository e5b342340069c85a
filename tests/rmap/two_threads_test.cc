// The report does not depend on how many CPUs reconstructed it, whoever of them
// got which threads, and when. Long traces, so that threads go back and forth.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"
#include "tests/logformat/trace_generator.h"
#include "tests/rmap/memory_trace.h"
#include "tests/rmap/simulated_machine.h"
#include "tests/support/trace_builder.h"

namespace countrace::rmap {
namespace {

using test_support::Counters;
using test_support::HookDump;
using test_support::MemoryTrace;

std::string Json(logformat::TraceReader& reader, unsigned threads,
                 ReportBy table, bool late = false,
                 PipelineOptions::Sharing* sharing = nullptr,
                 const GatingRequest& gating = {}) {
  PipelineOptions options;
  options.gating = gating;
  options.threads = threads;
  options.late_thread = late;
  options.sharing = sharing;
  const auto report = Reconstruct(reader, options);
  REQUIRE(report.ok());
  return RenderReport(
      *report, {.format = ReportFormat::kJson, .by = table, .max_rows = 0});
}

// What the second thread does, at least.
enum class Shares : std::uint8_t {
  kMuch,
  kNothingTwice,  // what it does is the result
  kPerhaps,       // somebody may have to do it all again alone
};

// Returns: what they shared when the second one began late.
PipelineOptions::Sharing CheckSame(logformat::TraceReader& reader,
                                   Shares shares = Shares::kPerhaps,
                                   const GatingRequest& gating = {}) {
  const ReportBy all = ReportBy::kDefault;
  const std::string one = Json(reader, 1, all, false, nullptr, gating);
  PipelineOptions::Sharing sharing;
  for (const bool late : {false, true}) {
    CAPTURE(late);
    sharing = {};
    CHECK((one == Json(reader, 2, all, late, &sharing, gating)));
    if (shares == Shares::kMuch) CHECK(sharing.runs > 100);
    if (shares != Shares::kPerhaps) CHECK(!sharing.again);
  }
  return sharing;
}

struct Shape {
  std::uint32_t hooks = 5, depth = 6;
  bool one_process = false;
  bool dumps = false;
  bool losses = false;
  bool tid_again = false;  // of a thread that has ended
  bool faults = false;
  bool counts_go_back = false;  // of faults, on a CPU
  bool renames = false;  // of running processes: from "c" to "d" and back
  int turns = 400;
};

// Threads of some processes in turns on two CPUs, in random calls, which often
// last over many dispatches.
void Fill(std::uint32_t seed, const Shape& shape, MemoryTrace& trace) {
  std::mt19937 random(seed);
  trace.mutable_info().scope = logformat::SessionScope::kSystem;
  trace.mutable_info().cpu_events = {"task-clock"};
  if (shape.faults) trace.mutable_info().cpu_events.emplace_back("page-faults");
  if (shape.dumps) trace.mutable_info().thread_events = {"cycles", "misses"};
  for (std::uint32_t i = 1; i <= shape.hooks; ++i) {
    trace.AddHook(i, logformat::HookKind::kSegment, "p",
                  "h" + std::to_string(i));
  }
  constexpr std::int32_t kThreads = 9;
  std::vector<std::vector<std::uint32_t>> open(kThreads);
  std::vector<Counters> counters(kThreads, Counters(2, 0));
  const auto pid_of = [&](std::int32_t thread) {
    return shape.one_process ? 100 : 100 + 10 * (thread / 3);
  };
  std::uint64_t now_ns = 1000;
  std::uint32_t running[2] = {0, 0};
  std::int32_t ended = -1;
  std::uint64_t faults[2] = {0, 0};
  const auto counted = [&](std::int32_t cpu) {
    return shape.faults ? Counters{now_ns, faults[cpu]} : Counters{now_ns};
  };
  const auto dump = [&](std::int32_t cpu, logformat::CountersReason reason) {
    trace.Dump(now_ns, cpu, reason, running[cpu], counted(cpu));
  };
  dump(0, logformat::CountersReason::kBegin);
  dump(1, logformat::CountersReason::kBegin);
  for (std::int32_t thread = 0; thread < kThreads; ++thread) {
    trace.State(now_ns, 0, {pid_of(thread), 1000 + thread, 1, 1}, "c");
  }
  for (int turn = 0; turn < shape.turns; ++turn) {
    const std::int32_t cpu = turn % 2;
    auto thread = static_cast<std::int32_t>(random() % kThreads);
    if (running[1 - cpu] == static_cast<std::uint32_t>(1000 + thread)) {
      thread = (thread + 1) % kThreads;
    }
    if (turn > 300 && thread == ended && !shape.tid_again) continue;
    now_ns += 100;
    const auto tid = static_cast<std::uint32_t>(1000 + thread);
    if (running[cpu] != 0 && random() % 3 == 0) {
      trace.Wakeup(now_ns, cpu, running[cpu], tid);
    }
    if (running[cpu] != tid) {
      const std::uint16_t state = random() % 2 != 0
                                      ? logformat::kSwitchInterruptible
                                      : logformat::kSwitchPreempted;
      trace.Dispatch(now_ns, cpu, running[cpu], tid, state, counted(cpu));
      running[cpu] = tid;
    }
    if (shape.renames && random() % 60 == 0) {
      now_ns += 50;
      trace.Comm(now_ns, cpu, {pid_of(thread), pid_of(thread), 1, 1},
                 random() % 2 == 0 ? "c" : "d");
    }
    if (shape.losses && turn > 250 && random() % 40 == 0) {
      trace.LoseOfThread(now_ns, pid_of(thread), 1000 + thread, 7,
                         logformat::DiscardCause::kNoSubBuffer);
    }
    if (shape.counts_go_back && random() % 20 == 0) faults[cpu] /= 2;
    const auto records = static_cast<int>(40 + random() % 300);
    for (int i = 0; i < records; ++i) {
      now_ns += 1 + random() % 50;
      if (shape.faults && random() % 60 == 0) {
        trace.Fault(now_ns++, cpu, {pid_of(thread), 1000 + thread, 1, 1});
        ++faults[cpu];
      }
      std::vector<std::uint32_t>& calls =
          open[static_cast<std::size_t>(thread)];
      const bool exit =
          calls.size() >= shape.depth || (!calls.empty() && random() % 2 == 0);
      const std::uint32_t hook =
          exit ? calls.back()
               : static_cast<std::uint32_t>(1 + random() % shape.hooks);
      if (exit) {
        calls.pop_back();
      } else {
        calls.push_back(hook);
      }
      std::optional<HookDump> values;
      if (shape.dumps) {
        Counters& own = counters[static_cast<std::size_t>(thread)];
        own[0] += random() % 1000;
        own[1] += random() % 3;
        values = HookDump{0, random() % 100 == 0 ? 1u : 3u, own};
      }
      trace.HookRecord(now_ns, {pid_of(thread), 1000 + thread, hook, exit},
                       values);
    }
    if (turn == 300) {  // a thread ends in the midst of its calls
      now_ns += 1;
      trace.Exit(now_ns, cpu, {pid_of(thread), 1000 + thread, 1, 1});
      ended = thread;
    }
  }
  dump(0, logformat::CountersReason::kEnd);
  dump(1, logformat::CountersReason::kEnd);
}

TEST_CASE("two threads: the report of one, byte for byte", "[rmap][property]") {
  const auto seed = GENERATE(range(0u, 8u));
  CAPTURE(seed);
  Shape shape;
  shape.one_process = seed % 2 == 0;
  shape.dumps = seed % 3 != 0;
  shape.losses = seed % 4 == 3;
  shape.tid_again = seed % 4 == 1;
  MemoryTrace trace(/*threads_first=*/seed % 5 == 0);
  Fill(seed, shape, trace);
  CheckSame(trace,
            shape.losses || shape.tid_again ? Shares::kPerhaps : Shares::kMuch);
}

TEST_CASE("two threads: faults, and processes that are counted at times",
          "[rmap][property]") {
  const auto seed = GENERATE(range(0u, 12u));
  CAPTURE(seed);
  Shape shape;
  shape.faults = seed % 3 != 2;
  shape.counts_go_back = seed % 4 == 1;
  shape.renames = seed % 3 != 0;
  shape.dumps = seed % 2 == 0;
  MemoryTrace trace(/*threads_first=*/seed % 5 == 0);
  Fill(seed, shape, trace);
  GatingRequest gating;
  if (shape.renames) {
    // They are "c" at first, and count from their first mark on, or up to it.
    gating.count = logformat::ParseGating("unmarked");
    gating.marks = *logformat::ParseMarks({"comm:d"});
    if (seed % 2 == 0) gating.count = logformat::ParseGating("marked");
  }
  CheckSame(trace, Shares::kNothingTwice, gating);
}

TEST_CASE("two threads: more paths than are kept apart", "[rmap]") {
  Shape shape;
  shape.hooks = 3000;
  shape.depth = 40;
  shape.turns = 800;
  shape.one_process = true;
  MemoryTrace trace;
  Fill(1, shape, trace);
  const std::string one = Json(trace, 1, ReportBy::kSegment);
  CHECK(one.find("[other paths]") != std::string::npos);
  CHECK((one == Json(trace, 2, ReportBy::kSegment)));
}

TEST_CASE("two threads: a kernel hook that the trace does not describe",
          "[rmap]") {
  MemoryTrace trace;
  Fill(2, Shape(), trace);
  trace.KernelHook(500'000, 0,
                   {100, 1000, logformat::kHookIdKernelMin + 5, false});
  CheckSame(trace);
}

TEST_CASE("two threads: machines with all that a kernel does", "[rmap]") {
  const auto seed = GENERATE(range(0u, 16u));
  CAPTURE(seed);
  test_support::SimulationOptions options = test_support::RandomOptions(seed);
  options.steps = 1000;
  options.wakeups = seed % 2 == 1;
  // With kernel hooks nothing is shared.
  if (seed % 4 != 0) options.system_calls = options.interrupts = false;
  test_support::Simulation run = test_support::Simulate(options);
  const bool losses = seed % 5 == 4;
  if (losses) {
    run.trace->Remove([](std::size_t i) { return i % 97 == 11; },
                      /*declare=*/true);
  }
  CheckSame(*run.trace, losses ? Shares::kPerhaps : Shares::kNothingTwice);
}

// Where a file is damaged only who decodes it finds out.
struct DamageOf {
  int bytes = 3;           // of a file
  bool all_files = false;  // of threads; else about half of them
};
void Damage(const std::string& directory, std::mt19937& random,
            const DamageOf& damage = {}) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (name.rfind("thread-", 0) != 0) continue;
    if (!damage.all_files && random() % 2 == 0) continue;
    std::fstream file(entry.path(),
                      std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<std::uint32_t>(entry.file_size());
    for (int i = 0; i < damage.bytes; ++i) {
      file.seekp(random() % size);
      file.put(static_cast<char>(random()));
    }
  }
}

TEST_CASE("two threads: files, whole and damaged", "[rmap][property]") {
  const auto seed = GENERATE(range(0u, 12u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  test_support::TempDirectory temp(test_support::TempDirectory::Place::kMemory);
  test_support::TraceBuilder builder(temp / "t");
  logformat::GeneratorOptions options;
  options.records = 3'000;
  // With more of the kernel nothing is shared.
  options.cpus = 1;
  options.threads = 12 + static_cast<int>(seed % 7);
  options.losses = seed % 3 == 0;
  options.long_pauses = seed % 4 == 0;
  logformat::Generate(builder, seed, options);
  if (seed % 5 == 0) {
    builder.Abandon();
  } else {
    builder.Finish();
  }
  if (seed % 2 == 0) Damage(temp / "t", random);
  auto reader = logformat::TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  CheckSame(**reader);
}

struct Turns {
  std::uint32_t seed = 0;
  std::uint32_t threads = 7;
  bool sleeps = true;       // some leave their CPU to sleep
  bool two_streams = true;  // of one, one after the other
  bool lossy_cpu = false;   // one loses records, and is silent until its end
  bool cut = false;         // the end of that CPU is missing as well
};

// Of threads that take turns on two CPUs. If the seed is odd, now and then one
// that is on neither enters "off CPU", a hook of nobody else's calls: other
// calls must not hide what is guessed of where its thread was.
void WriteTurns(const Turns& turns, test_support::TraceBuilder& trace) {
  std::mt19937 random(turns.seed);
  constexpr std::int32_t kPid = 100;
  trace.SetCpuEvents({"task-clock"});
  const std::vector<std::uint32_t> hooks = {trace.AddSegment("p", "a"),
                                            trace.AddSegment("p", "b"),
                                            trace.AddSegment("p", "c")};
  const std::uint32_t off_cpu_hook = trace.AddSegment("p", "off CPU");
  std::vector<std::vector<std::uint32_t>> open(turns.threads);
  std::uint64_t now_ns = 1000;
  std::uint32_t running[2] = {0, 0};
  // One of them begins in a stream that another one leaves to it.
  auto* const left =
      turns.two_streams ? &trace.Thread(kPid, kPid + 1000) : nullptr;
  if (left != nullptr) {
    left->Enter(hooks[0], now_ns, {});
    left->Exit(hooks[0], now_ns + 10);
    left->SetThread(kPid, kPid + 1);
    now_ns += 20;
  }
  bool moved = left == nullptr;
  const auto call = [&](std::uint32_t thread, bool on_cpu) {
    now_ns += 1 + random() % 60;
    auto& stream =
        thread == 1 && !moved
            ? *left
            : trace.Thread(kPid, kPid + static_cast<std::int32_t>(thread));
    std::vector<std::uint32_t>& calls = open[thread];
    const bool exit =
        on_cpu && !calls.empty() && (calls.size() >= 5 || random() % 2 == 0);
    if (exit) {
      stream.Exit(calls.back(), now_ns);
      calls.pop_back();
    } else {
      calls.push_back(on_cpu ? hooks[random() % hooks.size()] : off_cpu_hook);
      stream.Enter(calls.back(), now_ns, {});
    }
  };
  for (const std::int32_t cpu : {0, 1}) {
    trace.Cpu(cpu).Counters(now_ns, logformat::CountersReason::kBegin, 0,
                            {now_ns});
  }
  for (std::uint32_t turn = 0; turn < 600; ++turn) {
    const bool lost = turns.lossy_cpu && turn >= 60;
    const std::uint32_t cpu = lost ? 0 : turn % 2;
    const std::uint32_t thread = turn % turns.threads;
    if (turns.lossy_cpu && turn == 60) {
      trace.Cpu(1).writer().CountDiscarded(
          logformat::DiscardCause::kNoSubBuffer, 5);
    }
    moved = moved || turn > 100;
    now_ns += 100;
    if (turns.sleeps && running[cpu] != 0 && random() % 3 == 0) {
      trace.Cpu(static_cast<std::int32_t>(cpu))
          .Wakeup(now_ns, running[cpu], kPid + thread,
                  static_cast<std::uint16_t>(cpu));
    }
    trace.Cpu(static_cast<std::int32_t>(cpu))
        .Dispatch(now_ns, running[cpu], kPid + thread,
                  turns.sleeps && random() % 2 != 0
                      ? logformat::kSwitchInterruptible
                      : logformat::kSwitchPreempted,
                  {now_ns});
    running[cpu] = kPid + thread;
    const auto records = static_cast<int>(60 + random() % 100);
    for (int i = 0; i < records; ++i) {
      call(thread, /*on_cpu=*/true);
      if (turns.seed % 2 == 1 && turns.threads > 3 && random() % 300 == 0) {
        call((thread + 3) % turns.threads, /*on_cpu=*/false);
      }
    }
    if (turns.threads > 3) continue;
    // It leaves again, for it may be on the other CPU next.
    now_ns += 10;
    trace.Cpu(static_cast<std::int32_t>(cpu))
        .Dispatch(now_ns, running[cpu], 0, logformat::kSwitchPreempted,
                  {now_ns});
    running[cpu] = 0;
  }
  for (const std::int32_t cpu : {0, 1}) {
    if (turns.cut && cpu == 1) continue;
    trace.Cpu(cpu).Counters(now_ns, logformat::CountersReason::kEnd,
                            running[cpu], {now_ns});
  }
}

TEST_CASE("two threads: files of threads that take turns", "[rmap][property]") {
  const auto seed = GENERATE(range(0u, 16u));
  CAPTURE(seed);
  test_support::TempDirectory temp(test_support::TempDirectory::Place::kMemory);
  test_support::TraceBuilder builder(temp / "t");
  WriteTurns({.seed = seed}, builder);
  builder.Finish();
  const bool damaged = seed >= 8;
  std::mt19937 random(seed);
  if (damaged) Damage(temp / "t", random);
  auto reader = logformat::TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  const PipelineOptions::Sharing late =
      CheckSame(**reader, damaged ? Shares::kPerhaps : Shares::kMuch);
  // For whoever wakes or sleeps the other CPU is asked, not waited for.
  CAPTURE(late.waits, late.runs);
  CHECK(late.waits < 12);
}

// Threads that are still held when the first damage is found, and are damaged
// themselves.
TEST_CASE("two threads: damage in one file, then in others", "[rmap]") {
  struct Case {
    std::uint32_t seed;
    DamageOf damage;
  };
  const auto [seed, damage] = GENERATE(
      Case{36, {.bytes = 2}}, Case{80, {.bytes = 1, .all_files = true}});
  CAPTURE(seed);
  test_support::TempDirectory temp(test_support::TempDirectory::Place::kMemory);
  test_support::TraceBuilder builder(temp / "t");
  WriteTurns({.seed = seed}, builder);
  builder.Finish();
  std::mt19937 random(seed);
  Damage(temp / "t", random, damage);
  auto reader = logformat::TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  CheckSame(**reader);
}

// Without sleepers nobody waits for what a thread did, and much can be read
// ahead.
TEST_CASE("two threads: threads change hands, and all that one of them does",
          "[rmap][property]") {
  const auto seed = GENERATE(range(0u, 8u));
  const auto threads = GENERATE(2u, 3u, 7u);
  const bool lossy_cpu = seed >= 4;
  CAPTURE(seed, threads);
  test_support::TempDirectory temp(test_support::TempDirectory::Place::kMemory);
  test_support::TraceBuilder builder(temp / "t");
  WriteTurns({.seed = seed,
              .threads = threads,
              .sleeps = false,
              .two_streams = false,
              .lossy_cpu = lossy_cpu,
              .cut = lossy_cpu && seed < 6},
             builder);
  builder.Finish();
  auto reader = logformat::TraceReader::Open(temp / "t");
  REQUIRE(reader.ok());
  const PipelineOptions::Sharing late = CheckSame(**reader, Shares::kMuch);
  CAPTURE(late.runs, late.moves, late.swaps);
  if (threads == 2) CHECK(late.swaps > 0);
  if (threads > 2) CHECK(late.moves > 0);
}

}  // namespace
}  // namespace countrace::rmap
