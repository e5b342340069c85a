#include "tests/rmap/case_trace.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "logformat/description/trace_description.h"
#include "logformat/jump_hook.h"

namespace countrace::test_support {

using logformat::CountersReason;
using logformat::DiscardCause;
using logformat::HookKind;
using logformat::HookOrigin;

namespace {

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

}  // namespace

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

std::vector<std::filesystem::path> Cases() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(COUNTRACE_RMAP_CASES)) {
    if (entry.path().extension() == ".rmapcase") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
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

}  // namespace countrace::test_support
