// The rows of `samples` and `frames`.
#ifndef COUNTRACE_RMAP_EXPORT_SAMPLE_TABLES_H_
#define COUNTRACE_RMAP_EXPORT_SAMPLE_TABLES_H_

#include "absl/status/status.h"
#include "rmap/export/stream_observer.h"
#include "rmap/export/table_writer.h"
#include "rmap/result/samples.h"

namespace countrace::rmap {

// Errors: FAILED_PRECONDITION there were too many to keep them one by one.
// Requires: report.samples.
absl::Status WriteSamples(const Report& report, const StreamObserver& names,
                          RowWriter& rows);

void WriteFrames(const Samples& samples, RowWriter& rows);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_SAMPLE_TABLES_H_
