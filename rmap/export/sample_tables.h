// The rows of `samples` and `frames`.
#ifndef COUNTRACE_RMAP_EXPORT_SAMPLE_TABLES_H_
#define COUNTRACE_RMAP_EXPORT_SAMPLE_TABLES_H_

#include "rmap/export/stream_observer.h"
#include "rmap/export/table_writer.h"
#include "rmap/result/samples.h"

namespace countrace::rmap {

void WriteSample(const Samples& samples, const TimedSample& sample,
                 const StreamObserver& names, RowWriter& rows);

void WriteFrames(const Samples& samples, RowWriter& rows);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_SAMPLE_TABLES_H_
