// perf's records of processes and threads: COMM, FORK, EXIT, and those that it
// synthesizes for processes that existed before.
//
// In: records by time; those without a time first. Out: facts to CpuRecords.
// Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_TASK_RECORDS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_TASK_RECORDS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "logformat/import/kernel/cpu_records.h"
#include "logformat/import/perf/file_description.h"
#include "logformat/import/perf/record_reader.h"

namespace countrace::importer::perf {

class TaskRecords {
 public:
  TaskRecords(CpuRecords& records, const FileDescription& file)
      : records_(records), file_(file) {}

  // CPUs of the events.
  absl::Status ReadIdIndex(const RawRecord& record);
  const std::set<std::int32_t>& cpus() const { return cpus_; }
  // FORK, COMM or EXIT from before the begin. False: the record is shorter than
  // its fields.
  bool TakeInitial(const RawRecord& record);
  bool OnRecord(CpuBooks& cpu, std::uint64_t time_ns, const RawRecord& record);
  // Called for each record of a thread. In a command's trace, a thread without
  // a FORK record belongs to the command.
  void Seen(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t pid,
            std::int32_t tid);
  // The first process of a command; 0: none.
  std::int32_t root_pid() const { return root_pid_; }

 private:
  struct Task {
    std::int32_t pid = 0, parent_pid = 0;
    std::string comm;
  };
  void DescribeInitial(CpuBooks& cpu, std::uint64_t time_ns);
  void Describe(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t tid,
                const Task& task);

  CpuRecords& records_;
  const FileDescription& file_;
  std::set<std::int32_t> cpus_;
  std::map<std::int32_t, Task> initial_;  // by tid
  absl::flat_hash_set<std::int32_t> known_;
  bool described_ = false;
  std::int32_t root_pid_ = 0;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_TASK_RECORDS_H_
