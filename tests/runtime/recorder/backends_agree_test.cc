// Both back ends of the kernel recorder at the same time, over the same
// programs: the same switches, faults and names; counts differ by what happens
// between their two programs on one tracepoint.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include "runtime/recorder/session/kernel_backend.h"
#include "trace_contents.h"

namespace countrace::runtime {
namespace {

using logformat::CpuEvent;

// The events of one thread, in time order.
struct Story {
  std::vector<std::tuple<std::int32_t, std::uint16_t>> switches;  // cpu, state
  std::vector<std::uint64_t> switch_ns;
  std::vector<std::uint64_t> faults;  // addresses
  std::vector<std::string> names;     // at exec
  std::vector<std::int32_t> children;
};

// Without what BPF says besides: which threads may run on every CPU. A runnable
// thread then counts as preempted.
std::uint16_t StateOf(const StoredRecord& record) {
  std::uint16_t state = record.state() & logformat::kSwitchStateBits;
  if (state == logformat::kSwitchRunnable) state = logformat::kSwitchPreempted;
  return state;
}

Story StoryOf(const TraceContents& trace, std::int32_t tid) {
  struct Entry {
    std::uint64_t time_ns;
    std::int32_t cpu;
    const StoredRecord* record;
  };
  std::vector<Entry> entries;
  for (const auto& [cpu, records] : trace.cpus) {
    for (const StoredRecord& record : records) {
      entries.push_back({record.time_ns, cpu, &record});
    }
  }
  std::stable_sort(
      entries.begin(), entries.end(),
      [](const Entry& a, const Entry& b) { return a.time_ns < b.time_ns; });
  Story story;
  for (const Entry& entry : entries) {
    const StoredRecord& record = *entry.record;
    if (record.event == CpuEvent::kDispatch && record.prev_tid() == tid) {
      story.switches.emplace_back(entry.cpu, StateOf(record));
      story.switch_ns.push_back(record.time_ns);
    } else if (record.event == CpuEvent::kFault) {
      const auto fault = record.As<logformat::FaultRecord>();
      if (fault.tid == tid) story.faults.push_back(fault.address);
    } else if (record.event == CpuEvent::kExec) {
      const auto exec = record.As<logformat::CommRecord>();
      if (exec.tid == tid) story.names.emplace_back(exec.comm);
    } else if (record.event == CpuEvent::kFork) {
      const auto fork = record.As<logformat::TaskRecord>();
      if (fork.parent_tid == tid) story.children.push_back(fork.tid);
    }
  }
  return story;
}

}  // namespace

TEST_CASE("back ends: the same programs, the same dispatches and counts",
          "[recorder][privileged]") {
  std::vector<std::string> messages;
  for (const KernelBackend backend :
       {KernelBackend::kBpf, KernelBackend::kPerf}) {
    const auto opened = OpenKernelRecorder(backend, {}, messages);
    if (opened.ok()) continue;
    std::cout << "SKIPPED: " << opened.status().ToString() << "\n";
    return;
  }
  const TestDirectory directory;
  const std::string report = directory.File("report");
  const std::string perf_path = directory.File("perf.ctf");
  const std::string begun = directory.File("begun");
  const pid_t perf = fork();
  if (perf == 0) {
    execl(RecordMainPath().c_str(), "record", "-a", "-b", "perf", "-o",
          perf_path.c_str(), "-B", begun.c_str(), static_cast<char*>(nullptr));
    _exit(126);
  }
  for (int i = 0; i < 2000 && !std::filesystem::exists(begun); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  RecordOptions options;
  options.output = directory.File("bpf.ctf");
  options.system_wide = true;
  options.backend = KernelBackend::kBpf;
  options.command = {"sh", "-c",
                     "$0 $1 pingpong 3000 0 & $0 $1 faults 2000 & "
                     "$0 $1 spin 200 0; wait",
                     WorkloadPath(), report};
  const RecordResult result = MustRecord(options);
  kill(perf, SIGINT);
  int status = 0;
  REQUIRE(waitpid(perf, &status, 0) == perf);
  REQUIRE(status == 0);
  REQUIRE(result.loss.discarded_events == 0);

  const TraceContents by_bpf = ReadTrace(result.path);
  const TraceContents by_perf = ReadTrace(perf_path);
  REQUIRE(by_perf.discarded == 0);
  std::vector<std::string> events = by_bpf.info.cpu_events;
  // perf's rings do not have it.
  REQUIRE(std::erase(events, "exec-runtime") == 1);
  REQUIRE(events == by_perf.info.cpu_events);
  std::set<std::int32_t> tids;
  for (const char* key : {"switches", "schedstat", "faults"}) {
    for (const ReportLine& line : ReadReport(report, key)) {
      tids.insert(line.pid);
    }
  }
  REQUIRE(tids.size() >= 3);
  for (const std::int32_t tid : tids) {
    CAPTURE(tid);
    const Story bpf = StoryOf(by_bpf, tid);
    const Story kernel_perf = StoryOf(by_perf, tid);
    CHECK(!bpf.switches.empty());
    CHECK(bpf.switches == kernel_perf.switches);
    // At each switch one reads the clock after the other, before the next.
    std::uint64_t before_ns = 0;
    bool in_order = true;
    for (std::size_t i = 0;
         i < std::min(bpf.switch_ns.size(), kernel_perf.switch_ns.size());
         ++i) {
      const auto [first_ns, last_ns] =
          std::minmax(bpf.switch_ns[i], kernel_perf.switch_ns[i]);
      in_order &= before_ns <= first_ns;
      before_ns = last_ns;
    }
    CHECK(in_order);
    CHECK(bpf.faults == kernel_perf.faults);
    CHECK(bpf.names == kernel_perf.names);
    CHECK(bpf.children == kernel_perf.children);
    // A stay that began with a switch that the kernel did not show one of them
    // is in the other's sums alone.
    if (!by_bpf.HasWholeDispatches(tid) || !by_perf.HasWholeDispatches(tid)) {
      continue;
    }
    CHECK(by_bpf.Count(tid, by_bpf.EventIndex("page-faults")) ==
          by_perf.Count(tid, by_perf.EventIndex("page-faults")));
  }
}

}  // namespace countrace::runtime
