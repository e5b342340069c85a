// Counters read together at samples (PERF_SAMPLE_READ; `perf record -e
// '{LEADER,...}:S'`): finds them, and sums up the counts of a CPU or of a
// thread.
//
// Counts of a CPU are used only if they are read at each switch: otherwise
// several threads may have run between two values.
//
// In: attributes and samples. Out: names, sums. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_GROUP_COUNTS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_GROUP_COUNTS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "logformat/import/perf/file_description.h"
#include "logformat/import/perf/sample.h"
#include "logformat/import/perf/sample_event.h"
#include "logformat/trace_info.h"

namespace countrace::importer::perf {

class GroupCounts {
 public:
  // Counts that cannot be used or are uncertain go to `info.not_known`.
  GroupCounts(const FileDescription& file, std::deque<SamplePlan>& plans,
              logformat::TraceInfo& info);

  // Names of the counts from Take(): of CPUs if `of_cpus`, else of threads.
  const std::vector<std::string>& events() const { return events_; }
  bool of_cpus() const { return of_cpus_; }
  // Bit i: it is not known whether event i was counted all the time.
  std::uint32_t uncertain() const { return uncertain_; }

  // Adds the values of a sample to the sums of `owner`, a CPU or a thread.
  // Empty: the sample's event reads no counter that is used.
  std::span<const std::uint64_t> Take(const EventAttribute& attribute,
                                      const Sample& sample, std::int32_t owner);
  // Adds groups that did not count all the time to `info.not_known`.
  void Finish(logformat::TraceInfo& info) const;

 private:
  struct Owner {
    std::vector<std::uint64_t> sums;
    absl::flat_hash_map<std::uint64_t, std::uint64_t> latest;  // by id
  };
  struct Times {
    std::uint64_t enabled_ns = 0, running_ns = 0;
  };

  const FileDescription& file_;
  bool of_cpus_ = false;
  std::vector<std::string> events_;
  std::uint32_t uncertain_ = 0;
  // By attribute: leads a group that is used; its index in the counts.
  std::vector<bool> leads_;
  std::vector<std::int32_t> slots_;
  absl::flat_hash_map<std::int32_t, Owner> owners_;
  std::map<std::uint64_t, Times> times_;  // by leader's id
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_GROUP_COUNTS_H_
