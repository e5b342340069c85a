// How the samples of each event of a perf.data file are converted: to facts
// about CPUs (sched:sched_switch, syscalls:*, irq:*, ...), to segments and
// points of a mapping file, or to points with their fields.
//
// In: attributes, tracepoint formats, a mapping. Out: one plan for each
// attribute. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_SAMPLE_PLANS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_SAMPLE_PLANS_H_

#include <deque>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "logformat/import/kernel/kernel_events.h"
#include "logformat/import/mapping/mapping_file.h"
#include "logformat/import/perf/file_description.h"
#include "logformat/import/perf/sample_event.h"
#include "logformat/import/perf/tracepoint_formats.h"
#include "logformat/trace_info.h"

namespace countrace::importer::perf {

// perf's name of an event: "sched:sched_switch", "cpu-clock", "cycles".
std::string NameOf(const EventAttribute& attribute,
                   const TracepointFormats& formats);
// The system call's name on that machine; its number if it is not known.
std::string SyscallName(const std::string& arch, std::int64_t number);

class SamplePlans {
 public:
  // Facts that are missing go to `info.not_known`. Returns: INVALID_ARGUMENT a
  // key of the mapping that an event does not have.
  absl::Status Make(const FileDescription& file,
                    const TracepointFormats& formats, const Mapping& mapping,
                    logformat::TraceInfo& info);
  // The plan of an attribute of the file.
  SamplePlan& Of(const FileDescription& file, const EventAttribute& attribute) {
    return plans_[static_cast<std::size_t>(&attribute -
                                           file.attributes.data())];
  }
  std::deque<SamplePlan>& all() { return plans_; }
  const KernelClasses& classes() const { return classes_; }

 private:
  void Classify(SamplePlan& plan);
  bool ClassifyTracepoint(SamplePlan& plan);
  absl::Status ClassifyByMapping(SamplePlan& plan, const Mapping& mapping,
                                 bool& mapped);
  static void PlacePayload(SamplePlan& plan);

  std::deque<SamplePlan> plans_;
  KernelClasses classes_;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_SAMPLE_PLANS_H_
