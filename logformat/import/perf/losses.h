// What perf could not store: LOST and LOST_SAMPLES records, and throttling.
//
// The kernel writes LOST to the full buffer when it has room again: the loss is
// between that record and the previous one of the same CPU. At the end perf
// writes, for each event, how many samples it lost (LOST_SAMPLES without a
// time): only the excess over the LOST records is new.
//
// In: records by time. Out: losses of CPUs and of hooks. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_LOSSES_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_LOSSES_H_

#include <cstdint>

#include "logformat/import/ctf/user_events.h"
#include "logformat/import/kernel/cpu_records.h"
#include "logformat/import/perf/record_reader.h"
#include "logformat/import/source_stream.h"
#include "logformat/trace_info.h"

namespace countrace::importer::perf {

class Losses {
 public:
  Losses(CpuRecords& records, UserEvents& user)
      : records_(records), user_(user) {}

  // A buffer holds records of switches and of hooks. Which of them were lost is
  // not known, so the counts of both become bounds.
  void set_has_user_hooks(bool has) { has_user_hooks_ = has; }
  // False: the record is shorter than its fields.
  bool OnRecord(std::int32_t cpu, std::uint64_t begin_ns, std::uint64_t end_ns,
                const RawRecord& record, bool swapped);
  bool TakeTotal(const RawRecord& record, bool swapped);
  void OnThrottle() { ++throttled_; }
  void Finish(std::uint64_t end_ns, bool unfinished,
              logformat::TraceInfo& info);

 private:
  void Lose(std::int32_t cpu, std::uint64_t count, std::uint64_t begin_ns,
            std::uint64_t end_ns);

  CpuRecords& records_;
  UserEvents& user_;
  SourceStream stream_;  // for losses of no known thread
  bool has_user_hooks_ = false;
  std::uint64_t lost_ = 0, said_at_end_ = 0, throttled_ = 0;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_LOSSES_H_
