// The kernel side against the kernel's own figures: /proc and the counters.
// Needs the privilege to record all CPUs.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "runtime/recorder/system/cpu_list.h"
#include "trace_contents.h"

namespace countrace::runtime {
namespace {

using logformat::CommRecord;
using logformat::CountersReason;
using logformat::CountersRecord;
using logformat::CpuEvent;
using logformat::FaultRecord;
using logformat::StateRecord;
using logformat::TaskRecord;

RecordOptions Options(const TestDirectory& directory,
                      std::vector<std::string> command) {
  RecordOptions options;
  options.output = directory.File("trace.ctf");
  options.command = std::move(command);
  options.backend = TestedBackend();
  // Beside busy programs the recorder waits for a CPU.
  options.kernel_ring_bytes = 64 << 20;
  return options;
}

int LastCpu() { return static_cast<int>(OnlineCpus()->back()); }

std::string LastCpuText() { return std::to_string(LastCpu()); }

// `sh -c` with the workload as $0 and the report as $1.
std::vector<std::string> Shell(const std::string& script,
                               const std::string& report) {
  return {"sh", "-c", script, WorkloadPath(), report};
}

std::set<std::int32_t> Descendants(const TraceContents& trace) {
  std::set<std::int32_t> members = {trace.info.root_pid};
  std::vector<StoredRecord> forks = trace.All(CpuEvent::kFork);
  std::sort(forks.begin(), forks.end(),
            [](const StoredRecord& a, const StoredRecord& b) {
              return a.time_ns < b.time_ns;
            });
  for (const StoredRecord& record : forks) {
    const auto fork = record.As<TaskRecord>();
    CHECK(members.count(fork.parent_tid) == 1);
    members.insert(fork.tid);
  }
  return members;
}

// In the trace of a command: threads switched in by a record without a member,
// which is kept only if the kernel did not report a member's switch-in.
std::set<std::int32_t> StrangersAfterWhichMembersRun(
    const TraceContents& trace) {
  const std::set<std::int32_t> members = Descendants(trace);
  std::set<std::int32_t> strangers;
  for (const auto& [cpu, records] : trace.cpus) {
    std::int32_t running = -1;
    for (const StoredRecord& record : records) {
      if (record.event != CpuEvent::kDispatch) continue;
      if (members.count(record.prev_tid()) == 1 &&
          record.prev_tid() != running && members.count(running) == 0) {
        strangers.insert(running);
      }
      running = record.next_tid();
    }
  }
  return strangers;
}

// Stolen time of a CPU: part of the time between two switches, but not of a
// thread's run time in /proc.
std::uint64_t StolenNs(int cpu) {
  std::ifstream file("/proc/stat");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream in(line);
    std::string key;
    std::uint64_t ticks[8] = {};
    in >> key;
    if (key != "cpu" + std::to_string(cpu)) continue;
    for (std::uint64_t& tick : ticks) in >> tick;
    return ticks[7] * 1'000'000'000u /
           static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  }
  return 0;
}

std::uint64_t ForksSinceBoot() {
  std::ifstream file("/proc/stat");
  std::string key;
  std::uint64_t value = 0;
  while (file >> key) {
    if (key == "processes" && file >> value) return value;
    std::string rest;
    std::getline(file, rest);
  }
  return 0;
}

}  // namespace

TEST_CASE(
    "kernel recorder: every CPU's dispatches form one chain that "
    "telescopes from its first counters to its last",
    "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  RecordOptions options =
      Options(directory, Shell("$0 $1 pingpong 20000 0 & $0 $1 faults 2000; "
                               "wait",
                               directory.File("report")));
  options.system_wide = true;
  const RecordResult result = MustRecord(options);
  REQUIRE(result.loss.discarded_events == 0);
  const TraceContents trace = ReadTrace(result.path);
  CHECK(trace.info.finished);
  CHECK(trace.info.scope == logformat::SessionScope::kSystem);
  CHECK(trace.records == result.records);
  CHECK(trace.cpus.size() == OnlineCpus()->size());
  const std::size_t task_clock = trace.EventIndex("task-clock");
  const std::size_t faults = trace.EventIndex("page-faults");
  const std::size_t switches = trace.EventIndex("context-switches");
  const std::set<std::int32_t> hidden = trace.HiddenThreads();
  for (const auto& [cpu, records] : trace.cpus) {
    CAPTURE(cpu);
    REQUIRE(records.size() >= 2);
    REQUIRE(records.front().event == CpuEvent::kCounters);
    REQUIRE(records.back().event == CpuEvent::kCounters);
    const auto begin = records.front().As<CountersRecord>();
    const auto end = records.back().As<CountersRecord>();
    CHECK(begin.reason == static_cast<std::uint32_t>(CountersReason::kBegin));
    CHECK(end.reason == static_cast<std::uint32_t>(CountersReason::kEnd));
    if (TestedBackend() == KernelBackend::kPerf) {
      // It visits each CPU; the BPF programs need not.
      CHECK(begin.running_tid == static_cast<std::uint32_t>(gettid()));
    }

    std::vector<std::uint64_t> before = records.front().counters;
    std::vector<std::uint64_t> sums(before.size());
    auto running = static_cast<std::int32_t>(begin.running_tid);
    std::uint64_t dispatches = 0;
    std::uint64_t fault_records = 0;
    std::uint64_t broken_chain = 0;
    std::set<std::int32_t> broken_after;
    std::uint64_t hidden_switches = 0;
    std::uint64_t visits = 0;
    bool hidden_since_dump = false;
    std::uint64_t backwards = 0;
    for (const StoredRecord& record : records) {
      if (record.event == CpuEvent::kSwitchIn) {
        // Written only if no dispatch leads there, and then it fills the gap.
        CHECK(record.next_tid() != running);
        // The kernel reports nothing for a switch between two hidden threads.
        if (record.prev_tid() != running && hidden.count(running) == 0 &&
            hidden.count(record.prev_tid()) == 0) {
          ++broken_chain;
          broken_after.insert(running);
        }
        running = record.next_tid();
        hidden_since_dump = true;
        continue;
      }
      fault_records += record.event == CpuEvent::kFault;
      if (record.event != CpuEvent::kDispatch && &record != &records.back()) {
        continue;
      }
      const std::int32_t seen =
          record.event == CpuEvent::kDispatch
              ? record.prev_tid()
              : static_cast<std::int32_t>(end.running_tid);
      if (seen != running) {
        // The kernel reported no switch-out of the thread that was switched in.
        if (hidden.count(running) == 0) {
          ++broken_chain;
          broken_after.insert(running);
        }
        hidden_since_dump = true;
      }
      const std::uint64_t surplus = record.counters[switches] -
                                    before[switches] - (dispatches > 0 ? 1 : 0);
      if (std::exchange(hidden_since_dump, false)) {
        hidden_switches += surplus;
      } else if (running == 0 || hidden.count(running) == 1) {
        // An idle CPU that switches to a hidden thread and back shows neither.
        visits += surplus;
      }
      for (std::size_t i = 0; i < before.size(); ++i) {
        backwards += record.counters[i] < before[i];
        sums[i] += record.counters[i] - before[i];
      }
      before = record.counters;
      if (record.event != CpuEvent::kDispatch) continue;
      ++dispatches;
      running = record.next_tid();
    }
    CHECK(backwards == 0);
    CAPTURE(broken_after, hidden_switches, visits);
    // Where the kernel hides threads, idle threads become hidden now and then,
    // in mid-recording: then the counters show the switches, at least one where
    // the chain is broken. How many depends on what the machine does besides.
    CHECK(broken_chain <= hidden_switches);
    CHECK(hidden_switches <= dispatches);
    for (std::size_t i = 0; i < before.size(); ++i) {
      CAPTURE(trace.info.cpu_events[i]);
      CHECK(sums[i] ==
            records.back().counters[i] - records.front().counters[i]);
      CHECK((records.front().present >> i & 1) == 1);
    }
    // The number of hidden switches according to the counters.
    CHECK(dispatches + hidden_switches + visits == sums[switches]);
    if (hidden_switches + visits == 0) {
      CHECK(fault_records == sums[faults]);
    } else {
      CHECK(fault_records <= sums[faults]);
    }
    const double wall =
        static_cast<double>(records.back().time_ns - records.front().time_ns);
    CHECK(std::abs(static_cast<double>(sums[task_clock]) / wall - 1) < 0.001);
  }
}

TEST_CASE("kernel recorder: on-CPU time agrees with /proc/PID/schedstat",
          "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  const std::string cpu = LastCpuText();
  std::string script;
  std::size_t processes = 2;
  SECTION("a CPU-bound process beside a sleeping one") {
    script =
        "$0 $1 account spin 800 " + cpu + " & $0 $1 account sleep 600; wait";
  }
  SECTION("two processes that share a core") {
    const std::string spin = "$0 $1 account spin 700 " + cpu;
    script = spin + " & " + spin + "; wait";
  }
  const bool system_wide = GENERATE(false, true);
  CAPTURE(script, system_wide);
  const std::string report = directory.File("report");
  RecordOptions options = Options(directory, Shell(script, report));
  options.system_wide = system_wide;
  options.force = true;
  // The kernel subtracts stolen time from a task's time, we do not.
  RecordResult result;
  std::uint64_t stolen_ns = 1;
  for (int i = 0; i < 5 && stolen_ns != 0; ++i) {
    std::filesystem::remove(report);
    const std::uint64_t stolen_before = StolenNs(LastCpu());
    result = MustRecord(options);
    stolen_ns = StolenNs(LastCpu()) - stolen_before;
  }
  REQUIRE(result.loss.discarded_events == 0);
  const TraceContents trace = ReadTrace(result.path);
  const std::vector<ReportLine> lines = ReadReport(report, "account");
  REQUIRE(lines.size() == processes);
  for (const ReportLine& line : lines) {
    const double expected = static_cast<double>(line.numbers.at(0));
    const double seen = static_cast<double>(trace.OnCpuNs(line.pid));
    const double counted = static_cast<double>(
        trace.Count(line.pid, trace.EventIndex("task-clock")));
    // Else the kernel hid a switch-in: what came before the next record of the
    // CPU is not known.
    const bool whole = trace.HasWholeDispatches(line.pid);
    CAPTURE(line.pid, expected, seen, counted, stolen_ns, whole);
    if (expected > 1e8) {
      // Stolen time is reported in ticks of 10 ms, and not all of it: less
      // than a tick not at all.
      const double slack =
          1e7 + (stolen_ns == 0
                     ? 0
                     : expected * 0.1 + static_cast<double>(stolen_ns));
      if (whole) CHECK(seen > expected * 0.99);
      CHECK(seen < expected * 1.01 + slack);
      CHECK(std::abs(counted / seen - 1) < 0.01);
    } else {
      // The sleeper: start-up and exit only.
      if (whole) CHECK(seen >= expected * 0.9);
      CHECK(seen < expected + 5e7);
    }
    if (TestedBackend() == KernelBackend::kBpf && whole) {
      // The same account, so stolen time does not matter.
      const double account = static_cast<double>(
          trace.Count(line.pid, trace.EventIndex("exec-runtime")));
      CAPTURE(account);
      CHECK(std::abs(account / expected - 1) < 0.001);
    }
  }
}

TEST_CASE("kernel recorder: switches agree with /proc/PID/status",
          "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  const std::string report = directory.File("report");
  const RecordOptions options = Options(
      directory, {WorkloadPath(), report, "pingpong", "20000", LastCpuText()});
  const RecordResult result = MustRecord(options);
  REQUIRE(result.loss.discarded_events == 0);
  const TraceContents trace = ReadTrace(result.path);
  const std::vector<ReportLine> lines = ReadReport(report, "switches");
  REQUIRE(lines.size() == 2);
  for (const ReportLine& line : lines) {
    const std::uint64_t expected = line.numbers.at(0);
    const std::uint64_t seen = trace.SwitchesOut(line.pid);
    CAPTURE(line.pid, expected, seen);
    CHECK(expected >= 19990);  // it may find the other's byte already there
    // After its report the process still writes it and exits.
    CHECK(seen > expected);
    CHECK(seen <= expected + 20);
  }
  // The last switch of each is its death.
  for (const ReportLine& line : lines) {
    std::uint16_t last = 0;
    for (const StoredRecord& record : trace.cpus.at(LastCpu())) {
      if (record.event == CpuEvent::kDispatch &&
          record.prev_tid() == line.pid) {
        last = record.state() & logformat::kSwitchStateBits;
      }
    }
    CHECK(last == logformat::kSwitchDead);
  }
}

TEST_CASE(
    "kernel recorder: each fresh page is a fault record of the thread "
    "that touched it",
    "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  const std::string report = directory.File("report");
  constexpr std::uint64_t kPages = 5000;
  RecordOptions options = Options(
      directory, {WorkloadPath(), report, "faults", std::to_string(kPages)});
  SECTION("with fault records") {
    const RecordResult result = MustRecord(options);
    REQUIRE(result.loss.discarded_events == 0);
    const TraceContents trace = ReadTrace(result.path);
    const ReportLine line = ReadReport(report, "faults").at(0);
    std::set<std::uint64_t> pages;
    for (const StoredRecord& record : trace.All(CpuEvent::kFault)) {
      const auto fault = record.As<FaultRecord>();
      CHECK(fault.pid == line.pid);
      CHECK(fault.tid == line.pid);
      if (fault.address >= line.numbers.at(0) &&
          fault.address < line.numbers.at(0) + kPages * 4096) {
        pages.insert(fault.address / 4096);
      }
    }
    CHECK(pages.size() == kPages);
    const std::uint64_t counted =
        trace.Count(line.pid, trace.EventIndex("page-faults"));
    // Else a hidden thread ran between two of its records, whose faults are
    // among the counted ones, or a stay without a known begin is left out.
    if (trace.HasWholeDispatches(line.pid)) {
      CHECK(counted >= kPages);
      CHECK(counted <= trace.All(CpuEvent::kFault).size());
    }
  }
  SECTION("without them the count stays") {
    options.fault_records = false;
    const RecordResult result = MustRecord(options);
    const TraceContents trace = ReadTrace(result.path);
    const ReportLine line = ReadReport(report, "faults").at(0);
    CHECK(trace.All(CpuEvent::kFault).empty());
    if (trace.HasWholeDispatches(line.pid)) {
      CHECK(trace.Count(line.pid, trace.EventIndex("page-faults")) >= kPages);
    }
  }
}

TEST_CASE("kernel recorder: forks, names, execs and exits carry the right ids",
          "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  const std::string report = directory.File("report");
  const RecordResult result =
      MustRecord(Options(directory, {WorkloadPath(), report, "tree"}));
  const TraceContents trace = ReadTrace(result.path);
  const std::int32_t root = trace.info.root_pid;
  const auto thread =
      static_cast<std::int32_t>(ReadReport(report, "thread").at(0).numbers[0]);
  const auto child =
      static_cast<std::int32_t>(ReadReport(report, "child").at(0).numbers[0]);
  const auto grandchild = static_cast<std::int32_t>(
      ReadReport(report, "grandchild").at(0).numbers[0]);

  const auto has_task = [&](CpuEvent event, std::int32_t pid, std::int32_t tid,
                            std::int32_t parent) {
    const auto all = trace.All(event);
    return std::count_if(all.begin(), all.end(), [&](const auto& record) {
      const auto task = record.template As<TaskRecord>();
      return task.pid == pid && task.tid == tid && task.parent_pid == parent;
    });
  };
  CHECK(has_task(CpuEvent::kFork, root, thread, root) == 1);
  CHECK(has_task(CpuEvent::kFork, child, child, root) == 1);
  CHECK(has_task(CpuEvent::kFork, grandchild, grandchild, child) == 1);
  CHECK(trace.All(CpuEvent::kFork).size() == 3);
  CHECK(has_task(CpuEvent::kExit, child, child, root) == 1);
  CHECK(has_task(CpuEvent::kExit, grandchild, grandchild, child) == 1);
  CHECK(trace.All(CpuEvent::kExit).size() == 4);

  const auto has_comm = [&](CpuEvent event, std::int32_t pid, std::int32_t tid,
                            const std::string& comm) {
    const auto all = trace.All(event);
    return std::count_if(all.begin(), all.end(), [&](const auto& record) {
      const auto name = record.template As<CommRecord>();
      return name.pid == pid && name.tid == tid && comm == name.comm;
    });
  };
  CHECK(has_comm(CpuEvent::kExec, root, root, "recorder_worklo") == 1);
  CHECK(has_comm(CpuEvent::kComm, root, root, "ct-root") == 1);
  CHECK(has_comm(CpuEvent::kComm, root, thread, "ct-thread") == 1);
  CHECK(has_comm(CpuEvent::kComm, child, child, "ct-child") == 1);
  CHECK(has_comm(CpuEvent::kExec, grandchild, grandchild, "true") == 1);
  CHECK(trace.All(CpuEvent::kExec).size() == 2);
  const auto states = trace.All(CpuEvent::kProcessState);
  REQUIRE(states.size() == 1);
  CHECK(states[0].As<StateRecord>().tid == root);
  CHECK(states[0].As<StateRecord>().parent_pid == getpid());
}

TEST_CASE(
    "kernel recorder: a command's trace holds its descendants, all of "
    "them, and no others",
    "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  const std::string report = directory.File("report");
  // A neighbour that switches and forks all the time.
  const pid_t neighbour = fork();
  if (neighbour == 0) {
    for (;;) {
      const pid_t pid = fork();
      if (pid == 0) _exit(0);
      waitpid(pid, nullptr, 0);
    }
  }
  constexpr int kShort = 100;
  const RecordResult result = MustRecord(
      Options(directory, Shell("i=0; while [ $i -lt 100 ]; do /bin/true; "
                               "i=$((i+1)); done; (sh -c '/bin/true; "
                               "/bin/true; exit 0') & wait; $0 $1 tree",
                               report)));
  kill(neighbour, SIGKILL);
  waitpid(neighbour, nullptr, 0);
  REQUIRE(result.loss.discarded_events == 0);
  const TraceContents trace = ReadTrace(result.path);
  CHECK(trace.info.scope == logformat::SessionScope::kCommand);
  const std::set<std::int32_t> members = Descendants(trace);
  CHECK(members.count(neighbour) == 0);
  const std::set<std::int32_t> hidden = StrangersAfterWhichMembersRun(trace);
  std::size_t execs_of_true = 0;
  for (const auto& [cpu, records] : trace.cpus) {
    for (const StoredRecord& record : records) {
      switch (record.event) {
        case CpuEvent::kDispatch:
          // A switch to a hidden thread is kept if a member came after it.
          CHECK(members.count(record.prev_tid()) +
                    members.count(record.next_tid()) +
                    hidden.count(record.next_tid()) >
                0);
          break;
        case CpuEvent::kExit:
          CHECK(members.count(record.As<TaskRecord>().tid) == 1);
          break;
        case CpuEvent::kExec:
        case CpuEvent::kComm:
          CHECK(members.count(record.As<CommRecord>().tid) == 1);
          execs_of_true += std::string(record.As<CommRecord>().comm) == "true";
          break;
        case CpuEvent::kFault:
          CHECK(members.count(record.As<FaultRecord>().tid) == 1);
          break;
        default:
          break;
      }
    }
  }
  CHECK(execs_of_true == kShort + 2 + 1);
  // For every descendant the trace has a start, a dispatch and an end.
  CHECK(trace.All(CpuEvent::kExit).size() == members.size());
  for (const std::int32_t tid : members) {
    CAPTURE(tid);
    CHECK(trace.SwitchesOut(tid) > 0);
    // The kernel may hide the switch to it, on a busy machine.
    CHECK((trace.OnCpuNs(tid) > 0 || !trace.HasWholeDispatches(tid)));
  }
}

TEST_CASE(
    "kernel recorder: what a small ring cannot hold is counted where it was "
    "lost, switch by switch",
    "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  const std::string output = directory.File("trace.ctf");
  const std::string err = directory.File("err");
  const std::string script = WorkloadPath() + " " + directory.File("report") +
                             " pingpong 200000 " + LastCpuText();
  const std::uint64_t forks_before = ForksSinceBoot();
  std::vector<std::string> arguments = {RecordMainPath(),
                                        "-a",
                                        "-n",
                                        "-b",
                                        TestedBackendName(),
                                        "-r",
                                        "16384",
                                        "-o",
                                        output,
                                        "-e",
                                        "context-switches",
                                        "-e",
                                        "task-clock",
                                        "--",
                                        "sh",
                                        "-c",
                                        script};
  const pid_t recorder = fork();
  if (recorder == 0) {
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), 2);
    execv(pointers[0], pointers.data());
    _exit(126);
  }
  for (int i = 0; i < 2000 && !std::filesystem::exists(output + "/cpu-0");
       ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  // The recorder gets no CPU time: the rings overflow while it is stopped.
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    kill(recorder, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    kill(recorder, SIGCONT);
  }
  int status = 0;
  waitpid(recorder, &status, 0);
  CHECK(status == 0);
  const std::uint64_t forks = ForksSinceBoot() - forks_before;
  std::ifstream err_file(err);
  std::ostringstream said;
  said << err_file.rdbuf();
  INFO(said.str());
  CHECK(said.str().find("cause=kernel_ring_full") != std::string::npos);
  CHECK(said.str().find("--kernel-ring") != std::string::npos);

  const TraceContents trace = ReadTrace(output);
  CHECK(trace.discarded > 1000);
  CHECK(trace.discarded_packets == 0);
  const std::set<std::int32_t> hidden = trace.HiddenThreads();
  std::uint64_t missing = 0;
  std::uint64_t unexplained = 0;
  std::uint64_t hidden_switches = 0;
  // Lost after a CPU's last dump, which no counter shows: the ring may be full
  // when the recorder stops.
  std::uint64_t lost_at_end = 0;
  for (const auto& [cpu, records] : trace.cpus) {
    std::uint64_t before = records.front().counters.at(0);
    std::uint64_t lost = 0;
    std::int32_t running = -1;
    bool hidden_since_dump = false;
    bool first = true;
    for (const StoredRecord& record : records) {
      lost += record.lost_before;
      hidden_since_dump |= record.event == CpuEvent::kSwitchIn;
      if (record.event != CpuEvent::kDispatch) continue;
      // The counter increases after the record of the switch.
      const std::uint64_t skipped =
          record.counters.at(0) - before - (first ? 0 : 1);
      first = false;
      // An idle CPU that switches to a hidden thread and back shows neither; a
      // hidden thread that lives shortly is known by the next record alone.
      const bool hides = running == 0 || running != record.prev_tid();
      if (lost > 0) {
        missing += skipped;
      } else if (hidden_since_dump || hides || hidden.count(running) == 1) {
        hidden_switches += skipped;
      } else {
        unexplained += skipped;
      }
      before = record.counters.at(0);
      running = record.next_tid();
      hidden_since_dump = false;
      lost = 0;
    }
    lost_at_end += lost;
    const auto pending = trace.lost_after_last.find(cpu);
    if (pending != trace.lost_after_last.end()) lost_at_end += pending->second;
  }
  CAPTURE(trace.discarded, missing, lost_at_end, hidden_switches, forks);
  // Switches are missing only at reported losses, and as many as reported.
  CHECK(unexplained == 0);
  CHECK(hidden_switches <= missing / 10);
  const std::uint64_t slack = hidden_switches > 0 || !hidden.empty() ? 1000 : 0;
  CHECK(missing > 1000);
  CHECK(missing <= trace.discarded + slack);
  // The other lost records are forks, names, execs and exits (of threads too).
  CHECK(trace.discarded <= missing + lost_at_end + 5 * forks + 50);
}

TEST_CASE(
    "kernel recorder: counters that the machine lacks are named and left "
    "out, never zero",
    "[recorder][privileged]") {
  if (!CanRecordKernel()) return;
  const TestDirectory directory;
  RecordOptions options = Options(directory, {"true"});
  options.events = {"task-clock", "cycles", "minor-faults",
                    "sched:sched_switch", "page-faults:u"};
  const RecordResult result = MustRecord(options);
  const TraceContents trace = ReadTrace(result.path);
  const auto& events = trace.info.cpu_events;
  const bool counted =
      std::find(events.begin(), events.end(), "cycles") != events.end();
  const bool named =
      std::any_of(result.messages.begin(), result.messages.end(),
                  [](const std::string& message) {
                    return message.find("cycles is not counted") == 0;
                  });
  CHECK(counted != named);
  CHECK(trace.EventIndex("minor-faults") > 0);
  CHECK(trace.EventIndex("sched:sched_switch") > 0);
  CHECK(trace.EventIndex("page-faults:u") > 0);
}

}  // namespace countrace::runtime
