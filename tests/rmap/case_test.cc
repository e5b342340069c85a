// Cases in files: event lines, "---", the expected tables.
//
// cases/pass-*.rmapcase: nothing is missing, and the report must not say so.
// cases/fail-*.rmapcase: named after a defect of the trace, which the report
// must show. COUNTRACE_UPDATE_GOLDEN=1 rewrites the expected part; review the
// diff.
//
//   scope system|command|hooks          root PID          recorder PID
//   count MODES|all|none                as record --count
//   begin NS                            session-lost CAUSE N
//   cpu-events NAME...                  thread-events NAME...
//   hook-cost CPU-PS PS PS-WITH-COUNTERS
//   bpf-time NS SAMPLED-NS
//   probe-cost ID NS LO HI NS LO HI     inside and outside of a call
//   segment|point ID PROVIDER NAME
//   kernel-segment|kernel-point|probe-segment|probe-point|interrupt ID
//                                                              PROVIDER NAME
//
// A CPU's records; VALUE... are its counters:
//   @TIME cpuN begin|end|tick RUNNING VALUE...
//   @TIME cpuN switch PREV NEXT STATE VALUE...   STATE: S or D sleeps,
//                                                P preempted, R yielded, X dead
//   @TIME cpuN switch-in|computed-in PREV NEXT
//   @TIME cpuN wakeup WAKER WAKEE
//   @TIME cpuN state|mark|exec|comm PID/TID NAME   mark: a state with the mark
//   @TIME cpuN fork CHILD PARENT                 both PID/TID
//   @TIME cpuN exit|fault PID/TID
//   @TIME cpuN hook PID/TID enter|exit|hit ID [returns N]
//                                                [dump VALUE...]
//   @TIME cpuN lost N CAUSE
//   @TIME cpuN lost-packet REASON
//
// A thread's records:
//   @TIME PID/TID enter|exit|hit ID [dump MMCR PRESENT VALUE...]
//   @TIME PID/TID jump ID SINCE                  a point countrace jump
//   @TIME PID/TID stack ID FROM TO               a point countrace stack
//   @TIME PID/TID lost N CAUSE
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "logformat/description/trace_description.h"
#include "logformat/jump_hook.h"
#include "rmap/pipeline.h"
#include "tests/rmap/memory_trace.h"
#include "tests/rmap/report_lines.h"
#include "tests/rmap/timeline_lines.h"

namespace countrace::rmap {
namespace {

using logformat::CountersReason;
using logformat::DiscardCause;
using logformat::HookKind;
using logformat::HookOrigin;
using test_support::Counters;
using test_support::HookDump;
using test_support::MemoryTrace;
using test_support::Show;

struct CaseFile {
  std::string events, expected;
};

CaseFile ReadCase(const std::filesystem::path& path) {
  std::ifstream in(path);
  CaseFile out;
  bool after = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "---") {
      after = true;
    } else {
      (after ? out.expected : out.events) += line + "\n";
    }
  }
  return out;
}

DiscardCause CauseOf(const std::string& name) {
  for (std::size_t i = 0; i < logformat::kDiscardCauses; ++i) {
    if (name == logformat::kDiscardCauseNames[i]) {
      return static_cast<DiscardCause>(i);
    }
  }
  FAIL("unknown discard cause in case: " << name);
  return {};
}

MemoryTrace::Task TaskOf(const std::string& text) {
  MemoryTrace::Task task;
  char slash = 0;
  std::istringstream in(text);
  in >> task.pid >> slash >> task.tid;
  REQUIRE(slash == '/');
  return task;
}

Counters Rest(std::istringstream& in) {
  Counters values;
  for (std::uint64_t value; in >> value;) values.push_back(value);
  return values;
}

std::uint16_t StateOf(const std::string& letter) {
  static const std::map<std::string, std::uint16_t> kStates = {
      {"R", logformat::kSwitchRunnable},
      {"S", logformat::kSwitchInterruptible},
      {"D", logformat::kSwitchUninterruptible},
      {"P", logformat::kSwitchPreempted},
      {"Q", logformat::kSwitchThrottled},
      {"X", logformat::kSwitchDead}};
  REQUIRE(kStates.contains(letter));
  return kStates.at(letter);
}

void AddCpuLine(MemoryTrace& trace, std::uint64_t time_ns, std::int32_t cpu,
                const std::string& verb, std::istringstream& in) {
  static const std::map<std::string, CountersReason> kReasons = {
      {"begin", CountersReason::kBegin},
      {"end", CountersReason::kEnd},
      {"tick", CountersReason::kTick}};
  std::string first, second;
  if (kReasons.contains(verb)) {
    std::uint32_t running = 0;
    in >> running;
    trace.Dump(time_ns, cpu, kReasons.at(verb), running, Rest(in));
  } else if (verb == "switch") {
    std::uint32_t prev = 0, next = 0;
    std::string state;
    in >> prev >> next >> state;
    trace.Dispatch(time_ns, cpu, prev, next, StateOf(state), Rest(in));
  } else if (verb == "switch-in" || verb == "computed-in") {
    std::uint32_t prev = 0, next = 0;
    in >> prev >> next;
    trace.SwitchIn(time_ns, cpu, prev, next, verb == "computed-in");
  } else if (verb == "wakeup") {
    std::uint32_t waker = 0, wakee = 0;
    in >> waker >> wakee;
    trace.Wakeup(time_ns, cpu, waker, wakee);
  } else if (verb == "hook") {
    std::uint32_t hook = 0;
    in >> first >> second >> hook;
    const MemoryTrace::Task task = TaskOf(first);
    std::uint64_t returned = 0;
    std::optional<Counters> dump;
    std::string word;
    if (in >> word && word == "returns") in >> returned >> word;
    if (in) {
      REQUIRE(word == "dump");
      dump = Rest(in);
    }
    trace.KernelHook(
        time_ns, cpu,
        {task.pid, task.tid, hook, second == "exit", 0, {}, returned}, dump);
  } else if (verb == "lost") {
    std::uint64_t records = 0;
    in >> records >> first;
    trace.LoseOnCpu(time_ns, cpu, records, CauseOf(first));
  } else if (verb == "lost-packet") {
    std::getline(in >> std::ws, first);
    trace.LosePackets(time_ns, cpu, first);
  } else {
    in >> first >> second;
    MemoryTrace::Task task = TaskOf(first);
    if (verb == "fork") {
      const MemoryTrace::Task parent = TaskOf(second);
      task.parent_pid = parent.pid;
      task.parent_tid = parent.tid;
      trace.Fork(time_ns, cpu, task);
    } else if (verb == "exit") {
      trace.Exit(time_ns, cpu, task);
    } else if (verb == "fault") {
      trace.Fault(time_ns, cpu, task);
    } else if (verb == "state") {
      trace.State(time_ns, cpu, task, second);
    } else if (verb == "mark") {
      trace.State(time_ns, cpu, task, second, logformat::kStateMarked);
    } else if (verb == "exec") {
      trace.Exec(time_ns, cpu, task, second);
    } else if (verb == "comm") {
      trace.Comm(time_ns, cpu, task, second);
    } else {
      FAIL("unknown event in case: " << verb);
    }
  }
}

void AddThreadLine(MemoryTrace& trace, std::uint64_t time_ns,
                   const MemoryTrace::Task& task, const std::string& verb,
                   std::istringstream& in) {
  if (verb == "lost") {
    std::uint64_t records = 0;
    std::string cause;
    in >> records >> cause;
    trace.LoseOfThread(time_ns, task.pid, task.tid, records, CauseOf(cause));
    return;
  }
  std::uint32_t hook = 0;
  if (verb == "jump") {
    std::uint64_t since_ns = 0;
    in >> hook >> since_ns;
    trace.HookRecord(time_ns, {task.pid, task.tid, hook, false, 0, {since_ns}});
    return;
  }
  if (verb == "stack" || verb == "scope") {
    std::uint64_t first = 0, second = 0;
    in >> hook >> first >> second;
    trace.HookRecord(time_ns,
                     {task.pid, task.tid, hook, false, 0, {first, second}});
    return;
  }
  REQUIRE((verb == "enter" || verb == "exit" || verb == "hit"));
  std::string word;
  std::optional<HookDump> dump;
  in >> hook;
  if (in >> word && word == "dump") {
    dump.emplace();
    in >> dump->mmcr >> dump->present;
    dump->counters = Rest(in);
  }
  trace.HookRecord(time_ns, {task.pid, task.tid, hook, verb == "exit"}, dump);
}

void Build(const std::string& events, MemoryTrace& trace) {
  logformat::TraceInfo& info = trace.mutable_info();
  info.path = "case";
  info.scope = logformat::SessionScope::kSystem;
  std::istringstream lines(events);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    CAPTURE(line);
    std::istringstream in(line);
    std::string word, name;
    in >> word;
    if (word[0] == '@') {
      const std::uint64_t time_ns = std::stoull(word.substr(1));
      std::string who, verb;
      in >> who >> verb;
      if (who.rfind("cpu", 0) == 0) {
        AddCpuLine(trace, time_ns, std::stoi(who.substr(3)), verb, in);
      } else {
        AddThreadLine(trace, time_ns, TaskOf(who), verb, in);
      }
    } else if (word == "scope") {
      in >> name;
      info.scope = name == "command" ? logformat::SessionScope::kCommand
                   : name == "hooks" ? logformat::SessionScope::kHooksOnly
                                     : logformat::SessionScope::kSystem;
    } else if (word == "root") {
      in >> info.root_pid;
    } else if (word == "recorder") {
      in >> info.recorder_pid;
    } else if (word == "count") {
      in >> name;
      info.gating = logformat::ParseGating(name);
      REQUIRE(info.gating);
    } else if (word == "hook-cost") {
      in >> info.own_hook_cpu_ps >> info.own_hook_ps >> info.own_hook_dump_ps;
    } else if (word == "probe-cost") {
      std::uint32_t id = 0;
      logformat::ProbeCost cost;
      in >> id;
      for (logformat::ProbeCost::Range* range : {&cost.inside, &cost.outside}) {
        in >> range->ns >> range->lo >> range->hi;
      }
      for (logformat::HookInfo& hook : info.hooks) {
        if (hook.id == id) hook.probe_cost = cost;
      }
    } else if (word == "bpf-time") {
      in >> info.own_bpf_ns >> info.own_bpf_sampled_ns;
    } else if (word == "begin") {
      in >> info.begin_ns;
    } else if (word == "session-lost") {
      std::uint64_t records = 0;
      in >> name >> records;
      trace.set_session_discarded(CauseOf(name), records);
    } else if (word == "cpu-events") {
      while (in >> name) info.cpu_events.push_back(name);
    } else if (word == "thread-events") {
      while (in >> name) info.thread_events.push_back(name);
    } else if (word == "segment" || word == "point") {
      std::uint32_t id = 0;
      std::string provider;
      in >> id >> provider >> name;
      std::vector<logformat::PayloadType> payload;
      if (provider == logformat::kJumpProvider) {
        payload.assign(name == logformat::kJumpName ? 1 : 2,
                       logformat::PayloadType::kUnsigned);
      }
      trace.AddHook(id,
                    word == "segment" ? HookKind::kSegment : HookKind::kPoint,
                    provider, name, HookOrigin::kProgram, payload);
    } else if (const auto kernel = logformat::ParseHookText(
                   logformat::kHookIdKernelMin, word + "\t-\ta:b\t-");
               kernel.has_value()) {
      std::uint32_t id = 0;
      std::string provider;
      in >> id >> provider >> name;
      trace.AddHook(id, kernel->kind, provider, name, kernel->origin);
    } else {
      FAIL("unknown line in case: " << line);
    }
  }
}

bool ShowsDefect(const Report& report) {
  bool inferred = false;
  for (const SegmentRow& row : report.segments) {
    inferred |= row.quality != Quality::kExact;
  }
  return inferred || !report.loss.messages.empty();
}

std::vector<std::filesystem::path> Cases() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(COUNTRACE_RMAP_CASES)) {
    if (entry.path().extension() == ".rmapcase") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST_CASE("cases: each trace gives its tables", "[rmap][cases]") {
  const std::vector<std::filesystem::path> paths = Cases();
  REQUIRE(paths.size() >= 20);
  for (const std::filesystem::path& path : paths) {
    const std::string name = path.filename().string();
    CAPTURE(name);
    const CaseFile file = ReadCase(path);
    MemoryTrace trace;
    Build(file.events, trace);
    const auto report = Reconstruct(trace, {});
    REQUIRE(report.ok());
    const std::string shown = Show(*report);
    // Dumps at hooks are copied if records do not stay in memory.
    trace.set_keeps_records(false);
    const auto copied = Reconstruct(trace, {});
    REQUIRE(copied.ok());
    CHECK(Show(*copied) == shown);
    if (std::getenv("COUNTRACE_UPDATE_GOLDEN") != nullptr) {
      std::ofstream(path) << file.events << "---\n" << shown;
    } else {
      CHECK(shown == file.expected);
    }
    for (const Books& books : report->books) CHECK(books.residual == 0);
    CHECK(ShowsDefect(*report) == (name.rfind("fail-", 0) == 0));
  }
}

TEST_CASE("cases: an observer sees the spans of before", "[rmap][cases]") {
  // A checksum of each trace's spans; COUNTRACE_MACHINE_REPORTS=DIR writes
  // them as text.
  const std::string golden = COUNTRACE_RMAP_CASES "/timelines.golden";
  const char* const directory = std::getenv("COUNTRACE_MACHINE_REPORTS");
  std::ostringstream shown;
  for (const std::filesystem::path& path : Cases()) {
    MemoryTrace trace;
    Build(ReadCase(path).events, trace);
    test_support::TimelineLines timeline(/*call_counts=*/true);
    REQUIRE(Reconstruct(trace, {.observer = &timeline}).ok());
    const std::string name = path.stem().string();
    trace.set_keeps_records(false);
    test_support::TimelineLines copied(/*call_counts=*/true);
    REQUIRE(Reconstruct(trace, {.observer = &copied}).ok());
    CAPTURE(name);
    CHECK(copied.lines() == timeline.lines());
    shown << name << " "
          << test_support::Checksum(test_support::kChecksumOfNothing,
                                    timeline.lines())
          << "\n";
    if (directory != nullptr) {
      std::ofstream(directory + ("/" + name)) << timeline.lines();
    }
  }
  if (std::getenv("COUNTRACE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(golden) << shown.str();
  }
  std::ostringstream expected;
  expected << std::ifstream(golden).rdbuf();
  CHECK(shown.str() == expected.str());
}

TEST_CASE("cases: order of streams at equal times changes nothing",
          "[rmap][cases]") {
  for (const std::filesystem::path& path : Cases()) {
    CAPTURE(path.filename().string());
    const CaseFile file = ReadCase(path);
    // Only these cases have equal stream indexes for all records of a time.
    if (file.events.find("# ties") == std::string::npos) continue;
    MemoryTrace trace(/*threads_first=*/true);
    Build(file.events, trace);
    const auto report = Reconstruct(trace, {});
    REQUIRE(report.ok());
    CHECK(Show(*report) == file.expected);
  }
}

}  // namespace
}  // namespace countrace::rmap
