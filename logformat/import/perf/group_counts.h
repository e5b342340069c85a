// Counters read together at samples (PERF_SAMPLE_READ; `perf record -e
// '{LEADER,...}:S'`): which they are, and the counts of a CPU or of a thread.
//
// Of a CPU they are read at each switch, or they are of no use here: what was
// counted between two of them is somebody's only if nobody else ran.
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
#include "logformat/import/perf/data_file.h"
#include "logformat/import/perf/sample.h"
#include "logformat/import/perf/sample_event.h"
#include "logformat/read/trace_reader.h"

namespace countrace::importer::perf {

class GroupCounts {
 public:
  // What cannot be used, and what nobody knows, goes to `info.not_known`.
  GroupCounts(const FileDescription& file, std::deque<SamplePlan>& plans,
              logformat::TraceInfo& info);

  // Names of what Take() gives. With `of_cpus` those of CPUs, else of threads.
  const std::vector<std::string>& events() const { return events_; }
  bool of_cpus() const { return of_cpus_; }
  // Bit i: nobody knows whether event i was counted all the time.
  std::uint32_t uncertain() const { return uncertain_; }

  // Adds the values of a sample to those of `owner`, a CPU or a thread. Empty:
  // its event reads none that are used.
  std::span<const std::uint64_t> Take(const EventAttribute& attribute,
                                      const Sample& sample, std::int32_t owner);
  // Groups that did not count all the time say so here.
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
  // By attribute: it leads a group that is used; its place in the counts.
  std::vector<bool> leads_;
  std::vector<std::int32_t> slots_;
  absl::flat_hash_map<std::int32_t, Owner> owners_;
  std::map<std::uint64_t, Times> times_;  // by leader's id
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_GROUP_COUNTS_H_
