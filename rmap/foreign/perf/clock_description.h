// Which clock the times of a perf.data file are of, and what that leaves
// unknown. Thread: any.
#ifndef COUNTRACE_RMAP_FOREIGN_PERF_CLOCK_DESCRIPTION_H_
#define COUNTRACE_RMAP_FOREIGN_PERF_CLOCK_DESCRIPTION_H_

#include "absl/status/status.h"
#include "logformat/read/trace_reader.h"
#include "rmap/foreign/perf/data_file.h"

namespace countrace::rmap::foreign::perf {

// Returns: INVALID_ARGUMENT there are no times, or they are of several clocks.
absl::Status DescribeClock(const FileDescription& file,
                           logformat::TraceInfo& info);

}  // namespace countrace::rmap::foreign::perf

#endif  // COUNTRACE_RMAP_FOREIGN_PERF_CLOCK_DESCRIPTION_H_
