#include "trace_contents.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <utility>

#include "logformat/read/trace_reader.h"
#include "runtime/recorder/session/kernel_backend.h"

namespace countrace::runtime {
namespace {

using logformat::CpuEvent;

class Collector final : public logformat::ItemSink {
 public:
  explicit Collector(TraceContents& contents) : contents_(contents) {}
  void OnRecord(const logformat::EventRecord& record) override {
    ++contents_.records;
    if (record.stream_class != logformat::StreamClass::kCpu) return;
    StoredRecord stored;
    stored.time_ns = record.time_ns;
    stored.event = static_cast<CpuEvent>(record.event_id);
    stored.present = record.present;
    stored.lost_before =
        std::exchange(contents_.lost_after_last[record.cpu], 0);
    if (record.counters != nullptr) {
      stored.counters.assign(
          record.counters, record.counters + contents_.info.cpu_events.size());
    }
    stored.bytes.assign(record.bytes.begin(), record.bytes.end());
    contents_.cpus[record.cpu].push_back(std::move(stored));
  }
  void OnDiscardedEvents(const logformat::DiscardedEvents& loss) override {
    contents_.discarded += loss.count;
    contents_.lost_after_last[loss.cpu] += loss.count;
  }
  void OnDiscardedPackets(const logformat::DiscardedPackets& loss) override {
    contents_.discarded_packets += loss.packets;
  }

 private:
  TraceContents& contents_;
};

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::int32_t StoredRecord::prev_tid() const {
  return static_cast<std::int32_t>(
      As<logformat::DispatchRecord>().tids_and_state & 0xffffff);
}
std::int32_t StoredRecord::next_tid() const {
  return static_cast<std::int32_t>(
      (As<logformat::DispatchRecord>().tids_and_state >> 24) & 0xffffff);
}
std::uint16_t StoredRecord::state() const {
  return static_cast<std::uint16_t>(
      As<logformat::DispatchRecord>().tids_and_state >> 48);
}

std::size_t TraceContents::EventIndex(const std::string& name) const {
  const auto it =
      std::find(info.cpu_events.begin(), info.cpu_events.end(), name);
  REQUIRE(it != info.cpu_events.end());
  return static_cast<std::size_t>(it - info.cpu_events.begin());
}

std::vector<StoredRecord> TraceContents::All(CpuEvent event) const {
  std::vector<StoredRecord> found;
  for (const auto& [cpu, stored] : cpus) {
    for (const StoredRecord& record : stored) {
      if (record.event == event) found.push_back(record);
    }
  }
  return found;
}

std::uint64_t TraceContents::OnCpuNs(std::int32_t tid) const {
  const std::set<std::int32_t> hidden = HiddenThreads();
  std::uint64_t sum = 0;
  for (const auto& [cpu, stored] : cpus) {
    std::uint64_t since = 0;
    std::int32_t running = -1;
    for (const StoredRecord& record : stored) {
      if (record.event != CpuEvent::kDispatch &&
          record.event != CpuEvent::kSwitchIn) {
        continue;
      }
      if (record.prev_tid() == tid &&
          (running == tid || hidden.count(running) == 1)) {
        sum += record.time_ns - since;
      }
      running = record.next_tid();
      since = record.time_ns;
    }
  }
  return sum;
}

std::uint64_t TraceContents::Count(std::int32_t tid, std::size_t index) const {
  const std::set<std::int32_t> hidden = HiddenThreads();
  const bool clock = info.cpu_events[index].ends_with("-clock");
  std::uint64_t sum = 0;
  for (const auto& [cpu, stored] : cpus) {
    std::uint64_t before = 0;
    std::uint64_t before_ns = 0;
    std::int32_t running = -1;
    for (const StoredRecord& record : stored) {
      if (record.event == CpuEvent::kSwitchIn) {
        // An idle CPU counts nothing but time.
        if (clock) before += record.time_ns - before_ns;
        before_ns = record.time_ns;
        running = record.next_tid();
      }
      if (record.event != CpuEvent::kDispatch) continue;
      if (record.prev_tid() == tid &&
          (running == tid || hidden.count(running) == 1)) {
        sum += record.counters[index] - before;
      }
      running = record.next_tid();
      before = record.counters[index];
      before_ns = record.time_ns;
    }
  }
  return sum;
}

bool TraceContents::HasWholeDispatches(std::int32_t tid) const {
  for (const auto& [cpu, stored] : cpus) {
    std::int32_t running = -1;
    for (const StoredRecord& record : stored) {
      if (record.event == CpuEvent::kSwitchIn) running = -1;
      if (record.event != CpuEvent::kDispatch) continue;
      if (record.prev_tid() == tid && running != tid) return false;
      running = record.next_tid();
    }
  }
  return true;
}

std::set<std::int32_t> TraceContents::HiddenThreads() const {
  std::set<std::int32_t> known, of_init;
  for (const auto& [cpu, stored] : cpus) {
    for (const StoredRecord& record : stored) {
      if (record.event == CpuEvent::kProcessState) {
        const auto state = record.As<logformat::StateRecord>();
        (state.pid == 1 ? of_init : known).insert(state.tid);
      } else if (record.event == CpuEvent::kFork) {
        known.insert(record.As<logformat::TaskRecord>().tid);
      }
    }
  }
  std::map<std::int32_t, std::uint64_t> switched_in;
  std::set<std::int32_t> switched_out;
  for (const auto& [cpu, stored] : cpus) {
    for (const StoredRecord& record : stored) {
      if (record.event != CpuEvent::kDispatch) continue;
      ++switched_in[record.next_tid()];
      switched_out.insert(record.prev_tid());
    }
  }
  std::set<std::int32_t> hidden;
  for (const std::int32_t tid : of_init) {
    if (switched_out.count(tid) == 0) hidden.insert(tid);
  }
  for (const auto& [tid, times] : switched_in) {
    if (tid == 0 || (known.count(tid) == 1 &&
                     (times < 2 || switched_out.count(tid) == 1))) {
      continue;
    }
    hidden.insert(tid);
  }
  return hidden;
}

std::uint64_t TraceContents::SwitchesOut(std::int32_t tid) const {
  std::uint64_t sum = 0;
  for (const auto& [cpu, stored] : cpus) {
    for (const StoredRecord& record : stored) {
      sum += record.event == CpuEvent::kDispatch && record.prev_tid() == tid;
    }
  }
  return sum;
}

TraceContents ReadTrace(const std::string& path) {
  auto reader = logformat::TraceReader::Open(path);
  INFO(reader.status().ToString());
  REQUIRE(reader.ok());
  TraceContents contents;
  contents.info = (*reader)->info();
  Collector collector(contents);
  const absl::Status read = (*reader)->Read(collector);
  INFO(read.ToString());
  REQUIRE(read.ok());
  for (const std::uint64_t count : (*reader)->session_discarded()) {
    contents.discarded += count;
  }
  return contents;
}

TestDirectory::TestDirectory() {
  std::string name =
      (std::filesystem::temp_directory_path() / "countrace-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TestDirectory::~TestDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<ReportLine> ReadReport(const std::string& path,
                                   const std::string& key) {
  std::ifstream file(path);
  std::vector<ReportLine> lines;
  std::string text;
  while (std::getline(file, text)) {
    std::istringstream in(text);
    ReportLine line;
    in >> line.key >> line.pid;
    for (std::uint64_t number = 0; in >> number;)
      line.numbers.push_back(number);
    if (line.key == key) lines.push_back(line);
  }
  return lines;
}

std::string WorkloadPath() { return COUNTRACE_TEST_WORKLOAD; }
std::string RecordMainPath() { return COUNTRACE_TEST_RECORD_MAIN; }

RecordResult MustRecord(const RecordOptions& options) {
  auto result = Record(options);
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  return *std::move(result);
}

Ran RunProgram(const std::vector<std::string>& arguments) {
  const TestDirectory directory;
  std::vector<std::string> copies = arguments;
  std::vector<char*> pointers;
  for (std::string& argument : copies) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const std::string out = directory.File("out");
  const std::string err = directory.File("err");
  const pid_t pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    const int out_fd = open(out.c_str(), O_WRONLY | O_CREAT, 0600);
    const int err_fd = open(err.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(out_fd, 1);
    dup2(err_fd, 2);
    close(out_fd);
    close(err_fd);
    execvp(pointers[0], pointers.data());
    _exit(126);
  }
  Ran ran;
  waitpid(pid, &ran.status, 0);
  ran.out = ReadAll(out);
  ran.err = ReadAll(err);
  return ran;
}

std::string TestedBackendName() {
  const char* name = std::getenv("COUNTRACE_TEST_BACKEND");
  return name == nullptr ? "auto" : name;
}

KernelBackend TestedBackend() {
  const std::string name = TestedBackendName();
  if (name == "bpf") return KernelBackend::kBpf;
  if (name == "perf") return KernelBackend::kPerf;
  REQUIRE(name == "auto");
  return KernelBackend::kAuto;
}

bool CanRecordKernel() {
  std::vector<std::string> messages;
  const auto opened = OpenKernelRecorder(TestedBackend(), {}, messages);
  if (!opened.ok()) {
    std::cout << "SKIPPED: no kernel records from " << TestedBackendName()
              << " here: " << opened.status().ToString() << "\n";
    return false;
  }
  return true;
}

}  // namespace countrace::runtime
