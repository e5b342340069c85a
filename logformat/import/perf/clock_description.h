// Which clock a perf.data file's times are from, and what stays unknown with
// it. Thread: any.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_CLOCK_DESCRIPTION_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_CLOCK_DESCRIPTION_H_

#include "absl/status/status.h"
#include "logformat/import/perf/file_description.h"
#include "logformat/trace_info.h"

namespace countrace::importer::perf {

// Returns: INVALID_ARGUMENT there are no times, or times of several clocks.
absl::Status DescribeClock(const FileDescription& file,
                           logformat::TraceInfo& info);

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_CLOCK_DESCRIPTION_H_
