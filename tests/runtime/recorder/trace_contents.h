// A whole trace in memory, for checks that need every record; and code that the
// recorder's tests share: directories, child processes, reports.
#ifndef COUNTRACE_TESTS_RUNTIME_RECORDER_TRACE_CONTENTS_H_
#define COUNTRACE_TESTS_RUNTIME_RECORDER_TRACE_CONTENTS_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "logformat/trace_info.h"
#include "runtime/recorder/record.h"

namespace countrace::runtime {

struct StoredRecord {
  std::uint64_t time_ns = 0;
  logformat::CpuEvent event{};
  std::uint32_t present = 0;
  std::uint64_t lost_before = 0;  // discarded between the last record and this
  std::vector<std::uint64_t> counters;  // of a dump
  std::vector<std::byte> bytes;
  // The record as its layout struct; `counters` follow it in a dump.
  template <typename Layout>
  Layout As() const {
    Layout layout{};
    std::memcpy(&layout, bytes.data(), sizeof(layout));
    return layout;
  }
  std::int32_t prev_tid() const;
  std::int32_t next_tid() const;
  std::uint16_t state() const;
};

struct TraceContents {
  logformat::TraceInfo info;
  std::map<std::int32_t, std::vector<StoredRecord>> cpus;  // by CPU
  std::uint64_t records = 0;
  std::uint64_t discarded = 0;
  std::uint64_t discarded_packets = 0;
  // Discarded after a CPU's last record, by CPU.
  std::map<std::int32_t, std::uint64_t> lost_after_last;

  // Index of a kernel dump event; fails the test if there is none.
  std::size_t EventIndex(const std::string& name) const;
  // All records of one kind, from all CPUs.
  std::vector<StoredRecord> All(logformat::CpuEvent event) const;
  // Time between switch-in and switch-out, over all CPUs; from the previous
  // switch if the kernel did not report the switch-in (see HiddenThreads).
  std::uint64_t OnCpuNs(std::int32_t tid) const;
  // Counts of event `index` during the same time.
  std::uint64_t Count(std::int32_t tid, std::size_t index) const;
  // True if dumps bracket each dispatch of `tid`. Without that a count may be
  // that of a thread which the kernel does not show.
  bool HasWholeDispatches(std::int32_t tid) const;
  // Threads that were switched in but whose switch-out the kernel never shows:
  // on some sandboxes those of process 1, and its children until they exec.
  // `perf record` does not see them either.
  std::set<std::int32_t> HiddenThreads() const;
  std::uint64_t SwitchesOut(std::int32_t tid) const;
};

// Fails the test if the trace cannot be read.
TraceContents ReadTrace(const std::string& path);

// A directory that is removed at the end.
class TestDirectory {
 public:
  TestDirectory();
  ~TestDirectory();
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Lines "KEY PID NUMBER..." of a workload's report.
struct ReportLine {
  std::string key;
  std::int32_t pid = 0;
  std::vector<std::uint64_t> numbers;
};
std::vector<ReportLine> ReadReport(const std::string& path,
                                   const std::string& key);

std::string WorkloadPath();
std::string RecordMainPath();

// Record() that must succeed; prints the messages if it does not.
RecordResult MustRecord(const RecordOptions& options);

// The result of a program: its wait status, its stdout and stderr.
struct Ran {
  int status = 0;
  std::string out, err;
};
Ran RunProgram(const std::vector<std::string>& arguments);

// False, and prints "SKIPPED: ...", if kernel records need more privilege.
bool CanRecordKernel();
// Name in COUNTRACE_TEST_BACKEND, "auto" without it: each back end must pass
// the same tests.
std::string TestedBackendName();
KernelBackend TestedBackend();

}  // namespace countrace::runtime

#endif  // COUNTRACE_TESTS_RUNTIME_RECORDER_TRACE_CONTENTS_H_
