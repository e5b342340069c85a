// Finds the running threads, from perf's records of context switches: records
// of CPUs (SWITCH_CPU_WIDE, which name both threads) or of a command's threads
// (SWITCH, which name one, on a CPU that may be missing).
//
// In: records by time. Out: switches to CpuRecords. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_RUNNING_THREADS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_RUNNING_THREADS_H_

#include <cstdint>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "logformat/import/kernel/cpu_records.h"
#include "logformat/import/perf/sample.h"

namespace countrace::importer::perf {

class RunningThreads {
 public:
  // Represents all threads that are not recorded; no thread has this id.
  static constexpr std::int32_t kElsewhere = 0xfffffe;

  // `by_thread`: switches are of threads. `ignored`: there are no such records.
  // `besides_samples`: samples of sched_switch report switches too, before
  // these records, which add only the switches without a sample.
  RunningThreads(CpuRecords& records, bool by_thread, bool ignored,
                 bool besides_samples)
      : records_(records),
        by_thread_(by_thread),
        ignored_(ignored),
        besides_samples_(besides_samples) {}

  // The CPU of a record; a made-up one for each thread if it is missing.
  std::int32_t CpuOf(const Sample& record);
  // A record of the thread came from this CPU: it runs there.
  void Seen(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t tid);
  void In(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t tid,
          std::int32_t prev_tid);
  void Out(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t tid,
           std::int32_t next_tid, bool preempted);
  // The thread has ended; a thread's own records end here.
  void Gone(CpuBooks& cpu, std::uint64_t time_ns, std::int32_t tid);
  bool made_up_cpus() const { return made_up_cpus_; }

 private:
  CpuRecords& records_;
  const bool by_thread_, ignored_, besides_samples_;
  bool made_up_cpus_ = false;
  absl::flat_hash_map<std::int32_t, std::int32_t> slots_;  // by tid
  std::set<std::int32_t> free_slots_;
  std::int32_t next_slot_ = 0;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_RUNNING_THREADS_H_
